//! An instant with a UTC offset, as written in files.

use std::fmt;

use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::InvalidField;

/// An instant with the offset it was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    pub at: Timestamp,
    offset: Offset,
}

impl Moment {
    /// The instant and offset of `clock`.
    pub fn of(clock: &Zoned) -> Self {
        Self { at: clock.timestamp(), offset: whole_minutes(clock.offset()) }
    }

    /// Parses any ISO 8601 form; without an offset it is local time in `zone`.
    pub fn parse(text: &str, zone: &TimeZone) -> Result<Self, InvalidField> {
        parse_moment(text, zone).ok_or_else(|| {
            let reason = format!("{text:?} is not a time; write it like `2026-03-05T14:00:00-08:00`");
            InvalidField::new("run-at", reason)
        })
    }

    /// Formats with microseconds, the precision of the state files.
    pub fn to_micros(self) -> String {
        self.civil().strftime("%Y-%m-%dT%H:%M:%S.%6f").to_string() + &self.signed_offset()
    }

    fn civil(&self) -> jiff::civil::DateTime {
        self.offset.to_datetime(self.at)
    }

    fn signed_offset(&self) -> String {
        let seconds = self.offset.seconds();
        let sign = if seconds < 0 { '-' } else { '+' };
        format!("{sign}{:02}:{:02}", seconds.abs() / 3600, seconds.abs() / 60 % 60)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.civil(), self.signed_offset())
    }
}

fn parse_moment(text: &str, zone: &TimeZone) -> Option<Moment> {
    let pieces = Pieces::parse(text.trim()).ok()?;
    let wall = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let offset = match pieces.offset() {
        Some(PiecesOffset::Zulu) => Some(Offset::UTC),
        Some(PiecesOffset::Numeric(numeric)) => Some(numeric.offset()),
        Some(_) | None => None,
    };
    if let Some(offset) = offset {
        let at = offset.to_timestamp(wall).ok()?;
        return Some(Moment { at, offset: whole_minutes(offset) });
    }
    let zone = match pieces.to_time_zone() {
        Ok(Some(named)) => named,
        Ok(None) => zone.clone(),
        Err(_) => return None,
    };
    let clock = zone.to_ambiguous_zoned(wall).compatible().ok()?;
    Some(Moment::of(&clock))
}

/// Drops seconds, which ISO 8601 offsets cannot express; only historical offsets have them.
fn whole_minutes(offset: Offset) -> Offset {
    Offset::from_seconds(offset.seconds() / 60 * 60).unwrap_or(Offset::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, read: &str) {
        let zone = TimeZone::get("America/Los_Angeles").unwrap();
        assert_eq!(Moment::parse(text, &zone).map(|m| m.to_string()).unwrap_or_default(), read, "{text:?}");
    }

    /// DD-18, DD-42, DD-47: any ISO form is accepted, the user's zone is the default, and other
    /// text is refused.
    #[test]
    fn any_iso_form_is_parsed() {
        check("2026-03-05T14:00:00-08:00", "2026-03-05T14:00:00-08:00");
        check("2026-03-05T09:07:12.123456-08:00", "2026-03-05T09:07:12.123456-08:00");
        check("2026-03-05T14:00:00Z", "2026-03-05T14:00:00+00:00");
        check("2026-03-05 14:00", "2026-03-05T14:00:00-08:00");
        check("2026-07-05T14:00:00", "2026-07-05T14:00:00-07:00");
        check("20260305T140000+0530", "2026-03-05T14:00:00+05:30");
        check("2026-03-08T02:30:00", "2026-03-08T03:30:00-07:00");
        check("2026-03-05", "2026-03-05T00:00:00-08:00");
        for wrong in ["", "tomorrow", "2026-13-05T14:00:00Z", "14:00", "2026-03-05T25:00:00Z", "1772816440"] {
            check(wrong, "");
        }
    }

    /// DD-18: the state format has microseconds and an offset.
    #[test]
    fn the_state_format_has_microseconds_and_offset() {
        let moment = Moment::parse("2026-03-05T09:07:12-08:00", &TimeZone::UTC).unwrap();
        assert_eq!(moment.to_micros(), "2026-03-05T09:07:12.000000-08:00");
    }
}
