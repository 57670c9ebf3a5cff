//! Compares cron times with a scan of the calendar: every minute of three years is checked against
//! the five fields.
//!
//! It shares no code with the program; fields and days are evaluated in the simplest way.

use std::collections::BTreeSet;

use domain::schedule::Cron;
use jiff::civil::{Date, DateTime, date};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

/// Zones, each with the first of three years with a clock change: full and half hours of summer
/// time, a quarter of an hour, a skipped day, Ramadan, midnight, and the end of summer time.
pub const ZONES: [(&str, i16); 8] = [
    ("America/New_York", 2025),
    ("Europe/Berlin", 2025),
    ("Australia/Lord_Howe", 2025),
    ("Asia/Kathmandu", 1985),
    ("Pacific/Apia", 2010),
    ("Africa/Casablanca", 2024),
    ("America/Sao_Paulo", 2017),
    ("Asia/Tehran", 2021),
];

const PATTERNS: [&str; 40] = [
    "0 9 * * *",
    "30 2 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "15 1 * * *",
    "59 23 * * *",
    "5 2 * * 0",
    "45 1 * * 1-5",
    "0 0 1 * *",
    "30 2 29 2 *",
    "0 12 31 * *",
    "0 0,12 * * *",
    "0,30 1-3 * * *",
    "10,40 0,2,22 * * 6,7",
    "0 9 13 * 5",
    "0 0 30 12 *",
    "0 6 30 12 5",
    "30 23 */10 * *",
    "0 1 1-7 * 0",
    "20 2 15 3,10,nov *",
    "0 3 * jan-mar fri-mon",
    "10 0 22 3 *",
    "1 0 21-22 3,9 *",
    "0 10-16 * * 1-5",
    "50 5 1,15 */2 *",
    "7 7 7 7 7",
    "* * * * *",
    "*/30 * * * *",
    "*/7 * * * *",
    "0 * * * *",
    "15 * * * *",
    "45 */2 * * *",
    "*/15 2 * * *",
    "* 1 * * 0",
    "0 */6 * * 1-5/2",
    "5/10 0-3 * * *",
    "30 1/3 * * *",
    "0-59/20 23 31 * *",
    "*/10 * 13 * 5",
    "0 2-4/1 * 3,4,10 *",
];

/// Expressions with more times per day are only compared around clock changes.
const MAX_FULL_SCAN_PER_DAY: usize = 6;

/// SC-8, SC-9, SC-11, C1: Eight zones, forty expressions and three years have exactly the same
/// times.
#[test]
fn cron_times_match_a_calendar_scan() {
    let mut compared = 0;
    for (name, year) in ZONES {
        let zone = TimeZone::get(name).unwrap();
        let span = Span { from: midnight(date(year, 1, 1)), to: midnight(date(year + 3, 1, 1)) };
        let calendar = Calendar::scan(&zone, span);
        for text in PATTERNS {
            let plain = NaiveCron::parse(text);
            let cron = Cron::parse(text).unwrap();
            let spans = if plain.times_per_day() > MAX_FULL_SCAN_PER_DAY {
                calendar.around_changes()
            } else {
                vec![span]
            };
            for span in spans {
                let expected = plain.fires(&calendar, &zone, span);
                assert_same(&cron, &zone, span, &expected, &format!("{text} in {name}"));
                compared += expected.len();
            }
        }
    }
    assert!(compared > 400_000, "only {compared} fires were compared");
}

fn assert_same(cron: &Cron, zone: &TimeZone, span: Span, expected: &[Timestamp], what: &str) {
    let mut after = span.from - SignedDuration::from_nanos(1);
    for (index, fire) in expected.iter().enumerate() {
        let next = cron.next(after, zone);
        assert_eq!(next, Some(*fire), "{what}: after {}", after.to_zoned(zone.clone()));
        if index % 64 == 0 {
            let newest = cron.last(*fire - SignedDuration::from_nanos(1), span.from, zone);
            assert_eq!(newest, index.checked_sub(1).map(|before| expected[before]), "{what}: before {fire}");
        }
        after = *fire;
    }
    let beyond = cron.next(after, zone);
    assert!(beyond.is_none_or(|fire| fire > span.to), "{what}: {beyond:?} is one too many");
}

