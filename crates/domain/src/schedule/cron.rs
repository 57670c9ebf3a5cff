//! Cron expressions with five fields.
//!
//! Equality and hash use the text as written as well as the parsed fields.

mod fields;
mod search;

use std::sync::Arc;

pub(super) use fields::{DayLimits, Fields};
pub(super) use search::{just_before, last_fire};

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::InvalidField;

/// A cron expression (minute, hour, day, month, weekday) that preserves its original text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cron {
    text: Arc<str>,
    fields: Fields,
}

impl Cron {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let text = text.trim();
        let fields = Fields::parse(text)?;
        Ok(Self { text: text.into(), fields })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first fire after `after`.
    ///
    /// A time that a clock change skips fires once, at the first instant after the gap; a time that
    /// occurs twice fires at the first. If the minute or hour is `*` or has a step, the expression
    /// follows elapsed time and fires whenever the clock shows a match.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        self.fields.next(after, zone)
    }

    /// The last fire from `not_before` to `at_or_before`, both inclusive.
    pub fn last(&self, at_or_before: Timestamp, not_before: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        last_fire(not_before, at_or_before, |after| self.next(after, zone))
    }

    /// The time between the first fire at or after `at` and the next one.
    pub fn period(&self, at: Timestamp, zone: &TimeZone) -> Option<SignedDuration> {
        let first = self.next(just_before(at), zone)?;
        Some(self.next(first, zone)?.duration_since(first))
    }

    /// The time of day, if the expression has exactly one.
    pub fn time_of_day(&self) -> Option<Time> {
        let mut fields = self.text.split_whitespace();
        let minute = fields.next()?.parse().ok()?;
        let hour = fields.next()?.parse().ok()?;
        Time::new(hour, minute, 0, 0).ok()
    }

    /// Returns a copy with another time of day; `None` unless it has exactly one.
    pub fn with_time(&self, time: Time) -> Option<Self> {
        self.time_of_day()?;
        let days: Vec<&str> = self.text.split_whitespace().skip(2).collect();
        Self::parse(&format!("{} {} {}", time.minute(), time.hour(), days.join(" "))).ok()
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of day can be replaced, and the days stay.
    #[test]
    fn the_time_of_day_can_be_replaced() {
        let at = |text: &str| {
            let moved = Cron::parse(text).unwrap().with_time(jiff::civil::time(14, 5, 0, 0));
            moved.map(|cron| cron.as_str().to_owned())
        };
        assert_eq!(at("0 11 * * 1-5").as_deref(), Some("5 14 * * 1-5"));
        for several in ["*/5 11 * * *", "0 9-17 * * *", "0 9,11 * * *", "0 * * * *"] {
            assert_eq!(at(several), None, "{several}");
        }
    }

    /// DD-39, SC-8, SC-9: five fields with valid values are accepted.
    #[test]
    fn valid_expressions_are_accepted_unchanged() {
        for right in [
            "0 9 * * 1-5",
            "*/30 * * * *",
            "0,15,30-40/2 0-23 1,31 jan-DEC sun",
            "0 0 * * 5-7",
            "0 0 * * fri-mon",
            "  0\t9 * * 1  ",
            "5/10 * * * *",
            "0 0 29 2 *",
            "0 0 30 2 1",
        ] {
            assert_eq!(Cron::parse(right).unwrap().as_str(), right.trim());
        }
    }

    /// DD-39: the error for an invalid expression names the invalid part.
    #[test]
    fn invalid_expressions_are_refused_with_the_invalid_part() {
        let cases = [
            ("", "(0 found)"),
            ("0 9 * *", "(4 found)"),
            ("0 9 * * * *", "(6 found)"),
            ("60 9 * * *", "\"60\" does not fit the minute"),
            ("0 24 * * *", "\"24\" does not fit the hour"),
            ("0 9 0 * *", "day of the month"),
            ("0 9 * foo *", "\"foo\" does not fit the month"),
            ("0 9 * * 8", "weekday"),
            ("*/0 * * * *", "minute"),
            ("5-1 * * * *", "minute"),
            ("1,,2 * * * *", "minute"),
            ("+1 * * * *", "minute"),
            ("@daily", "(1 found)"),
            ("99999999999 * * * *", "minute"),
        ];
        for (wrong, said) in cases {
            let reason = Cron::parse(wrong).unwrap_err().to_string();
            assert!(reason.contains(said), "{wrong:?}: {reason}");
        }
    }

    /// DD-39, C3: a date that never occurs is refused with the reason.
    #[test]
    fn dates_that_never_occur_are_refused() {
        for never in ["0 0 30 2 *", "0 0 31 2,4,6,9,nov *", "*/5 * 30-31 feb *"] {
            let reason = Cron::parse(never).unwrap_err().to_string();
            assert!(reason.contains("never comes"), "{never:?}: {reason}");
        }
    }
}
