//! Parses days and times of the command line: `2026-11-20T09:00`, or in words.

use accounts::AccountError;
use domain::phrase::{Habits, Timing, parse};
use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned};

/// Parses a time, relative to `now`. Without an offset it is in the user's zone.
pub(super) fn parse_time(said: &str, now: &Zoned, habits: &Habits) -> Result<Zoned, AccountError> {
    let said = said.trim();
    let wrong = |what: &str| {
        AccountError::InvalidRequest(format!("`{said}` {what}. write it like 2026-11-20T09:00."))
    };
    if said.parse::<Date>().is_ok() && said.len() == 10 {
        return Err(wrong("is a day without a time"));
    }
    if starts_with_date(said) {
        if let Ok(at) = said.parse::<Timestamp>() {
            return Ok(at.to_zoned(now.time_zone().clone()));
        }
        let clock = said.parse::<DateTime>().map_err(|_| wrong("is no time"))?;
        return now.time_zone().to_ambiguous_zoned(clock).compatible().map_err(|_| wrong("is no time"));
    }
    parse_words(said, now, habits).ok_or_else(|| wrong("is no time that i know"))
}

/// Parses a day, relative to `now`.
pub(super) fn parse_day(said: &str, now: &Zoned, habits: &Habits) -> Result<Date, AccountError> {
    let said = said.trim();
    let wrong =
        || AccountError::InvalidRequest(format!("`{said}` is no day that i know. write it like 2026-11-20."));
    if starts_with_date(said) {
        said.parse().ok().filter(|_| said.len() == 10).ok_or_else(wrong)
    } else {
        parse_words(said, now, habits).map(|at| at.date()).ok_or_else(wrong)
    }
}

fn starts_with_date(said: &str) -> bool {
    said.len() >= 5 && said.bytes().take(4).all(|byte| byte.is_ascii_digit()) && said.as_bytes()[4] == b'-'
}

/// Parses text that is one point in time, without other words or a second meaning.
fn parse_words(said: &str, now: &Zoned, habits: &Habits) -> Option<Zoned> {
    let reading = parse(said, now, habits);
    match (reading.when, reading.text.trim()) {
        (Some(Timing::Once(at)), "") => Some(at.with_time_zone(now.time_zone().clone())),
        (Some(Timing::Once(_) | Timing::Lead { .. } | Timing::Recurring(_) | Timing::Cue(_)) | None, _) => {
            None
        }
    }
}
