//! Recurrence rules (RRULE).

use jiff::civil::Weekday;

use super::line::content_lines;
use super::moment::Moment;
use super::time_zones::TimeZones;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecurrenceRule {
    pub(crate) frequency: Frequency,
    /// The number of periods between two recurrences.
    pub(crate) interval: i32,
    pub(crate) end: RuleEnd,
    pub(crate) months: Vec<i8>,
    /// Days of the month; negative ones count from its end.
    pub(crate) month_days: Vec<i8>,
    /// Days of the week: all of them, or the n-th.
    pub(crate) week_days: Vec<(Option<i8>, Weekday)>,
    /// Positions within the dates of a period (BYSETPOS).
    pub(crate) set_positions: Vec<i16>,
    pub(crate) week_start: Weekday,
}

/// The period of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleEnd {
    Never,
    Count(u32),
    /// The last possible time, inclusive.
    Until(Moment),
}

const WEEKDAY_CODES: [(&str, Weekday); 7] = [
    ("MO", Weekday::Monday),
    ("TU", Weekday::Tuesday),
    ("WE", Weekday::Wednesday),
    ("TH", Weekday::Thursday),
    ("FR", Weekday::Friday),
    ("SA", Weekday::Saturday),
    ("SU", Weekday::Sunday),
];

impl RecurrenceRule {
    /// Parses a rule such as `FREQ=WEEKLY;BYDAY=MO,WE`. The error is a short reason.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            end: RuleEnd::Never,
            months: Vec::new(),
            month_days: Vec::new(),
            week_days: Vec::new(),
            set_positions: Vec::new(),
            week_start: Weekday::Monday,
        };
        let mut frequency = None;
        for part in text.trim().split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if name.eq_ignore_ascii_case("FREQ") {
                frequency = Some(parse_frequency(value)?);
            } else {
                rule.set_part(&name.to_ascii_uppercase(), value)?;
            }
        }
        rule.frequency = frequency.ok_or("its rule does not say how often (FREQ)")?;
        if rule.frequency == Frequency::Weekly && rule.week_days.iter().any(|(nth, _)| nth.is_some()) {
            return Err("its rule counts days of the week within a week".to_owned());
        }
        Ok(rule)
    }

    fn set_part(&mut self, name: &str, value: &str) -> Result<(), String> {
        let bad = || {
            let short: String = value.chars().take(40).collect();
            format!("its rule says {name}={short}, which makes no sense")
        };
        match name {
            "INTERVAL" => {
                self.interval = value.parse().ok().filter(|n| (1..=100_000).contains(n)).ok_or_else(bad)?;
            }
            "COUNT" => {
                // A count beyond any calendar means forever.
                let count: u64 = value.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?;
                self.end = RuleEnd::Count(u32::try_from(count).unwrap_or(u32::MAX));
            }
            "UNTIL" => self.end = RuleEnd::Until(parse_until(value).ok_or_else(bad)?),
            "BYMONTH" => self.months = parse_numbers(value, 1..=12).ok_or_else(bad)?,
            "BYMONTHDAY" => self.month_days = parse_signed(value, 31).ok_or_else(bad)?,
            "BYSETPOS" => self.set_positions = parse_signed(value, 366).ok_or_else(bad)?,
            "BYDAY" => {
                let days = value.split(',').map(parse_week_day).collect::<Option<Vec<_>>>();
                self.week_days = days.filter(|days| days.len() <= 400).ok_or_else(bad)?;
            }
            "WKST" => self.week_start = weekday_from_code(value).ok_or_else(bad)?,
            // Extensions do not affect the times.
            name if name.starts_with("X-") => {}
            name => return Err(format!("its rule uses {name}, which i cannot follow")),
        }
        Ok(())
    }
}

fn parse_frequency(value: &str) -> Result<Frequency, String> {
    let known = [
        ("DAILY", Frequency::Daily),
        ("WEEKLY", Frequency::Weekly),
        ("MONTHLY", Frequency::Monthly),
        ("YEARLY", Frequency::Yearly),
    ];
    let found = known.into_iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
    let short: String = value.chars().take(40).collect();
    found.map(|(_, every)| every).ok_or_else(|| format!("it recurs {short}, which i do not follow"))
}

fn parse_until(value: &str) -> Option<Moment> {
    let written = format!("UNTIL:{value}");
    let line = content_lines(written.as_bytes()).next()?;
    Moment::parse(&line, value, &mut TimeZones::empty())
}

fn parse_numbers(value: &str, range: std::ops::RangeInclusive<i8>) -> Option<Vec<i8>> {
    let all = value.split(',').map(|part| part.trim().parse().ok().filter(|n| range.contains(n)));
    all.collect::<Option<Vec<_>>>().filter(|all| all.len() <= 12)
}

/// Parses non-zero numbers between `-max` and `max`.
fn parse_signed<N: TryFrom<i32>>(value: &str, max: i32) -> Option<Vec<N>> {
    let one = |part: &str| {
        let number: i32 = part.trim().parse().ok()?;
        (number != 0 && number.abs() <= max).then(|| N::try_from(number).ok())?
    };
    value.split(',').map(one).collect::<Option<Vec<_>>>().filter(|all| all.len() <= 800)
}

fn parse_week_day(text: &str) -> Option<(Option<i8>, Weekday)> {
    let text = text.trim();
    let at = text.len().checked_sub(2).filter(|at| text.is_char_boundary(*at))?;
    let day = weekday_from_code(&text[at..])?;
    match &text[..at] {
        "" => Some((None, day)),
        nth => nth.parse::<i8>().ok().filter(|nth| *nth != 0 && nth.abs() <= 53).map(|nth| (Some(nth), day)),
    }
}

fn weekday_from_code(text: &str) -> Option<Weekday> {
    WEEKDAY_CODES.iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name)).map(|(_, day)| *day)
}

/// Returns the two-letter code of a weekday.
pub(crate) fn weekday_code(day: Weekday) -> &'static str {
    WEEKDAY_CODES.iter().find(|(_, known)| *known == day).map_or("MO", |(name, _)| name)
}
