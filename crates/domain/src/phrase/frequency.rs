//! Frequencies: `every weekday`, `daily`, `mon wed fri`, `every 2nd tuesday`, `twice a day`.

use jiff::civil::Weekday;

use super::calendar::{month, weekday, weekdays};
use super::clock::{ClockTime, clock};
use super::date::{self, DateSpec};
use super::day::{Day, Period};
use super::group::{Piece, Preceding};
use super::length::length;
use super::note::ParseNote;
use super::number::{self, ordinal, whole};
use super::words::{Match, Words};

/// A frequency as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frequency {
    Minutes(i64),
    Hours(i64),
    Days(i64),
    /// On these days of every n-th week; on an unspecified day if the list is empty.
    Weeks(i64, Vec<Weekday>),
    Months(i64),
    MonthDays(Vec<i8>),
    MonthEnd,
    /// On the n-th such weekday of every month; -1 is the last.
    Nth(i8, Weekday),
    /// Ambiguous: the n-th weekday of the month or every n weeks (`every 2nd tuesday`).
    NthOrWeeks(i8, Weekday),
    /// Once a year.
    YearDay {
        /// 1 to 12.
        month: i8,
        /// 1 to 31.
        day: i8,
    },
    /// This many times a day.
    Times(i64),
}

/// The maximum length of a list of days.
const MAX_LISTED_DAYS: usize = 14;
const WORKDAYS: [Weekday; 5] =
    [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];
const WEEKEND: [Weekday; 2] = [Weekday::Saturday, Weekday::Sunday];

impl Frequency {
    /// Adds the days of a following frequency: `every 2 weeks on tue and fri`.
    pub fn with_days(&self, days: &Self) -> Option<Self> {
        match (self, days) {
            (Self::Weeks(weeks, none), Self::Weeks(1, days)) if none.is_empty() && !days.is_empty() => {
                Some(Self::Weeks(*weeks, days.clone()))
            }
            (Self::Months(1), Self::Nth(nth, day) | Self::NthOrWeeks(nth, day)) => {
                Some(Self::Nth(*nth, *day))
            }
            (_, _) => None,
        }
    }

    /// Adds a following day: `every 2 weeks on tuesday`. Returns `None` if it does not fit.
    pub fn absorb(&mut self, day: Day) -> Option<()> {
        let both = match (&*self, day) {
            (Self::Weeks(weeks, days), Day::Weekday(day)) if !days.contains(&day) => {
                Self::Weeks(*weeks, [days.clone(), vec![day]].concat())
            }
            (Self::Months(1), Day::OfMonth(day)) => Self::MonthDays(vec![day]),
            (Self::Months(1), Day::End(Period::Month, 0)) => Self::MonthEnd,
            (Self::Months(12), Day::Date(DateSpec::Yearly { month, day })) => Self::YearDay { month, day },
            (_, _) => return None,
        };
        *self = both;
        Some(())
    }
}

/// Parses a frequency.
pub(super) fn frequency(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    if words.is_any(at, &["every", "each"]) {
        return after_every(words, at + 1);
    }
    let one_word = match words.at(at) {
        "daily" | "everyday" => Some(Frequency::Days(1)),
        "hourly" => Some(Frequency::Hours(1)),
        "weekly" => Some(Frequency::Weeks(1, Vec::new())),
        "fortnightly" | "biweekly" => Some(Frequency::Weeks(2, Vec::new())),
        "monthly" => Some(Frequency::Months(1)),
        "yearly" | "annually" => Some(Frequency::Months(12)),
        "weekdays" | "workdays" => Some(Frequency::Weeks(1, WORKDAYS.to_vec())),
        "weekends" => Some(Frequency::Weeks(1, WEEKEND.to_vec())),
        _ => None,
    };
    one_word
        .map(|every| (Piece::Frequency(every), at + 1))
        .or_else(|| times_a_day(words, at))
        .or_else(|| nth_of_each_month(words, at))
        .or_else(|| weekday_list(words, at, near))
        .or_else(|| {
            nth(words, words.skip(words.skip(at, &["on"]), &["the"])).filter(|_| near == Preceding::Time)
        })
}

fn after_every(words: &Words, at: usize) -> Match<Piece> {
    counted(words, at)
        .or_else(|| nth_day_of_month(words, at))
        .or_else(|| nth(words, at))
        .or_else(|| unit(words, at, 1))
        .or_else(|| yearly(words, at))
        .or_else(|| {
            parse_weekdays(words, at).map(|(days, next)| (Piece::Frequency(Frequency::Weeks(1, days)), next))
        })
}

