//! Parses the destination of a move: a time, a day, or an offset.

use jiff::civil::Date;
use jiff::{SignedDuration, Zoned};

use super::dates::{dates, past_date_note};
use super::day::Day;
use super::group;
use super::length::{Length, length_or_minutes};
use super::resolution::resolve;
use super::words::Words;
use super::{Habits, ParseNote, Timing};

/// The destination of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveTarget {
    /// To an exact time or recurrence.
    At(Timing),
    /// To this day, keeping the time of day.
    Day(Date),
    /// By a number of days, keeping the time of day.
    Days(u32),
    /// By a duration.
    Later(SignedDuration),
}

/// Parses `text` as a destination. Returns `None` if it contains anything else, and an error for an
/// invalid time.
pub(crate) fn parse_target(
    text: &str,
    now: &Zoned,
    habits: &Habits,
) -> Option<Result<MoveTarget, ParseNote>> {
    let words = Words::of(text);
    if let Some(length) = whole_length(&words) {
        let days = u32::try_from(length.days).ok().filter(|_| length.is_days());
        return days.map(MoveTarget::Days).or_else(|| length.duration().map(MoveTarget::Later)).map(Ok);
    }
    let group = group::choose_phrase(&words).filter(|group| group.covers_all(&words))?;
    let said = &group.parts;
    let day_only = said.is_day_only() && said.error.is_none() && group.alternative.is_none();
    if let Some(day) = said.day.filter(|day| day_only && !matches!(day, Day::Past(_))) {
        if let Some(gone) = past_date_note(said.weekday, day, now.date()) {
            return Some(Err(gone));
        }
        let first = dates(day, now.date()).map(|dates| dates.candidates.into_iter().next());
        return match first {
            Ok(Some(date)) => Some(Ok(MoveTarget::Day(date))),
            Ok(None) => None,
            Err(note) => Some(Err(note)),
        };
    }
    Some(resolve(&group, now, habits).map(|settled| MoveTarget::At(settled.when)))
}

/// Parses a text that is only a duration: `1h`, `20 min`, `20`.
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    whole_length(&Words::of(text))?.duration()
}

fn whole_length(words: &Words) -> Option<Length> {
    let start = words.skip(0, &["for", "by"]);
    let (length, end) = length_or_minutes(words, start)?;
    (end >= words.len() && !length.is_zero() && length.months == 0).then_some(length)
}
