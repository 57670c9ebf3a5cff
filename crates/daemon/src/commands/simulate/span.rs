//! The time span of a simulation.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::exit::CommandError;

/// The longest span: a year.
const MAX_LENGTH: SignedDuration = SignedDuration::from_hours(366 * 24);

/// A start and a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The start, in the user's zone.
    pub from: Zoned,
    pub length: SignedDuration,
}

impl Span {
    /// Parses both ends. A time without an offset is in `zone`; a date means midnight.
    pub fn read(from: &str, to: &str, zone: &TimeZone) -> Result<Self, CommandError> {
        let from = parse_time("--from", from, zone)?;
        let to = parse_time("--to", to, zone)?;
        let length = to.timestamp().duration_since(from.timestamp());
        if !length.is_positive() {
            return Err(CommandError::Usage(format!(
                "--to ({}) is not after --from ({}). give a later time.",
                to.strftime(TIME_FORMAT),
                from.strftime(TIME_FORMAT)
            )));
        }
        if length > MAX_LENGTH {
            let days = length.as_hours() / 24;
            return Err(CommandError::Usage(format!(
                "from --from to --to is {days} days. a year (366 days) is the most that is simulated."
            )));
        }
        Ok(Self { from, length })
    }
}

const TIME_FORMAT: &str = "%Y-%m-%d %H:%M";

fn parse_time(which: &str, text: &str, zone: &TimeZone) -> Result<Zoned, CommandError> {
    let with_offset = || text.parse::<Timestamp>().ok().map(|at| at.to_zoned(zone.clone()));
    let in_zone = || text.parse::<Zoned>().ok().map(|at| at.with_time_zone(zone.clone()));
    let here = || text.parse::<DateTime>().ok().and_then(|at| at.to_zoned(zone.clone()).ok());
    let day = || text.parse::<Date>().ok().and_then(|date| date.to_zoned(zone.clone()).ok());
    in_zone().or_else(with_offset).or_else(here).or_else(day).ok_or_else(|| {
        CommandError::Usage(format!(
            "{which}: `{text}` is not a time. write a date such as 2026-03-27, a time such as 2026-03-27T08:00, or one \
             with an offset such as 2026-03-27T08:00+01:00."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: &str, to: &str) -> Result<String, String> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let told = |span: Span| format!("{} {:#}", span.from, span.length);
        Span::read(from, to, &zone).map(told).map_err(|failed| failed.to_string())
    }

    #[test]
    fn times_are_read_in_the_users_zone() {
        let check = |from: &str, to: &str, expected: &str| {
            assert_eq!(span(from, to), Ok(expected.to_owned()));
        };
        check("2026-03-28", "2026-03-30", "2026-03-28T00:00:00+01:00[Europe/Berlin] 47h");
        check("2026-03-28T08:00", "2026-03-28T09:30", "2026-03-28T08:00:00+01:00[Europe/Berlin] 1h 30m");
        check(
            "2026-03-28T08:00:00Z",
            "2026-03-28T10:00+01:00",
            "2026-03-28T09:00:00+01:00[Europe/Berlin] 1h",
        );
    }

    #[test]
    fn invalid_time_error_shows_the_format() {
        let check = |from: &str, to: &str, words: &str| {
            let told = span(from, to).unwrap_err();
            assert!(told.contains(words), "{told}");
        };
        check("soon", "2026-03-30", "--from: `soon` is not a time. write a date such as");
        check("2026-03-30", "2026-02-30", "--to: `2026-02-30` is not a time");
        check("2026-03-30", "2026-03-30", "is not after --from (2026-03-30 00:00)");
        check("2026-03-30", "2028-03-30", "is 731 days. a year (366 days) is the most");
    }
}
