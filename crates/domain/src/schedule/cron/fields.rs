//! Parser for the five fields of a cron expression.

use jiff::civil::Date;

use crate::schedule::Invalid;

/// The values of the five fields as bit sets: value `n` is bit `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fields {
    pub minutes: u64,
    pub hours: u64,
    pub days: u64,
    pub months: u64,
    /// 0 is Sunday.
    pub weekdays: u64,
    pub limits: DayLimits,
    pub follows: Follows,
}

/// Which of the two day fields limit the date. A field with `*` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DayLimits {
    /// Every day.
    Neither,
    OfMonth,
    OfWeek,
    /// A day that matches either field.
    Either,
}

/// How an expression behaves at clock changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Follows {
    /// Wall-clock time: each matching time fires once.
    Wall,
    /// Elapsed time: fires whenever the clock shows a match.
    Real,
}

impl Fields {
    pub fn read(text: &str) -> Result<Self, Invalid> {
        let Some([minute, hour, day, month, weekday]) = five(text) else {
            let reason = format!(
                "{text:?} does not have five fields ({} found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`",
                text.split_whitespace().count()
            );
            return Err(Invalid::new("cron", reason));
        };
        let runs = |field: &str| field.contains(['*', '/']);
        let fields = Self {
            minutes: MINUTE.read(minute)?,
            hours: HOUR.read(hour)?,
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            weekdays: WEEKDAY.read(weekday)?,
            limits: match (day, weekday) {
                ("*", "*") => DayLimits::Neither,
                (_, "*") => DayLimits::OfMonth,
                ("*", _) => DayLimits::OfWeek,
                _ => DayLimits::Either,
            },
            follows: if runs(minute) || runs(hour) { Follows::Real } else { Follows::Wall },
        };
        if fields.never_comes() {
            let reason = format!(
                "day {day:?} of month {month:?} never comes, so `{text}` would never fire; name a day that one of its months has"
            );
            return Err(Invalid::new("cron", reason));
        }
        Ok(fields)
    }

    pub fn falls_on(&self, date: Date) -> bool {
        let of_month = || has(self.days, date.day());
        let of_week = || has(self.weekdays, date.weekday().to_sunday_zero_offset());
        match self.limits {
            DayLimits::Neither => true,
            DayLimits::OfMonth => of_month(),
            DayLimits::OfWeek => of_week(),
            DayLimits::Either => of_month() || of_week(),
        }
    }

    fn never_comes(&self) -> bool {
        const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let longest = (1..).zip(LONGEST).filter(|(month, _)| has(self.months, *month)).map(|(_, days)| days);
        self.limits == DayLimits::OfMonth && self.days.trailing_zeros() > longest.max().unwrap_or(0)
    }
}

/// Returns whether `bits` contains `value`.
pub fn has(bits: u64, value: i8) -> bool {
    bits >> value & 1 == 1
}

fn five(text: &str) -> Option<[&str; 5]> {
    let mut words = text.split_whitespace();
    let five = [words.next()?, words.next()?, words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(five)
}

struct Unit {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
    turns: Turns,
}

/// Whether a range may wrap around, as in `sat-mon`.
enum Turns {
    Round(u32),
    Never,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: Unit = Unit { name: "minute", least: 0, most: 59, names: &[], turns: Turns::Never };
const HOUR: Unit = Unit { name: "hour", least: 0, most: 23, names: &[], turns: Turns::Never };
const DAY: Unit = Unit { name: "day of the month", least: 1, most: 31, names: &[], turns: Turns::Never };
const MONTH: Unit = Unit { name: "month", least: 1, most: 12, names: &MONTHS, turns: Turns::Never };
const WEEKDAY: Unit = Unit { name: "weekday", least: 0, most: 7, names: &WEEKDAYS, turns: Turns::Round(7) };

impl Unit {
    fn read(&self, field: &str) -> Result<u64, Invalid> {
        let parts = field.split(',').try_fold(0, |bits, part| Some(bits | self.part(part)?));
        parts.ok_or_else(|| Invalid::new("cron", self.wrong(field)))
    }

    fn part(&self, part: &str) -> Option<u64> {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match (span, span.split_once('-'), step) {
            ("*", _, _) => (self.least, self.most),
            (_, Some((from, to)), _) => self.range(from, to)?,
            (single, None, None) => (self.value(single)?, self.value(single)?),
            (start, None, Some(_)) => (self.value(start)?, self.most),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        Some((from..=to).step_by(step).fold(0, |bits, value| bits | 1 << self.turned(value)))
    }

    fn range(&self, from: &str, to: &str) -> Option<(u32, u32)> {
        let from = self.value(from)?;
        let to = self.value(to)?;
        match &self.turns {
            Turns::Round(length) if to < from => Some((from, to + length)),
            Turns::Round(_) => Some((from, to)),
            Turns::Never => (from <= to).then_some((from, to)),
        }
    }

    fn turned(&self, value: u32) -> u32 {
        match self.turns {
            Turns::Round(length) => value % length,
            Turns::Never => value,
        }
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(place) => Some(self.least + u32::try_from(place).ok()?),
            None => number(text),
        };
        value.filter(|value| (self.least..=self.most).contains(value))
    }

    fn wrong(&self, field: &str) -> String {
        let Self { name, least, most, .. } = self;
        format!("{field:?} does not fit the {name}; use {least} to {most}, `*`, `a-b`, `a,b` or `*/n`")
    }
}

/// Parses digits without a sign.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}