/// `3 days`, `30min`, `other week`, `2nd day`.
fn counted(words: &Words, at: usize) -> Match<Piece> {
    let other = words.at(at) == "other";
    if let Some(nth) = ordinal(words.at(at)).or(other.then_some(2)) {
        let days = || Some((Piece::Frequency(Frequency::Weeks(2, vec![weekday(words.at(at + 1))?])), at + 2));
        return unit(words, at + 1, nth).or_else(|| if other { days() } else { None });
    }
    let (length, next) = length(words, at)?;
    let every = match (length.months, length.days, length.seconds) {
        (0, 0, seconds) if seconds > 0 && seconds % 3600 == 0 => Frequency::Hours(seconds / 3600),
        (0, 0, seconds) if seconds > 0 && seconds % 60 == 0 => Frequency::Minutes(seconds / 60),
        (0, days, 0) if days > 0 && days % 7 == 0 => Frequency::Weeks(days / 7, Vec::new()),
        (0, days, 0) if days > 0 => Frequency::Days(days),
        (months, 0, 0) if months > 0 => Frequency::Months(months),
        (_, _, _) => {
            let sentence = "i cannot repeat in such steps; say whole minutes, hours, days, weeks or months";
            return Some((Piece::Invalid(ParseNote::Invalid(sentence.to_owned())), next));
        }
    };
    Some((Piece::Frequency(every), next))
}

/// `day`, `weekday`, `weekend`, `month`; a part of the day is not consumed, [`clock`] parses it.
fn unit(words: &Words, at: usize, many: i64) -> Match<Piece> {
    let every = match words.at(at) {
        "minute" | "min" => Frequency::Minutes(many),
        "hour" => Frequency::Hours(many),
        "day" => Frequency::Days(many),
        "week" => Frequency::Weeks(many, Vec::new()),
        "month" => Frequency::Months(many),
        "year" => Frequency::Months(many.checked_mul(12)?),
        "weekday" | "workday" if many == 1 => Frequency::Weeks(1, WORKDAYS.to_vec()),
        "weekend" if many == 1 => Frequency::Weeks(1, WEEKEND.to_vec()),
        "morning" | "afternoon" | "evening" | "night" | "noon" if many == 1 => {
            return Some((Piece::Frequency(Frequency::Days(1)), at));
        }
        _ => return None,
    };
    Some((Piece::Frequency(every), at + 1))
}

/// `1st`, `1st and 15th`, `1st of the month`, `last day of the month`.
fn nth_day_of_month(words: &Words, at: usize) -> Match<Piece> {
    for end in
        [&["end", "of", "month"][..], &["end", "of", "the", "month"], &["last", "day", "of", "the", "month"]]
    {
        if let Some(next) = words.after_sequence(at, end) {
            return Some((Piece::Frequency(Frequency::MonthEnd), next));
        }
    }
    let mut days = Vec::new();
    let mut next = at;
    while let Some(day) = ordinal(words.at(next)).and_then(|day| i8::try_from(day).ok()) {
        let taken =
            weekday(words.at(next + 1)).is_some() || month(words.at(words.skip(next + 1, &["of"]))).is_some();
        if taken || !(1..=31).contains(&day) {
            return None;
        }
        days.push(day);
        next = words.skip(words.skip(next + 1, &[","]), &["and"]);
    }
    days.sort_unstable();
    days.dedup();
    let end = if days.is_empty() || words.is_any(next - 1, &[",", "and"]) { next.max(1) - 1 } else { next };
    let end = end_of_month_words(words, end).unwrap_or(end);
    (!days.is_empty()).then_some((Piece::Frequency(Frequency::MonthDays(days)), end))
}

fn end_of_month_words(words: &Words, at: usize) -> Option<usize> {
    let of = words.skip(words.after_sequence(at, &["of"])?, &["the", "each", "every"]);
    words.after_sequence(of, &["month"])
}

/// `2nd tuesday`, `first monday of the month`, `last friday`.
fn nth(words: &Words, at: usize) -> Match<Piece> {
    let nth = match words.at(at) {
        "last" => -1,
        other => ordinal(other).and_then(|nth| i8::try_from(nth).ok()).filter(|nth| (1..=5).contains(nth))?,
    };
    let day = weekday(words.at(at + 1))?;
    match (end_of_month_words(words, at + 2), nth) {
        (Some(next), _) => Some((Piece::Frequency(Frequency::Nth(nth, day)), next)),
        (None, -1 | 1) => Some((Piece::Frequency(Frequency::Nth(nth, day)), at + 2)),
        (None, _) => Some((Piece::Frequency(Frequency::NthOrWeeks(nth, day)), at + 2)),
    }
}

/// `first monday of every month`.
fn nth_of_each_month(words: &Words, at: usize) -> Match<Piece> {
    let start = words.skip(at, &["the"]);
    let of = words.after_sequence(start + 2, &["of"])?;
    words.is_any(of, &["every", "each"]).then_some(())?;
    if words.after_sequence(start, &["last", "day"]).is_some() {
        return Some((Piece::Frequency(Frequency::MonthEnd), words.after_sequence(of + 1, &["month"])?));
    }
    nth(words, start)
}

/// `24 dec`, `dec 24`.
fn yearly(words: &Words, at: usize) -> Match<Piece> {
    match date::date(words, at)? {
        (Piece::Day(Day::Date(DateSpec::Yearly { month, day })), next) => {
            Some((Piece::Frequency(Frequency::YearDay { month, day }), next))
        }
        (wrong @ Piece::Invalid(_), next) => Some((wrong, next)),
        (_, _) => None,
    }
}