fn midnight(date: Date) -> Timestamp {
    date.at(0, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

#[derive(Clone, Copy)]
struct Span {
    from: Timestamp,
    to: Timestamp,
}

/// The local time of a zone at every quarter of an hour. Clocks do not change within a quarter.
struct Calendar {
    quarters: Vec<(Timestamp, DateTime)>,
}

const QUARTER: SignedDuration = SignedDuration::from_mins(15);

impl Calendar {
    fn scan(zone: &TimeZone, span: Span) -> Self {
        let mut quarters = Vec::new();
        let mut at = span.from;
        while at <= span.to {
            let shown = zone.to_datetime(at);
            let at_its_end = zone.to_offset(at + SignedDuration::from_secs(899));
            assert_eq!(zone.to_offset(at), at_its_end, "the clocks change within a quarter: {at}");
            quarters.push((at, shown));
            at += QUARTER;
        }
        Self { quarters }
    }

    /// Returns three days around every clock change, and the first three days.
    fn around_changes(&self) -> Vec<Span> {
        let jumps = |pair: &&[(Timestamp, DateTime)]| pair[1].1.duration_since(pair[0].1) != QUARTER;
        let changes = self.quarters.windows(2).filter(jumps).map(|pair| pair[1].0);
        let half = SignedDuration::from_hours(36);
        let first = self.quarters[0].0;
        let last = self.quarters[self.quarters.len() - 1].0;
        std::iter::once(first + half)
            .chain(changes)
            .map(|change| Span { from: (change - half).max(first), to: (change + half).min(last) })
            .collect()
    }
}

/// Five fields, each as a list of its values.
struct NaiveCron {
    fields: [&'static str; 5],
    minutes: Vec<bool>,
    hours: Vec<bool>,
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
}

impl NaiveCron {
    fn parse(text: &'static str) -> Self {
        let fields: Vec<&str> = text.split(' ').collect();
        let fields: [&str; 5] = fields.try_into().unwrap();
        let list = |field: usize, least: usize, most: usize| field_values(fields[field], least, most);
        let mut weekdays = list(4, 0, 7);
        weekdays[0] |= weekdays[7];
        let minutes = list(0, 0, 59);
        let hours = list(1, 0, 23);
        Self { fields, minutes, hours, days: list(2, 1, 31), months: list(3, 1, 12), weekdays }
    }

    fn times_per_day(&self) -> usize {
        let named = |list: &[bool]| list.iter().filter(|named| **named).count();
        named(&self.minutes) * named(&self.hours)
    }

    fn includes_day(&self, date: Date) -> bool {
        let day = self.days[date.day() as usize];
        let weekday = self.weekdays[date.weekday().to_sunday_zero_offset() as usize];
        let fits = match (self.fields[2], self.fields[4]) {
            (_, "*") => day,
            ("*", _) => weekday,
            (_, _) => day || weekday,
        };
        self.months[date.month() as usize] && fits
    }

    fn fires(&self, calendar: &Calendar, zone: &TimeZone, span: Span) -> Vec<Timestamp> {
        let running = self.fields[..2].iter().any(|field| field.contains('*') || field.contains('/'));
        let fires = if running { self.real_minutes(calendar, span) } else { self.local_times(zone, span) };
        fires.range(span.from..=span.to).copied().collect()
    }

    /// Returns every real minute whose local time matches.
    fn real_minutes(&self, calendar: &Calendar, span: Span) -> BTreeSet<Timestamp> {
        let mut fires = BTreeSet::new();
        let within = |(at, _): &&(Timestamp, DateTime)| (span.from..=span.to).contains(at);
        for (at, shown) in calendar.quarters.iter().filter(within) {
            if !self.hours[shown.hour() as usize] || !self.includes_day(shown.date()) {
                continue;
            }
            for minute in (0..15).filter(|minute| self.minutes[shown.minute() as usize + minute]) {
                fires.insert(*at + SignedDuration::from_mins(minute as i64));
            }
        }
        fires
    }

    /// Returns every matching local time, at the first instant that shows it or comes after it.
    fn local_times(&self, zone: &TimeZone, span: Span) -> BTreeSet<Timestamp> {
        let mut fires = BTreeSet::new();
        let mut day = zone.to_datetime(span.from).date().saturating_sub(2.days());
        while midnight(day) <= span.to + SignedDuration::from_hours(48) {
            if self.includes_day(day) {
                for hour in (0..24).filter(|hour| self.hours[*hour]) {
                    for minute in (0..60).filter(|minute| self.minutes[*minute]) {
                        fires.insert(first_instant(day.at(hour as i8, minute as i8, 0, 0), zone));
                    }
                }
            }
            day = day.tomorrow().unwrap();
        }
        fires
    }
}

/// Returns the first instant that shows `wall`; skipped minutes are passed over.
fn first_instant(mut wall: DateTime, zone: &TimeZone) -> Timestamp {
    loop {
        match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => return offset.to_timestamp(wall).unwrap(),
            AmbiguousOffset::Fold { before, .. } => return before.to_timestamp(wall).unwrap(),
            AmbiguousOffset::Gap { .. } => wall = wall.saturating_add(1.minute()),
        }
    }
}

/// Returns the values of a field as a list of flags.
fn field_values(field: &str, least: usize, most: usize) -> Vec<bool> {
    let mut list = vec![false; most + 1];
    for part in field.split(',') {
        let (span, step) = part.split_once('/').unwrap_or((part, ""));
        let (from, to) = match span.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None if span == "*" => (least, most),
            None if step.is_empty() => (number(span), number(span)),
            None => (number(span), most),
        };
        let mut value = from;
        let mut count = 0;
        loop {
            if count % step.parse().unwrap_or(1) == 0 {
                list[value] = true;
            }
            if value == to {
                break;
            }
            value = if value == 6 && from > to { 0 } else { value + 1 };
            count += 1;
        }
    }
    list
}

fn number(text: &str) -> usize {
    let names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let months = ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let place = |list: &[&str]| list.iter().position(|name| *name == text);
    place(&names).or_else(|| place(&months)).unwrap_or_else(|| text.parse().unwrap())
}
