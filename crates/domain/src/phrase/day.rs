//! Days in words: `tomorrow`, `next friday`, `the 1st`, `end of month`, `in 2 weeks`.

use jiff::civil::Weekday;

use super::calendar::{day_name, weekday};
use super::date::{self, DateSpec};
use super::group::{Piece, Preceding};
use super::length::{Length, length};
use super::note::ParseNote;
use super::number::{ordinal, whole};
use super::words::{Match, Words};

/// A day as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Day {
    /// A duration from now, to the second.
    Exactly(Length),
    /// A number of days or months from today.
    Ahead(Length),
    /// The next such weekday.
    Weekday(Weekday),
    /// The weekday of next week.
    NextWeekday(Weekday),
    /// The weekday in the week that is this many weeks from now.
    WeekdayIn(Weekday, i64),
    /// The first day of the next such period.
    Start(Period),
    /// The last day of the period that is this many periods from now.
    End(Period, i64),
    /// The first day of the weekend.
    Weekend,
    /// The first day of next week's weekend.
    NextWeekend,
    /// A day of this month or the next.
    OfMonth(i8),
    Date(DateSpec),
    /// A day in the past.
    Past(PastDay),
}

/// A calendar period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Begins on Monday.
    Week,
    Month,
    Year,
}

/// A day that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PastDay {
    Yesterday,
    /// The last such weekday.
    Last(Weekday),
    /// The previous period.
    LastPeriod(Period),
    /// A duration ago.
    Ago,
}

impl PastDay {
    /// The phrase for it.
    pub fn phrase(self) -> String {
        match self {
            Self::Yesterday => "yesterday".to_owned(),
            Self::Last(day) => format!("last {}", day_name(day)),
            Self::LastPeriod(Period::Week) => "last week".to_owned(),
            Self::LastPeriod(Period::Month) => "last month".to_owned(),
            Self::LastPeriod(Period::Year) => "last year".to_owned(),
            Self::Ago => "that".to_owned(),
        }
    }
}

/// Words after which `sun` or `sat` does not name a day.
const NO_DAY_AFTER: [&str; 14] =
    ["the", "i", "we", "he", "she", "they", "you", "who", "in", "a", "my", "of", "got", "just"];

/// Parses a day.
pub(super) fn day(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    relative(words, at)
        .or_else(|| lengths(words, at))
        .or_else(|| ends(words, at))
        .or_else(|| date::date(words, at))
        .or_else(|| numbered(words, at, near))
        .or_else(|| named(words, at, near))
}

fn ahead(days: i64) -> Piece {
    Piece::Day(Day::Ahead(Length { days, ..Length::default() }))
}

fn relative(words: &Words, at: usize) -> Match<Piece> {
    if let Some(found) = same_time(words, at) {
        return Some(found);
    }
    let start = words.skip(at, &["the"]);
    if let Some(next) = words.after_sequence(start, &["day", "after", "tomorrow"]) {
        return Some((ahead(2), next));
    }
    if let Some(next) = words.after_sequence(start, &["day", "before", "yesterday"]) {
        return Some((Piece::Day(Day::Past(PastDay::Yesterday)), next));
    }
    match words.at(at) {
        "today" => Some((ahead(0), at + 1)),
        "tonight" | "tonite" => Some((Piece::Tonight, at + 1)),
        "this" if words.is_any(at + 1, &["morning", "afternoon", "evening"]) => Some((ahead(0), at + 1)),
        "tomorrow" | "tmr" | "tmrw" | "tomorow" | "tommorow" => Some((ahead(1), at + 1)),
        "yesterday" => Some((Piece::Day(Day::Past(PastDay::Yesterday)), at + 1)),
        _ => None,
    }
}

/// `this time tomorrow`, `same time next week`.
fn same_time(words: &Words, at: usize) -> Match<Piece> {
    let start = words.after_sequence(at, &["this", "time"]).or(words.after_sequence(at, &["same", "time"]))?;
    let length = match (words.at(start), words.at(start + 1)) {
        ("tomorrow", _) => (Length { days: 1, ..Length::default() }, start + 1),
        ("next", "week") => (Length { days: 7, ..Length::default() }, start + 2),
        ("next", "month") => (Length { months: 1, ..Length::default() }, start + 2),
        (_, _) => return None,
    };
    Some((Piece::Day(Day::Exactly(length.0)), length.1))
}

/// `in 2 weeks`, `in 20`, `20 min from now`, `3 days ago`.
fn lengths(words: &Words, at: usize) -> Match<Piece> {
    let (length, next) = if words.is_any(at, &["in", "after"]) {
        length(words, at + 1).or_else(|| minutes(words, at))?
    } else {
        let (length, next) = length(words, at)?;
        if words.at(next) == "ago" {
            return Some((Piece::Day(Day::Past(PastDay::Ago)), next + 1));
        }
        if let Some(found) = after_weekday(words, next, length) {
            return Some(found);
        }
        (length, words.after_sequence(next, &["from", "now"])?)
    };
    if length.is_zero() {
        let sentence = "no time at all from now is now; say how long, like `in 5 min`";
        return Some((Piece::Invalid(ParseNote::Invalid(sentence.to_owned())), next));
    }
    let day = if length.is_days() { Day::Ahead(length) } else { Day::Exactly(length) };
    Some((Piece::Day(day), next))
}

/// `from friday` after `a week`.
fn after_weekday(words: &Words, at: usize, length: Length) -> Match<Piece> {
    let plain = words.is_any(at, &["from", "after", "on"]) && length.is_days() && length.months == 0;
    plain.then_some(())?;
    match (words.at(at + 1), weekday(words.at(at + 1))) {
        ("today", _) => Some((ahead(length.days), at + 2)),
        ("tomorrow", _) => Some((ahead(length.days.checked_add(1)?), at + 2)),
        (_, Some(day)) => Some((Piece::Day(Day::Date(DateSpec::DaysAfterWeekday(day, length.days))), at + 2)),
        (_, None) => None,
    }
}

