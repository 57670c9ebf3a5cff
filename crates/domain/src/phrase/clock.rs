//! Times of day: `9:45`, `5pm`, `17h`, `quarter past 5`, `at 9`, `noon`, `in the evening`.

use jiff::civil::Time;
use jiff::tz::Offset;

use super::group::{Piece, Preceding};
use super::note::ParseNote;
use super::number::{leading, whole};
use super::words::{Match, Words};

/// A time of day as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockTime {
    /// An unambiguous time.
    Exact(Time),
    /// A time on the 12-hour clock without am or pm.
    Bare(Time),
    /// A number after a weekday, which may also be the day of the month: `thu 11`, `mon 16`.
    Lone(i8),
    /// A time with a UTC offset.
    Offset(Time, Offset),
    /// The end of one day and the beginning of the next.
    Midnight,
}

/// A part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayPart {
    Morning,
    Noon,
    Afternoon,
    /// The end of the working day.
    EndOfDay,
    Evening,
    Night,
}

/// Whether a number needs a marker (`am`, `:30`, `o'clock`) to be read as an hour, or one was
/// found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HourMarker {
    Required,
    Present,
}

const TIME_PREPOSITIONS: [&str; 5] = ["at", "by", "around", "about", "@"];
/// Units after a number which show that it is not an hour.
const COUNTED_UNITS: [&str; 18] = [
    "%", "percent", "people", "persons", "places", "points", "euro", "euros", "eur", "dollars", "usd", "km",
    "kg", "degrees", "pages", "times", "items", "x",
];

/// Parses a time of day or a part of the day.
pub(super) fn clock(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    if let Some((part, next)) = part(words, at, near) {
        return Some((Piece::Part(part), next));
    }
    if words.is_any(at, &TIME_PREPOSITIONS) {
        return hour(words, at + 1, HourMarker::Present);
    }
    if words.at(at) == "after" {
        return hour(words, at + 1, HourMarker::Present).filter(|(_, next)| words.ends_clause(*next));
    }
    let marked = match words.at(at).strip_prefix('@') {
        Some(rest) if leading(rest).is_some() => HourMarker::Present,
        _ => HourMarker::Required,
    };
    match (marked, near) {
        (HourMarker::Present, _) => hour(words, at, HourMarker::Present),
        (HourMarker::Required, Preceding::Time) => {
            hour(words, at, HourMarker::Required).or_else(|| lone_number(words, at))
        }
        (HourMarker::Required, Preceding::Words) => hour(words, at, HourMarker::Required),
    }
}

/// A number after a day, at the end of a clause: `thu 11`.
fn lone_number(words: &Words, at: usize) -> Match<Piece> {
    let (number, next) = whole(words, at)?;
    let ends = words.ends_clause(next)
        || words.is_any(next, &["until", "to", "from", "@home", "daily", "every", "weekdays", "and", "or"]);
    let number = i8::try_from(number).ok().filter(|number| (0..=31).contains(number) && ends)?;
    Some((Piece::Clock(ClockTime::Lone(number)), next))
}

/// A part of the day; needs `in the`, `this` or a day before it.
fn part(words: &Words, at: usize, near: Preceding) -> Match<DayPart> {
    let named = |at: usize| match words.at(at) {
        "morning" => Some(DayPart::Morning),
        "afternoon" => Some(DayPart::Afternoon),
        "evening" => Some(DayPart::Evening),
        "night" => Some(DayPart::Night),
        _ => None,
    };
    if let Some(next) = words
        .after_sequence(at, &["end", "of", "day"])
        .or(words.after_sequence(at, &["end", "of", "the", "day"]))
    {
        return Some((DayPart::EndOfDay, next));
    }
    match words.at(at) {
        "noon" | "midday" | "lunchtime" => return Some((DayPart::Noon, at + 1)),
        "eod" => return Some((DayPart::EndOfDay, at + 1)),
        "in" if words.at(at + 1) == "the" => return Some((named(at + 2)?, at + 3)),
        "at" | "by" if words.is_any(at + 1, &["noon", "midday", "lunchtime"]) => {
            return Some((DayPart::Noon, at + 2));
        }
        "at" if words.at(at + 1) == "night" => return Some((DayPart::Night, at + 2)),
        "by" if words.at(at + 1) == "eod" => return Some((DayPart::EndOfDay, at + 2)),
        _ => {}
    }
    match near {
        Preceding::Time => Some((named(at)?, at + 1)),
        Preceding::Words => None,
    }
}

