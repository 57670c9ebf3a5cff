//! Where something is moved to: a time, only a day, or only so much later.

use jiff::civil::Date;
use jiff::{SignedDuration, Zoned};

use super::dates::{dates, gone};
use super::day::Day;
use super::group;
use super::length::{Length, length_or_minutes};
use super::settle::choose;
use super::words::Words;
use super::{Habits, Note, When};

/// Where something is moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this time.
    At(When),
    /// To this day, at the time of day it had.
    Day(Date),
    /// So many days later, at the time of day it had.
    Days(u32),
    /// So much later.
    Later(SignedDuration),
}

/// Where to, if `text` is a time from its first word to its last; or why it is none.
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

/// The length that `text` is, and nothing else: `1h`, `20 min`, `20`.
pub(crate) fn span(text: &str) -> Option<SignedDuration> {
    whole(&Words::of(text))?.real()
}

fn whole(words: &Words) -> Option<Length> {
    let start = words.past(0, &["for", "by"]);
    let (length, end) = length_or_minutes(words, start)?;
    (end >= words.len() && !length.is_nothing() && length.months == 0).then_some(length)
}
