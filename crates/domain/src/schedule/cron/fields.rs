//! Parser for the five fields of a cron expression.

use jiff::civil::Date;

use crate::schedule::InvalidField;

/// The values of the five fields as bit sets: value `n` is bit `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fields {
    pub minutes: u64,
    pub hours: u64,
    pub days: u64,
    pub months: u64,
    /// 0 is Sunday.
    pub weekdays: u64,
    pub day_limits: DayLimits,
    pub basis: ClockBasis,
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
pub enum ClockBasis {
    /// Wall-clock time: each matching time fires once.
    Wall,
    /// Elapsed time: fires whenever the clock shows a match.
    Elapsed,
}

impl Fields {
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let Some([minute, hour, day, month, weekday]) = split_five(text) else {
            let reason = format!(
                "{text:?} does not have five fields ({} found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`",
                text.split_whitespace().count()
            );
            return Err(InvalidField::new("cron", reason));
        };
        let runs = |field: &str| field.contains(['*', '/']);
        let fields = Self {
            minutes: MINUTE.parse(minute)?,
            hours: HOUR.parse(hour)?,
            days: DAY.parse(day)?,
            months: MONTH.parse(month)?,
            weekdays: WEEKDAY.parse(weekday)?,
            day_limits: match (day, weekday) {
                ("*", "*") => DayLimits::Neither,
                (_, "*") => DayLimits::OfMonth,
                ("*", _) => DayLimits::OfWeek,
                _ => DayLimits::Either,
            },
            basis: if runs(minute) || runs(hour) { ClockBasis::Elapsed } else { ClockBasis::Wall },
        };
        if fields.never_matches() {
            let reason = format!(
                "day {day:?} of month {month:?} never comes, so `{text}` would never fire; name a day that one of its months has"
            );
            return Err(InvalidField::new("cron", reason));
        }
        Ok(fields)
    }

    pub fn matches_date(&self, date: Date) -> bool {
        let of_month = || contains(self.days, date.day());
        let of_week = || contains(self.weekdays, date.weekday().to_sunday_zero_offset());
        match self.day_limits {
            DayLimits::Neither => true,
            DayLimits::OfMonth => of_month(),
            DayLimits::OfWeek => of_week(),
            DayLimits::Either => of_month() || of_week(),
        }
    }

    fn never_matches(&self) -> bool {
        const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let longest =
            (1..).zip(LONGEST).filter(|(month, _)| contains(self.months, *month)).map(|(_, days)| days);
        self.day_limits == DayLimits::OfMonth && self.days.trailing_zeros() > longest.max().unwrap_or(0)
    }
}

/// Returns whether `bits` contains `value`.
pub fn contains(bits: u64, value: i8) -> bool {
    bits >> value & 1 == 1
}

fn split_five(text: &str) -> Option<[&str; 5]> {
    let mut words = text.split_whitespace();
    let five = [words.next()?, words.next()?, words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(five)
}

struct FieldSpec {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
    wrapping: Wrapping,
}

/// Whether a range may wrap around, as in `sat-mon`.
enum Wrapping {
    Modulo(u32),
    Never,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: FieldSpec =
    FieldSpec { name: "minute", min: 0, max: 59, names: &[], wrapping: Wrapping::Never };
const HOUR: FieldSpec = FieldSpec { name: "hour", min: 0, max: 23, names: &[], wrapping: Wrapping::Never };
const DAY: FieldSpec =
    FieldSpec { name: "day of the month", min: 1, max: 31, names: &[], wrapping: Wrapping::Never };
const MONTH: FieldSpec =
    FieldSpec { name: "month", min: 1, max: 12, names: &MONTHS, wrapping: Wrapping::Never };
const WEEKDAY: FieldSpec =
    FieldSpec { name: "weekday", min: 0, max: 7, names: &WEEKDAYS, wrapping: Wrapping::Modulo(7) };

impl FieldSpec {
    fn parse(&self, field: &str) -> Result<u64, InvalidField> {
        let parts = field.split(',').try_fold(0, |bits, part| Some(bits | self.part(part)?));
        parts.ok_or_else(|| InvalidField::new("cron", self.invalid_reason(field)))
    }

    fn part(&self, part: &str) -> Option<u64> {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match (span, span.split_once('-'), step) {
            ("*", _, _) => (self.min, self.max),
            (_, Some((from, to)), _) => self.range(from, to)?,
            (single, None, None) => (self.value(single)?, self.value(single)?),
            (start, None, Some(_)) => (self.value(start)?, self.max),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        Some((from..=to).step_by(step).fold(0, |bits, value| bits | 1 << self.wrapped(value)))
    }

    fn range(&self, from: &str, to: &str) -> Option<(u32, u32)> {
        let from = self.value(from)?;
        let to = self.value(to)?;
        match &self.wrapping {
            Wrapping::Modulo(length) if to < from => Some((from, to + length)),
            Wrapping::Modulo(_) => Some((from, to)),
            Wrapping::Never => (from <= to).then_some((from, to)),
        }
    }

    fn wrapped(&self, value: u32) -> u32 {
        match self.wrapping {
            Wrapping::Modulo(length) => value % length,
            Wrapping::Never => value,
        }
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(place) => Some(self.min + u32::try_from(place).ok()?),
            None => number(text),
        };
        value.filter(|value| (self.min..=self.max).contains(value))
    }

    fn invalid_reason(&self, field: &str) -> String {
        let Self { name, min: least, max: most, .. } = self;
        format!("{field:?} does not fit the {name}; use {least} to {most}, `*`, `a-b`, `a,b` or `*/n`")
    }
}

/// Parses digits without a sign.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}
