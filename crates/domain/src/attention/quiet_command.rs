//! Commands for fewer interruptions: quiet time, focus, a lighter day.

use jiff::SignedDuration;

use super::QuietHours;
use crate::phrase;

/// The longest focus session, in minutes.
pub const MAX_FOCUS_MINUTES: u32 = 8 * 60;
/// The default length of a focus session, in minutes.
const DEFAULT_FOCUS_MINUTES: u32 = 25;
/// The longest quiet time set by command.
const MAX_QUIET: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A command for fewer interruptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuietCommand {
    /// Show the current state.
    Show,
    /// Set the daily quiet hours.
    Hours(QuietHours),
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

impl QuietCommand {
    /// Parses the argument of `/quiet`: `23-7`, `off`, `for 2h`, or empty.
    pub fn parse_quiet(words: &str) -> Result<Self, String> {
        let words = words.trim();
        if words.is_empty() {
            return Ok(Self::Show);
        }
        let length = words.strip_prefix("for ").unwrap_or(words);
        match (QuietHours::parse(words), phrase::parse_duration(length)) {
            (Some(quiet), _) => Ok(Self::Hours(quiet)),
            (None, Some(length)) if length > SignedDuration::ZERO && length <= MAX_QUIET => {
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
    pub fn parse_focus(words: &str) -> Result<Self, String> {
        let words = words.trim();
        if ["off", "stop", "end", "done"].contains(&words.to_ascii_lowercase().as_str()) {
            return Ok(Self::Unfocus);
        }
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let (minutes, topic) = match first.parse::<u32>() {
            Ok(minutes) => (minutes, rest),
            Err(_) => (DEFAULT_FOCUS_MINUTES, words),
        };
        let topic = ["min ", "minutes ", "on "]
            .iter()
            .fold(topic.trim(), |topic, small| topic.strip_prefix(small).unwrap_or(topic));
        if (1..=MAX_FOCUS_MINUTES).contains(&minutes) {
            Ok(Self::Focus(minutes, topic.trim().to_owned()))
        } else {
            Err(format!(
                "{minutes} minutes is no time to focus. say 1 to {MAX_FOCUS_MINUTES}, like `/focus 25 taxes`."
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quiet is requested by hours or by duration; an error contains a valid example.
    #[test]
    fn quiet_is_parsed_as_hours_or_duration() {
        assert_eq!(QuietCommand::parse_quiet(""), Ok(QuietCommand::Show));
        assert_eq!(
            QuietCommand::parse_quiet("23-7"),
            Ok(QuietCommand::Hours(QuietHours::parse("23-7").unwrap()))
        );
        assert_eq!(QuietCommand::parse_quiet("off"), Ok(QuietCommand::Hours(QuietHours::Never)));
        assert_eq!(
            QuietCommand::parse_quiet("for 2h"),
            Ok(QuietCommand::QuietFor(SignedDuration::from_hours(2)))
        );
        assert_eq!(
            QuietCommand::parse_quiet("90 min"),
            Ok(QuietCommand::QuietFor(SignedDuration::from_mins(90)))
        );
        assert!(QuietCommand::parse_quiet("for 3 weeks").unwrap_err().contains("a week is the most"));
        assert!(QuietCommand::parse_quiet("please").unwrap_err().contains("`/quiet 23-7`"));
    }

    /// A focus has a duration and an optional topic.
    #[test]
    fn a_focus_has_minutes_and_a_topic() {
        let focus = |minutes, on: &str| Ok(QuietCommand::Focus(minutes, on.to_owned()));
        assert_eq!(QuietCommand::parse_focus(""), focus(25, ""));
        assert_eq!(QuietCommand::parse_focus("45"), focus(45, ""));
        assert_eq!(QuietCommand::parse_focus("25 on taxes"), focus(25, "taxes"));
        assert_eq!(QuietCommand::parse_focus("25 min the report"), focus(25, "the report"));
        assert_eq!(QuietCommand::parse_focus("taxes"), focus(25, "taxes"));
        assert_eq!(QuietCommand::parse_focus("off"), Ok(QuietCommand::Unfocus));
        for wrong in ["0", "481", "4000000 x"] {
            assert!(QuietCommand::parse_focus(wrong).unwrap_err().contains("`/focus 25 taxes`"), "{wrong}");
        }
    }
}