/// An hour with everything that belongs to it.
fn hour(words: &Words, at: usize, mark: HourMarker) -> Match<Piece> {
    if words.is_any(at, &["noon", "midday"]) {
        return Some((Piece::Part(DayPart::Noon), at + 1));
    }
    if words.at(at) == "midnight" {
        return Some((Piece::Clock(ClockTime::Midnight), at + 1));
    }
    if let Some(found) = past_or_to(words, at) {
        return Some(found);
    }
    let text = words.at(at).trim_start_matches('@');
    match leading(text) {
        Some((number, many, rest)) if many <= 2 => hour_in_digits(words, at, number, rest, mark),
        Some(_) => None,
        None => hour_in_words(words, at, mark),
    }
}

/// `quarter past 5`, `half past five`, `10 to 6`, `ten minutes to six`.
fn past_or_to(words: &Words, at: usize) -> Match<Piece> {
    let start = words.skip(at, &["a"]);
    let (minutes, next) = match words.at(start) {
        "quarter" => (15, start + 1),
        "half" => (30, start + 1),
        _ => whole(words, start).filter(|(minutes, _)| (1..60).contains(minutes))?,
    };
    let next = words.skip(next, &["min", "minutes"]);
    let minutes = match words.at(next) {
        "past" | "after" => minutes,
        "to" => -minutes,
        _ => return None,
    };
    let (hour, end) = whole(words, next + 1).filter(|(hour, _)| (0..=23).contains(hour))?;
    let all = (hour * 60 + minutes).rem_euclid(24 * 60);
    let all = if hour == 1 && minutes < 0 { all + 12 * 60 } else { all };
    Some(with_meridiem(words, end, all / 60, all % 60))
}

/// `five pm`, `five o'clock`, `at five`.
fn hour_in_words(words: &Words, at: usize, mark: HourMarker) -> Match<Piece> {
    let (hour, next) = whole(words, at).filter(|(hour, _)| (1..=12).contains(hour))?;
    let marked =
        mark == HourMarker::Present || meridiem(words.at(next)).is_some() || words.at(next) == "o'clock";
    (marked && !words.is_any(next, &COUNTED_UNITS))
        .then(|| with_meridiem(words, words.skip(next, &["o'clock"]), hour, 0))
}

fn hour_in_digits(words: &Words, at: usize, hour: i64, rest: &str, mark: HourMarker) -> Match<Piece> {
    let next = at + 1;
    let said = words.at(at).trim_start_matches('@').to_owned();
    if rest.is_empty() {
        return bare_number(words, next, hour, mark);
    }
    if let Some(half) = meridiem(rest) {
        return Some((twelve_hour_time(&said, hour, 0, half), next));
    }
    if let Some(minutes) = rest.strip_prefix('h') {
        let sure = mark == HourMarker::Present || hour > 12 || !minutes.is_empty();
        let minute = if minutes.is_empty() { 0 } else { two_digits(minutes)? };
        return sure.then(|| (twenty_four_hour_time(&said, hour, minute, 0), next));
    }
    let tail = match (rest.strip_prefix(':'), rest.strip_prefix('.'), mark) {
        (Some(tail), _, _) | (None, Some(tail), HourMarker::Present) => tail,
        (None, _, _) => return None,
    };
    let (minute, many, tail) = leading(tail)?;
    if many != 2 {
        return None;
    }
    match (tail, meridiem(tail), meridiem(words.at(next))) {
        ("", _, Some(half)) => Some((twelve_hour_time(&said, hour, minute, half), next + 1)),
        ("" | "h", _, _) => {
            Some((twenty_four_hour_time(&said, hour, minute, 0), words.skip(next, &["h", "uhr", "o'clock"])))
        }
        (_, Some(half), _) => Some((twelve_hour_time(&said, hour, minute, half), next)),
        (_, None, _) => with_seconds(&said, hour, minute, tail).map(|piece| (piece, next)),
    }
}

/// A bare number: `9 pm`, `9 o'clock`, or `9` after `at`.
fn bare_number(words: &Words, next: usize, hour: i64, mark: HourMarker) -> Match<Piece> {
    if meridiem(words.at(next)).is_some() || words.at(next) == "o'clock" {
        return Some(with_meridiem(words, words.skip(next, &["o'clock"]), hour, 0));
    }
    if mark == HourMarker::Required || words.is_any(next, &COUNTED_UNITS) {
        return None;
    }
    match hour {
        0..=24 => Some(with_meridiem(words, next, hour, 0)),
        _ => words.ends_clause(next).then(|| (twenty_four_hour_time(&hour.to_string(), hour, 0, 0), next)),
    }
}

