//! Parses days and times of the command line: `2026-11-20T09:00`, or in words.

use accounts::Trouble;
use domain::phrase::{Habits, When, read};
use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned};

/// Parses a time, relative to `now`. Without an offset it is in the user's zone.
pub(super) fn time(said: &str, now: &Zoned, habits: &Habits) -> Result<Zoned, Trouble> {
    let said = said.trim();
    let wrong = |what: &str| Trouble::Wrong(format!("`{said}` {what}. write it like 2026-11-20T09:00."));
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
    in_words(said, now, habits).ok_or_else(|| wrong("is no time that i know"))
}

/// Parses a day, relative to `now`.
pub(super) fn day(said: &str, now: &Zoned, habits: &Habits) -> Result<Date, Trouble> {
    let said = said.trim();
    let wrong = || Trouble::Wrong(format!("`{said}` is no day that i know. write it like 2026-11-20."));
    if starts_with_date(said) {
        said.parse().ok().filter(|_| said.len() == 10).ok_or_else(wrong)
    } else {
        in_words(said, now, habits).map(|at| at.date()).ok_or_else(wrong)
    }
}

fn starts_with_date(said: &str) -> bool {
    said.len() >= 5 && said.bytes().take(4).all(|byte| byte.is_ascii_digit()) && said.as_bytes()[4] == b'-'
}

/// Parses text that is one point in time, without other words or a second meaning.
fn in_words(said: &str, now: &Zoned, habits: &Habits) -> Option<Zoned> {
    let reading = read(said, now, habits);
    match (reading.when, reading.what.trim()) {
        (Some(When::Once(at)), "") => Some(at.with_time_zone(now.time_zone().clone())),
        (Some(When::Once(_) | When::Lead { .. } | When::Repeats(_) | When::Cue(_)) | None, _) => None,
    }
}
