//! Ease: what the human asks for so that less reaches them.

use jiff::SignedDuration;

use super::Quiet;
use crate::phrase;

/// The longest focus, in minutes.
pub const LONGEST_FOCUS: u32 = 8 * 60;
/// How long a focus is if no number is said.
const USUAL_FOCUS: u32 = 25;
/// The longest quiet that is not by the hours.
const LONGEST_QUIET: SignedDuration = SignedDuration::from_hours(7 * 24);

/// What the human asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ease {
    /// To know how it stands.
    Tell,
    /// Quiet at these hours from now on.
    Hours(Quiet),
    /// Quiet for so long from now on.
    QuietFor(SignedDuration),
    /// To have their mind on something for so many minutes; on what may be empty.
    Focus(u32, String),
    /// To end that.
    Unfocus,
    /// What is left of today can wait until tomorrow.
    Lighter,
    /// To be told now what is held.
    Held,
}

impl Ease {
    /// Reads what follows `/quiet`: `23-7`, `off`, `for 2h`, or nothing.
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

    /// Reads what follows `/focus`: minutes, and on what; `off` ends it.
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

    /// Quiet is asked for by hours or for a while, and a mistake is told what would be right.
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

    /// A focus has minutes, and may have something it is on.
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
