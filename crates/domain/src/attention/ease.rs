//! Commands for fewer interruptions: quiet time, focus, a lighter day.

use jiff::SignedDuration;

use super::Quiet;
use crate::phrase;

/// The longest focus session, in minutes.
pub const LONGEST_FOCUS: u32 = 8 * 60;
/// The default length of a focus session, in minutes.
const USUAL_FOCUS: u32 = 25;
/// The longest quiet time set by command.
const LONGEST_QUIET: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A command for fewer interruptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ease {
    /// Show the current state.
    Tell,
    /// Set the daily quiet hours.
    Hours(Quiet),
    /// Quiet for a duration from now on.
    QuietFor(SignedDuration),
    /// Focus for a number of minutes on a topic, which may be empty.
    Focus(u32, String),
    Unfocus,
    /// Move the rest of today to tomorrow.
    Lighter,
    /// Show the deferred items now.
    Held,
}

impl Ease {
    /// Parses the argument of `/quiet`: `23-7`, `off`, `for 2h`, or empty.
    pub fn quiet(words: &str) -> Result<Self, String> {
        let words = words.trim();
        if words.is_empty() {
            return Ok(Self::Tell);
        }
        let length = words.strip_prefix("for ").unwrap_or(words);
        match (Quiet::read(words), phrase::span(length)) {
            (Some(quiet), _) => Ok(Self::Hours(quiet)),
            (None, Some(length)) if length > SignedDuration::ZERO && length <= LONGEST_QUIET => {
                Ok(Self::QuietFor(length))
            }
            (None, Some(_)) => Err(format!("`{words}` is too long: a week is the most.")),
            (None, None) => Err(format!(
                "`{words}` is no time to be quiet. say hours like `/quiet 23-7`, a while like `/quiet for 2h`, or \
                 `/quiet off`."
            )),
        }
    }

    /// Parses the argument of `/focus`: minutes and a topic; `off` ends the focus.
    pub fn focus(words: &str) -> Result<Self, String> {
        let words = words.trim();
        if ["off", "stop", "end", "done"].contains(&words.to_ascii_lowercase().as_str()) {
            return Ok(Self::Unfocus);
        }
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let (minutes, on) = match first.parse::<u32>() {
            Ok(minutes) => (minutes, rest),
            Err(_) => (USUAL_FOCUS, words),
        };
        let on = ["min ", "minutes ", "on "]
            .iter()
            .fold(on.trim(), |on, small| on.strip_prefix(small).unwrap_or(on));
        if (1..=LONGEST_FOCUS).contains(&minutes) {
            Ok(Self::Focus(minutes, on.trim().to_owned()))
        } else {
            Err(format!(
                "{minutes} minutes is no time to focus. say 1 to {LONGEST_FOCUS}, like `/focus 25 taxes`."
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quiet is requested by hours or by duration; an error contains a valid example.
    #[test]
    fn quiet_is_read_as_hours_or_a_while() {
        assert_eq!(Ease::quiet(""), Ok(Ease::Tell));
        assert_eq!(Ease::quiet("23-7"), Ok(Ease::Hours(Quiet::read("23-7").unwrap())));
        assert_eq!(Ease::quiet("off"), Ok(Ease::Hours(Quiet::Never)));
        assert_eq!(Ease::quiet("for 2h"), Ok(Ease::QuietFor(SignedDuration::from_hours(2))));
        assert_eq!(Ease::quiet("90 min"), Ok(Ease::QuietFor(SignedDuration::from_mins(90))));
        assert!(Ease::quiet("for 3 weeks").unwrap_err().contains("a week is the most"));
        assert!(Ease::quiet("please").unwrap_err().contains("`/quiet 23-7`"));
    }

    /// A focus has a duration and an optional topic.
    #[test]
    fn a_focus_has_minutes_and_something_it_is_on() {
        let focus = |minutes, on: &str| Ok(Ease::Focus(minutes, on.to_owned()));
        assert_eq!(Ease::focus(""), focus(25, ""));
        assert_eq!(Ease::focus("45"), focus(45, ""));
        assert_eq!(Ease::focus("25 on taxes"), focus(25, "taxes"));
        assert_eq!(Ease::focus("25 min the report"), focus(25, "the report"));
        assert_eq!(Ease::focus("taxes"), focus(25, "taxes"));
        assert_eq!(Ease::focus("off"), Ok(Ease::Unfocus));
        for wrong in ["0", "481", "4000000 x"] {
            assert!(Ease::focus(wrong).unwrap_err().contains("`/focus 25 taxes`"), "{wrong}");
        }
    }
}
