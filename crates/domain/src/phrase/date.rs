//! Dates: `24.12.`, `dec 24`, `24th of december`, `12/24`, `2026-12-24`.
//!
//! A dot follows the day. A slash may follow the month or the day, so both orders are considered
//! where both exist.

use jiff::civil::Weekday;

use super::calendar::{month, month_name, weekday};
use super::day::Day;
use super::group::Piece;
use super::note::ParseNote;
use super::number::{digits, ordinal};
use super::words::{Match, Words};

/// A date as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateSpec {
    /// The next such day of the year.
    Yearly {
        /// 1 to 12.
        month: i8,
        /// 1 to 31.
        day: i8,
    },
    Once {
        /// With the century.
        year: i16,
        month: i8,
        day: i8,
    },
    /// Two numbers, either of which may be the month.
    Ambiguous(i8, i8),
    /// Like `Ambiguous`, with a year.
    AmbiguousInYear(i8, i8, i16),
    /// The last day of a month.
    EndOf(i8),
    /// The first day of a month.
    StartOf(i8),
    /// A day of the next month.
    NextMonth(i8),
    /// The n-th such weekday of a month; -1 is the last.
    Nth(i8, Weekday, MonthRef),
    /// A number of days after the next such weekday.
    DaysAfterWeekday(Weekday, i64),
}

/// The month in which an n-th weekday is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MonthRef {
    ThisMonth,
    NextMonth,
    /// The next month of that name.
    Month(i8),
}

/// Parses a date.
pub(super) fn date(words: &Words, at: usize) -> Match<Piece> {
    iso(words, at)
        .or_else(|| dotted(words, at))
        .or_else(|| slashed(words, at))
        .or_else(|| nth_weekday(words, at))
        .or_else(|| day_first(words, at))
        .or_else(|| month_first(words, at))
}

fn piece(dated: DateSpec) -> Piece {
    Piece::Day(Day::Date(dated))
}

