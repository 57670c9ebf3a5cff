//! Parses the destination of a move: a time, a day, or an offset.

use jiff::civil::Date;
use jiff::{SignedDuration, Zoned};

use super::dates::{dates, gone};
use super::day::Day;
use super::group;
use super::length::{Length, length_or_minutes};
use super::settle::choose;
use super::words::Words;
use super::{Habits, Note, When};

/// The destination of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To an exact time or recurrence.
    At(When),
    /// To this day, keeping the time of day.
    Day(Date),
    /// By a number of days, keeping the time of day.
    Days(u32),
    /// By a duration.
    Later(SignedDuration),
}

/// Parses `text` as a destination. Returns `None` if it contains anything else, and an error for an
/// invalid time.
pub(crate) fn target(text: &str, now: &Zoned, habits: &Habits) -> Option<Result<Target, Note>> {
    let words = Words::of(text);
    if let Some(length) = whole(&words) {
        let days = u32::try_from(length.days).ok().filter(|_| length.is_days());
        return days.map(Target::Days).or_else(|| length.real().map(Target::Later)).map(Ok);
    }
    let group = group::last(&words).filter(|group| group.is_all(&words))?;
    let said = &group.said;
    let day_only = said.is_day_only() && said.wrong.is_none() && group.or.is_none();
    if let Some(day) = said.day.filter(|day| day_only && !matches!(day, Day::Over(_))) {
        if let Some(gone) = gone(said.weekday, day, now.date()) {
            return Some(Err(gone));
        }
        let first = dates(day, now.date()).map(|dates| dates.list.into_iter().next());
        return match first {
            Ok(Some(date)) => Some(Ok(Target::Day(date))),
            Ok(None) => None,
            Err(note) => Some(Err(note)),
        };
    }
    Some(choose(&group, now, habits).map(|settled| Target::At(settled.when)))
}

/// Parses a text that is only a duration: `1h`, `20 min`, `20`.
pub(crate) fn span(text: &str) -> Option<SignedDuration> {
    whole(&Words::of(text))?.real()
}

fn whole(words: &Words) -> Option<Length> {
    let start = words.past(0, &["for", "by"]);
    let (length, end) = length_or_minutes(words, start)?;
    (end >= words.len() && !length.is_nothing() && length.months == 0).then_some(length)
}