/// `in 20`, at the end of a clause or at the beginning of the text.
fn minutes(words: &Words, at: usize) -> Match<Length> {
    let (minutes, next) = whole(words, at + 1)?;
    let meant = words.at(at) == "in" && (at == 0 || words.ends_clause(next));
    meant.then_some((Length { seconds: minutes.checked_mul(60)?, ..Length::default() }, next))
}

/// `end of month`, `next week`, `the weekend`, `last year`.
fn ends(words: &Words, at: usize) -> Match<Piece> {
    let start = words.skip(words.skip(at, &["by"]), &["the"]);
    let found = match words.at(start) {
        "eom" => (Day::End(Period::Month, 0), start + 1),
        "eow" => (Day::End(Period::Week, 0), start + 1),
        "eoy" => (Day::End(Period::Year, 0), start + 1),
        "end" => end_of(words, words.after_sequence(start, &["end", "of"])?)?,
        "last" if words.after_sequence(start, &["last", "day", "of"]).is_some() => end_of(words, start + 3)?,
        "weekend" => (Day::Weekend, start + 1),
        "this" | "coming" if words.at(start + 1) == "weekend" => (Day::Weekend, start + 2),
        "next" if words.at(start + 1) == "weekend" => (Day::NextWeekend, start + 2),
        "next" => (Day::Start(period(words.at(start + 1))?), start + 2),
        "last" => (Day::Past(PastDay::LastPeriod(period(words.at(start + 1))?)), start + 2),
        _ => return None,
    };
    Some((Piece::Day(found.0), found.1))
}

/// Parses the rest of `end of`: `the month`, `next month`, `november`.
fn end_of(words: &Words, at: usize) -> Match<Day> {
    let this = words.skip(at, &["the", "this"]);
    if let Some(period) = period(words.at(this)) {
        return Some((Day::End(period, 0), this + 1));
    }
    if let Some(month) = super::calendar::month(words.at(at)) {
        return Some((Day::Date(DateSpec::EndOf(month)), at + 1));
    }
    (words.at(at) == "next").then_some(())?;
    Some((Day::End(period(words.at(at + 1))?, 1), at + 2))
}

fn period(text: &str) -> Option<Period> {
    match text {
        "week" => Some(Period::Week),
        "month" => Some(Period::Month),
        "year" => Some(Period::Year),
        _ => None,
    }
}

/// `the 1st`, `on 1st`, `the 1st of next month`.
fn numbered(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    let marked = words.is_any(at, &["the", "on", "by"]);
    let number = words.skip(words.skip(at, &["on", "by"]), &["the"]);
    let day = ordinal(words.at(number)).filter(|_| marked)?;
    let in_digits = words.at(number).starts_with(|letter: char| letter.is_ascii_digit());
    let of = words.after_sequence(number + 1, &["of"]).map(|of| words.skip(of, &["the", "this"]));
    let of_month = of.filter(|of| words.at(*of) == "month");
    let of_next = of.and_then(|of| words.after_sequence(of, &["next", "month"]));
    // `the second draft` and `the 2nd draft` are not days; `on the 2nd send it` is one.
    let ends = words.ends_clause(number + 1) || words.is_any(number + 1, &["at", "@", "around"]);
    let plain = in_digits && (words.is_any(at, &["on", "by"]) || ends || near == Preceding::Time);
    match (i8::try_from(day).ok().filter(|day| (1..=31).contains(day)), of_month, of_next) {
        (None, _, _) if plain => Some((Piece::Invalid(no_such_day(words.at(number))), number + 1)),
        (None, _, _) => None,
        (Some(day), _, Some(next)) => Some((Piece::Day(Day::Date(DateSpec::NextMonth(day))), next)),
        (Some(day), Some(of), None) => Some((Piece::Day(Day::OfMonth(day)), of + 1)),
        (Some(day), None, None) => plain.then_some((Piece::Day(Day::OfMonth(day)), number + 1)),
    }
}

fn no_such_day(said: &str) -> ParseNote {
    ParseNote::Invalid(format!("no month has a {said}; days go from the 1st to the 31st"))
}

/// `friday`, `next friday`, `friday next week`.
fn named(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    let day = |at: usize| weekday(words.at(at));
    let found = match words.at(at) {
        "next" => (Day::NextWeekday(day(at + 1)?), at + 2),
        "last" => (Day::Past(PastDay::Last(day(at + 1)?)), at + 2),
        "this" | "coming" => (Day::Weekday(day(at + 1)?), at + 2),
        _ if is_doubtful(words, at, near) => return None,
        _ => match (day(at)?, words.after_sequence(at + 1, &["next", "week"])) {
            (day, Some(next)) => (Day::WeekdayIn(day, 1), next),
            (day, None) if words.at(at + 1) == "week" => {
                (Day::Date(DateSpec::DaysAfterWeekday(day, 7)), at + 2)
            }
            (day, None) => (Day::Weekday(day), at + 1),
        },
    };
    Some((Piece::Day(found.0), found.1))
}

/// Returns whether a short weekday name is likely another word: `the sun`, `i sat`.
fn is_doubtful(words: &Words, at: usize, near: Preceding) -> bool {
    let short = words.is_any(at, &["sun", "sat", "wed", "mon"]);
    let before = at.checked_sub(1).is_some_and(|before| words.is_any(before, &NO_DAY_AFTER));
    short && before && near == Preceding::Words
}