/// A date with or without a year, if that day exists.
fn checked(day: i64, month: i64, year: Option<i64>) -> Piece {
    let small = (i8::try_from(day).ok(), i8::try_from(month).ok());
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = |month: i8| match month {
        2 if year.is_some_and(|year| !leap(year)) => 28,
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let (Some(day), Some(month)) = small else { return no_such_month(month) };
    if !(1..=12).contains(&month) {
        return no_such_month(i64::from(month));
    }
    if !(1..=days(month)).contains(&day) {
        let name = month_name(month);
        let last = days(month);
        let of = year.map(|year| format!(" {year}")).unwrap_or_default();
        let sentence = format!("there is no {day} {name}{of}; {name}{of} goes from 1 to {last}");
        return Piece::Invalid(ParseNote::Invalid(sentence));
    }
    match year.map(i16::try_from) {
        None => piece(DateSpec::Yearly { month, day }),
        Some(Ok(year)) => piece(DateSpec::Once { year, month, day }),
        Some(Err(_)) => {
            Piece::Invalid(ParseNote::Invalid("that year is too far away; say one like `2027`".to_owned()))
        }
    }
}

fn no_such_month(month: i64) -> Piece {
    let sentence = format!("there is no month {month}; write a date like `24.12.`, `24 dec` or `2026-12-24`");
    Piece::Invalid(ParseNote::Invalid(sentence))
}

/// `2026-12-24`; a `t` introduces a time.
fn iso(words: &Words, at: usize) -> Match<Piece> {
    let text = words.at(at);
    let (date, clock) = text.split_once('t').map_or((text, None), |(date, clock)| (date, Some(clock)));
    let mut parts = date.split('-');
    let year = parts.next()?;
    let month = parts.next()?;
    let day = parts.next()?;
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let date = checked(digits(day)?, digits(month)?, Some(digits(year)?));
    let Some(clock) = clock else { return Some((date, at + 1)) };
    let clock = match super::clock::clock(&Words::of(clock), 0, super::group::Preceding::Words) {
        Some((Piece::Clock(clock), _)) => clock,
        Some((wrong @ Piece::Invalid(_), _)) => return Some((wrong, at + 1)),
        Some(_) | None => return None,
    };
    if let Piece::Day(day) = date {
        return Some((Piece::Moment(day, clock), at + 1));
    }
    Some((date, at + 1))
}

/// `24.12.` or `24.12.2026`; `24.12` only after `on`.
fn dotted(words: &Words, at: usize) -> Match<Piece> {
    let text = words.at(at);
    let open = text.strip_suffix('.');
    let mut parts = open.unwrap_or(text).split('.');
    let day = digits(parts.next()?)?;
    let month = digits(parts.next()?)?;
    let year = parts.next();
    if parts.next().is_some() || day > 99 || month > 99 {
        return None;
    }
    let after_on = at.checked_sub(1).is_some_and(|before| words.is_any(before, &["on", "by", "until"]));
    match year {
        Some(year) => Some((checked(day, month, Some(full_year(year)?)), at + 1)),
        None if open.is_some() || after_on => {
            let (year, next) = year_at(words, at + 1);
            Some((checked(day, month, year), next))
        }
        None => None,
    }
}

/// `12/24`, `24/12`, `12/24/2026`.
fn slashed(words: &Words, at: usize) -> Match<Piece> {
    let mut parts = words.at(at).split('/');
    let first = digits(parts.next()?)?;
    let second = digits(parts.next()?)?;
    let year = parts.next();
    if parts.next().is_some() || first > 99 || second > 99 {
        return None;
    }
    let year = match year {
        Some(year) => Some(full_year(year)?),
        None => None,
    };
    let fits = |month: i64, day: i64| matches!(checked(day, month, year), Piece::Day(_));
    let small = |number: i64| i8::try_from(number).ok();
    let both = match (fits(first, second), fits(second, first), year) {
        (true, true, None) => piece(DateSpec::Ambiguous(small(first)?, small(second)?)),
        (true, true, Some(year)) => {
            piece(DateSpec::AmbiguousInYear(small(first)?, small(second)?, i16::try_from(year).ok()?))
        }
        (false, true, _) => checked(first, second, year),
        (true, false, _) => checked(second, first, year),
        // A fraction rather than a date, unless there is a year.
        (false, false, None) => return None,
        (false, false, Some(_)) => checked(second, first, year),
    };
    Some((both, at + 1))
}

/// `24 dec`, `24th of december`, `the 24th of december 2026`.
fn day_first(words: &Words, at: usize) -> Match<Piece> {
    let start = words.skip(at, &["the"]);
    let text = words.at(start);
    let day = digits(text.trim_end_matches('.')).or_else(|| ordinal(text)).filter(|day| *day < 100)?;
    let named = words.skip(words.skip(start + 1, &["."]), &["of"]);
    let month = month(words.at(named))?;
    let (year, next) = year_at(words, named + 1);
    Some((checked(day, i64::from(month), year), next))
}

/// `dec 24`, `december 24th, 2026`; `in december`.
fn month_first(words: &Words, at: usize) -> Match<Piece> {
    if words.at(at) == "in" {
        let month = month(words.at(at + 1)).filter(|_| at == 0 || words.ends_clause(at + 2))?;
        return Some((piece(DateSpec::StartOf(month)), at + 2));
    }
    let month = month(words.at(at))?;
    let number = words.skip(at + 1, &["the"]);
    let text = words.at(number);
    let day = digits(text).or_else(|| ordinal(text)).filter(|day| *day < 100)?;
    let (year, next) = year_at(words, number + 1);
    Some((checked(day, i64::from(month), year), next))
}

/// `first monday of next month`, `last friday of november`.
fn nth_weekday(words: &Words, at: usize) -> Match<Piece> {
    let start = words.skip(at, &["the"]);
    let nth = match words.at(start) {
        "last" => -1,
        other => i8::try_from(ordinal(other)?).ok().filter(|nth| (1..=5).contains(nth))?,
    };
    let day = weekday(words.at(start + 1))?;
    let of = words.after_sequence(start + 2, &["of"])?;
    let (of, next) = match (words.at(of), month(words.at(of))) {
        (_, Some(month)) => (MonthRef::Month(month), of + 1),
        ("next", None) => (MonthRef::NextMonth, words.after_sequence(of, &["next", "month"])?),
        ("the" | "this", None) => (MonthRef::ThisMonth, words.after_sequence(of + 1, &["month"])?),
        (_, None) => return None,
    };
    Some((piece(DateSpec::Nth(nth, day, of)), next))
}

/// Parses a year, perhaps after a comma.
fn year_at(words: &Words, at: usize) -> (Option<i64>, usize) {
    let start = words.skip(at, &[","]);
    let year = digits(words.at(start)).filter(|year| (1900..=9999).contains(year));
    match year {
        Some(year) => (Some(year), start + 1),
        None => (None, at),
    }
}

/// `26` is 2026.
fn full_year(text: &str) -> Option<i64> {
    match (text.len(), digits(text)?) {
        (2, year) => Some(2000 + year),
        (4, year) => Some(year),
        (_, _) => None,
    }
}