/// The time, with am or pm if `next` says so.
fn with_meridiem(words: &Words, next: usize, hour: i64, minute: i64) -> (Piece, usize) {
    let said = if minute == 0 { hour.to_string() } else { format!("{hour}:{minute:02}") };
    match meridiem(words.at(next)) {
        Some(half) => (twelve_hour_time(&format!("{said}{}", words.at(next)), hour, minute, half), next + 1),
        None if !(1..=12).contains(&hour) => (twenty_four_hour_time(&said, hour, minute, 0), next),
        None => match civil(hour, minute, 0) {
            Some(time) => (Piece::Clock(ClockTime::Bare(time)), next),
            None => (twenty_four_hour_time(&said, hour, minute, 0), next),
        },
    }
}

/// Parses the text after the minutes: `:30`, `+01:00`, or both.
fn with_seconds(said: &str, hour: i64, minute: i64, tail: &str) -> Option<Piece> {
    let (second, tail) = match tail.strip_prefix(':').and_then(leading) {
        Some((second, 2, tail)) => (second, tail),
        Some(_) => return None,
        None => (0, tail),
    };
    let piece = twenty_four_hour_time(said, hour, minute, second);
    match (tail, piece) {
        ("", piece) => Some(piece),
        (_, Piece::Clock(ClockTime::Exact(time))) => {
            Some(Piece::Clock(ClockTime::Offset(time, offset(tail)?)))
        }
        (_, _) => None,
    }
}

/// `+01:00` or `z`.
fn offset(text: &str) -> Option<Offset> {
    if text == "z" {
        return Some(Offset::UTC);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let seconds = i32::try_from(two_digits(hours)? * 3600 + two_digits(minutes)? * 60).ok()?;
    Offset::from_seconds(sign * seconds).ok()
}

#[derive(Clone, Copy)]
enum Meridiem {
    Am,
    Pm,
}

fn meridiem(text: &str) -> Option<Meridiem> {
    match text {
        "am" | "a.m." | "a.m" => Some(Meridiem::Am),
        "pm" | "p.m." | "p.m" => Some(Meridiem::Pm),
        _ => None,
    }
}

impl ClockTime {
    /// The hour named by a bare number: `11` is ambiguous, `17` is not.
    pub fn from_number(number: i8) -> Option<Self> {
        let time = Time::new(number, 0, 0, 0).ok()?;
        Some(if (1..=12).contains(&number) { Self::Bare(time) } else { Self::Exact(time) })
    }
}

/// A time on the 12-hour clock.
fn twelve_hour_time(said: &str, hour: i64, minute: i64, half: Meridiem) -> Piece {
    let (suffix, shift) = match half {
        Meridiem::Am => ("am", 0),
        Meridiem::Pm => ("pm", 12),
    };
    match (civil(hour % 12 + shift, minute, 0), hour) {
        (Some(time), 1..=12) => Piece::Clock(ClockTime::Exact(time)),
        (_, 13..=23) => Piece::Invalid(ParseNote::Invalid(format!(
            "`{said}` mixes two clocks; say `{hour}:{minute:02}` or `{}{suffix}`",
            hour - 12
        ))),
        (_, _) => Piece::Invalid(ParseNote::Invalid(format!(
            "`{said}` is no time of day; say `9{suffix}` or `9:30{suffix}`"
        ))),
    }
}

/// A time on the 24-hour clock.
fn twenty_four_hour_time(said: &str, hour: i64, minute: i64, second: i64) -> Piece {
    match (civil(hour, minute, second), hour) {
        (Some(time), _) => Piece::Clock(ClockTime::Exact(time)),
        (None, 24) => Piece::Invalid(ParseNote::Invalid(format!(
            "`{said}` is no time of day; say `midnight`, or `00:00` and the day that begins then"
        ))),
        (None, 0..24) => Piece::Invalid(ParseNote::Invalid(format!(
            "`{said}` is no time of day: minutes go from 00 to 59; say it like `{hour}:30`"
        ))),
        (None, _) => Piece::Invalid(ParseNote::Invalid(format!(
            "`{said}` is no time of day: hours go from 0 to 23; say it like `17:30` or `5pm`"
        ))),
    }
}

fn civil(hour: i64, minute: i64, second: i64) -> Option<Time> {
    let small = |number: i64| i8::try_from(number).ok();
    Time::new(small(hour)?, small(minute)?, small(second)?, 0).ok()
}

fn two_digits(text: &str) -> Option<i64> {
    (text.len() == 2).then(|| super::number::digits(text))?
}