/// `twice a day`, `3 times a day`, `once a week`.
fn times_a_day(words: &Words, at: usize) -> Match<Piece> {
    let (times, next) = match words.at(at) {
        "once" => (1, at + 1),
        "twice" => (2, at + 1),
        _ => {
            let (times, next) = whole(words, at)?;
            (times, words.after_sequence(next, &["times"])?)
        }
    };
    let period = words.is_any(next, &["a", "per", "each", "every"]).then(|| words.at(next + 1))?;
    let every = match (times, period) {
        (1, _) => return unit(words, next + 1, 1),
        (_, "day") => Frequency::Times(times),
        (_, "week" | "month" | "year") => {
            let sentence = format!(
                "i cannot choose the days for you; say which, like `mon and thu` instead of {times} times a {period}"
            );
            return Some((Piece::Invalid(ParseNote::Invalid(sentence)), next + 2));
        }
        (_, _) => return None,
    };
    Some((Piece::Frequency(every), next + 2))
}

/// Two or more weekdays, or one in the plural.
fn weekday_list(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    let (days, next) = parse_weekdays(words, at)?;
    let plural = weekdays(words.at(at)).is_some();
    let guarded = near == Preceding::Words
        && at.checked_sub(1).is_some_and(|before| words.is_any(before, &["the", "i", "we"]));
    (plural || (days.len() > 1 && !guarded)).then_some((Piece::Frequency(Frequency::Weeks(1, days)), next))
}

/// `mon wed fri`, `mon, wed and fri`, `tue/thu`, `mon-fri`, `mon to fri`.
fn parse_weekdays(words: &Words, at: usize) -> Match<Vec<Weekday>> {
    let mut days = Vec::new();
    let mut next = at;
    let mut end = at;
    while let Some((mut more, after)) = weekday_or_range(words, next).filter(|_| days.len() < MAX_LISTED_DAYS)
    {
        days.append(&mut more);
        end = after;
        next = words.skip(words.skip(after, &[","]), &["and", "&", "+"]);
    }
    days.sort_by_key(|day| day.to_monday_zero_offset());
    days.dedup();
    (!days.is_empty()).then_some((days, end))
}

fn weekday_or_range(words: &Words, at: usize) -> Match<Vec<Weekday>> {
    let text = words.at(at);
    let one = |text: &str| weekday(text).or_else(|| weekdays(text));
    if let Some((from, to)) = text.split_once('-') {
        return Some((range(one(from)?, one(to)?), at + 1));
    }
    if text.contains('/') {
        return text.split('/').map(one).collect::<Option<Vec<_>>>().map(|days| (days, at + 1));
    }
    let from = one(text)?;
    let to = words.is_any(at + 1, &["to", "-", "through", "thru"]).then(|| one(words.at(at + 2))).flatten();
    match to {
        Some(to) => Some((range(from, to), at + 3)),
        None => Some((vec![from], at + 1)),
    }
}

fn range(from: Weekday, to: Weekday) -> Vec<Weekday> {
    let many = usize::try_from(from.until(to)).unwrap_or(0);
    from.cycle_forward().take(many + 1).collect()
}

/// `10-16`, `9:00-17:00`, `from 9 to 17`, `between 9 and 17`.
pub(super) fn window(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    if let Some((from, to)) = words.at(at).split_once('-') {
        let halves = to.ends_with("am") || to.ends_with("pm");
        let sure = halves || (from.matches(':').count() == 1 && to.contains(':'));
        let from = if halves && number::digits(from).is_some() {
            format!("{from}{}", &to[to.len() - 2..])
        } else {
            from.to_owned()
        };
        return match (between(&from, to)?, near) {
            (window, Preceding::Time) if !from.contains(':') || sure => Some((window, at + 1)),
            // Without a preceding time phrase it only says when something begins.
            (Piece::Window(from, _), Preceding::Words) if sure => Some((Piece::Clock(from), at + 1)),
            (_, _) => None,
        };
    }
    let marked = words.is_any(at, &["from", "between"]);
    let start = words.skip(at, &["from", "between"]);
    let apart = if marked {
        words.is_any(start + 1, &["-", "to", "and", "until", "till"])
    } else {
        near == Preceding::Time && words.is_any(start + 1, &["-", "to"])
    };
    let date = month(words.at(start + 3)).is_some();
    (apart && !date).then(|| Some((between(words.at(start), words.at(start + 2))?, start + 3)))?
}

fn between(from: &str, to: &str) -> Option<Piece> {
    let one = |text: &str| match clock(&Words::of(&format!("at {text}")), 0, Preceding::Words)? {
        (Piece::Clock(clock @ (ClockTime::Exact(_) | ClockTime::Bare(_))), 2) => Some(clock),
        (_, _) => None,
    };
    Some(Piece::Window(one(from)?, one(to)?))
}
