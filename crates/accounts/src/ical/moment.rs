//! Dates, times and durations of a calendar.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::line::ContentLine;
use super::time_zones::TimeZones;

/// A date or time in one of the forms of iCalendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Day(Date),
    /// A local time in a zone.
    InZone(DateTime, TimeZone),
    /// A local time in the zone of the reader.
    Floating(DateTime),
}

/// A duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Days(i64),
    /// An exact duration, independent of clock changes.
    Exact(SignedDuration),
    /// Calendar days, followed by an exact duration.
    Nominal(i64, SignedDuration),
}

impl Moment {
    /// Parses one value of `line`, which is the whole value or an element of a list.
    pub(crate) fn parse(line: &ContentLine<'_>, value: &str, zones: &mut TimeZones<'_>) -> Option<Self> {
        let value = value.trim();
        let (day, clock) =
            value.split_once(['T', 't']).map_or((value, None), |(day, clock)| (day, Some(clock)));
        let day = parse_date(day)?;
        let Some(clock) = clock else { return Some(Self::Day(day)) };
        let (clock, utc) = clock.strip_suffix(['Z', 'z']).map_or((clock, false), |clock| (clock, true));
        let time = day.to_datetime(parse_time(clock)?);
        Some(match (utc, line.parameter("TZID")) {
            (true, _) => Self::InZone(time, TimeZone::UTC),
            (false, Some(name)) => Self::InZone(time, zones.get(name)),
            (false, None) => Self::Floating(time),
        })
    }

    /// Converts to a zoned time. A day starts at midnight, and a skipped local time becomes a later
    /// one.
    pub(crate) fn to_zoned(&self, home: &TimeZone) -> Option<Zoned> {
        let (time, zone) = match self {
            Self::Day(day) => (day.to_datetime(Time::midnight()), home),
            Self::InZone(time, zone) => (*time, zone),
            Self::Floating(time) => (*time, home),
        };
        zone.to_ambiguous_zoned(time).compatible().ok()
    }

    /// Converts to a timestamp.
    pub(crate) fn to_timestamp(&self, home: &TimeZone) -> Option<Timestamp> {
        let (time, zone) = match self {
            Self::Day(day) => (day.to_datetime(Time::midnight()), home),
            Self::InZone(time, zone) => (*time, zone),
            Self::Floating(time) => (*time, home),
        };
        zone.to_ambiguous_timestamp(time).compatible().ok()
    }

    /// Returns the local time.
    pub(crate) fn civil(&self) -> DateTime {
        match self {
            Self::Day(day) => day.to_datetime(Time::midnight()),
            Self::InZone(time, _) | Self::Floating(time) => *time,
        }
    }

    /// Returns the same form with another local time.
    pub(crate) fn with_civil(&self, to: DateTime) -> Self {
        match self {
            Self::Day(_) => Self::Day(to.date()),
            Self::InZone(_, zone) => Self::InZone(to, zone.clone()),
            Self::Floating(_) => Self::Floating(to),
        }
    }

    /// Returns the time that is `length` later.
    pub(crate) fn plus(&self, length: Length, home: &TimeZone) -> Option<Zoned> {
        let start = self.to_zoned(home)?;
        match length {
            Length::Exact(exact) => start.checked_add(exact).ok(),
            Length::Days(days) => start.checked_add(days.days()).ok(),
            Length::Nominal(days, exact) => start.checked_add(days.days()).ok()?.checked_add(exact).ok(),
        }
    }
}

impl Length {
    /// Parses a duration such as `PT1H30M` or `P1D`.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        let value = value.trim().to_ascii_uppercase();
        let (days, clock) = value
            .strip_prefix('+')
            .unwrap_or(&value)
            .strip_prefix('P')?
            .split_once('T')
            .map_or_else(|| (value.trim_start_matches(['+', 'P']), ""), |(days, clock)| (days, clock));
        let mut whole = 0_i64;
        let mut exact = 0_i64;
        for (number, unit) in parse_units(days)? {
            whole = whole.checked_add(number.checked_mul(if unit == 'W' { 7 } else { 1 })?)?;
            ['W', 'D'].contains(&unit).then_some(())?;
        }
        for (number, unit) in parse_units(clock)? {
            let seconds = [('H', 3600), ('M', 60), ('S', 1)].into_iter().find(|(name, _)| *name == unit)?.1;
            exact = exact.checked_add(number.checked_mul(seconds)?)?;
        }
        let bounded = whole <= MAX_DAYS && exact <= MAX_DAYS * 86_400;
        bounded.then_some(match (whole, exact) {
            (0, exact) => Self::Exact(SignedDuration::from_secs(exact)),
            (days, exact) => Self::Nominal(days, SignedDuration::from_secs(exact)),
        })
    }
}

/// The maximum length of an event in days.
const MAX_DAYS: i64 = 36_600;

/// Parses numbers with their unit letters.
fn parse_units(mut text: &str) -> Option<Vec<(i64, char)>> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let at = text.find(|c: char| !c.is_ascii_digit())?;
        let unit = text[at..].chars().next()?;
        parts.push((text[..at].parse().ok()?, unit));
        text = &text[at + unit.len_utf8()..];
    }
    Some(parts)
}

/// Parses a date such as `20261120`.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?).ok()
}

/// Parses a time such as `093000`. A leap second becomes second 59.
fn parse_time(text: &str) -> Option<Time> {
    if text.len() != 6 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let second: i8 = text[4..].parse().ok()?;
    let second = if second == 60 { 59 } else { second };
    Time::new(text[..2].parse().ok()?, text[2..4].parse().ok()?, second, 0).ok()
}

/// Formats a local time as `20261120T093000`.
pub(crate) fn format_local(time: DateTime) -> String {
    time.strftime("%Y%m%dT%H%M%S").to_string()
}

/// Formats a timestamp as `20261120T083000Z`.
pub(crate) fn format_utc(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}
