//! Resolves the time zone names of a calendar: IANA names, or zones defined in the file.

use std::collections::HashMap;
use std::ops::Range;

use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};

use super::entry::own_lines;
use super::line::content_lines;
use super::moment::Moment;
use super::rule::{Frequency, RecurrenceRule, RuleEnd};

#[derive(Debug)]
pub(crate) struct TimeZones<'a> {
    bytes: &'a [u8],
    /// The positions of its VTIMEZONE components.
    defined: Vec<Range<usize>>,
    user_zone: TimeZone,
    cache: HashMap<String, TimeZone>,
}

impl<'a> TimeZones<'a> {
    /// Creates the zones of a calendar, with its definitions in `bytes` and the user's time zone.
    pub(crate) fn new(bytes: &'a [u8], explained: Vec<Range<usize>>, home: TimeZone) -> Self {
        Self { bytes, defined: explained, user_zone: home, cache: HashMap::new() }
    }

    /// No definitions, with UTC as the user's zone.
    pub(crate) fn empty() -> Self {
        Self::new(b"", Vec::new(), TimeZone::UTC)
    }

    /// The user's time zone.
    pub(crate) fn user_zone(&self) -> &TimeZone {
        &self.user_zone
    }

    /// Returns the zone `name`: an IANA zone, one defined in the calendar, or else the user's.
    pub(crate) fn get(&mut self, name: &str) -> TimeZone {
        if let Some(zone) = self.cache.get(name) {
            return zone.clone();
        }
        let zone = iana_zone(name).or_else(|| self.defined(name)).unwrap_or_else(|| self.user_zone.clone());
        self.cache.insert(name.to_owned(), zone.clone());
        zone
    }

    fn defined(&self, name: &str) -> Option<TimeZone> {
        let part =
            self.defined.iter().map(|at| &self.bytes[at.clone()]).find(|part| {
                own_lines(part).any(|line| line.has_name("TZID") && line.value().trim() == name)
            })?;
        let place = own_lines(part).find(|line| line.has_name("X-LIC-LOCATION"));
        place.and_then(|line| iana_zone(line.value().trim())).or_else(|| parse_definition(part))
    }
}

/// Looks up an IANA zone, also behind a vendor's path prefix.
fn iana_zone(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    let starts = name.rmatch_indices('/').map(|(at, _)| at + 1).take(3);
    let ends: Vec<_> = starts.filter(|at| *at < name.len()).map(|at| &name[at..]).collect();
    let plain = std::iter::once(name).filter(|name| !name.is_empty() && name.len() <= 100);
    plain
        .chain(ends.into_iter().rev().filter(|end| end.contains('/')))
        .find_map(|name| TimeZone::get(name).ok())
}

/// One STANDARD or DAYLIGHT component.
struct Observance {
    from: DateTime,
    offset: Offset,
    rule: Option<RecurrenceRule>,
}

/// Parses a VTIMEZONE component. Its newest observances count.
fn parse_definition(part: &[u8]) -> Option<TimeZone> {
    let (mut standard, mut daylight): (Option<Observance>, Option<Observance>) = (None, None);
    for (at, line) in content_lines(part).enumerate().filter(|(_, line)| line.has_name("BEGIN")) {
        let newest = match line.value().trim().to_ascii_uppercase().as_str() {
            "STANDARD" => &mut standard,
            "DAYLIGHT" => &mut daylight,
            _ => continue,
        };
        // Bounds the work for definitions with very many observances.
        let inner = line.range.start;
        let found = (at < 10_000).then(|| parse_observance(&part[inner..]))??;
        if newest.as_ref().is_none_or(|newest| newest.from <= found.from) {
            *newest = Some(found);
        }
    }
    let (standard, daylight) = match (standard, daylight) {
        (Some(standard), Some(daylight)) => (standard, daylight),
        (Some(one), None) | (None, Some(one)) => return Some(TimeZone::fixed(one.offset)),
        (None, None) => return None,
    };
    let both = [posix_rule(&daylight), posix_rule(&standard)].into_iter().collect::<Option<Vec<_>>>();
    let posix = both.and_then(|both| {
        let winter = format_posix_offset(standard.offset);
        let summer = format_posix_offset(daylight.offset);
        TimeZone::posix(&format!("AAA{winter}BBB{summer},{},{}", both[0], both[1])).ok()
    });
    Some(posix.unwrap_or_else(|| TimeZone::fixed(standard.offset)))
}

fn parse_observance(part: &[u8]) -> Option<Observance> {
    let mut from = None;
    let mut offset = None;
    let mut rule = None;
    for line in own_lines(part).take(100).take_while(|line| !line.has_name("END")) {
        if line.has_name("DTSTART") {
            from =
                from.or_else(|| Some(Moment::parse(&line, line.value(), &mut TimeZones::empty())?.civil()));
        } else if line.has_name("TZOFFSETTO") {
            offset = offset.or_else(|| self::parse_offset(line.value()));
        } else if line.has_name("RRULE") {
            rule = rule.or_else(|| RecurrenceRule::parse(line.value()).ok());
        }
    }
    Some(Observance { from: from?, offset: offset?, rule })
}

/// Parses an offset such as `+0100`, optionally with seconds.
fn parse_offset(text: &str) -> Option<Offset> {
    let text = text.trim();
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => return None,
    };
    if ![4, 6].contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |part| part.parse::<i32>().ok());
    Offset::from_seconds(sign * (part(0)? * 3600 + part(2)? * 60 + part(4)?)).ok()
}

/// Formats an offset for POSIX, where west is positive.
fn format_posix_offset(offset: Offset) -> String {
    let west = -offset.seconds();
    let sign = if west < 0 { "-" } else { "+" };
    let west = west.abs();
    format!("{sign}{}:{:02}:{:02}", west / 3600, west / 60 % 60, west % 60)
}

/// Formats the yearly change for POSIX, such as `M3.5.0/2:00:00`.
fn posix_rule(observance: &Observance) -> Option<String> {
    let rule =
        observance.rule.as_ref().filter(|rule| rule.frequency == Frequency::Yearly && rule.interval == 1)?;
    let ([month], [(nth, day)]) = (rule.months.as_slice(), rule.week_days.as_slice()) else { return None };
    let week = match (nth, rule.month_days.iter().min()) {
        (Some(-1), _) => 5,
        (Some(nth @ 1..=4), None) => *nth,
        (None, Some(first)) if *first > 0 => (first - 1) / 7 + 1,
        _ => return None,
    };
    let day = if *day == Weekday::Sunday { 0 } else { day.to_monday_one_offset() };
    let open = matches!(rule.end, RuleEnd::Never | RuleEnd::Until(_));
    let time = observance.from.time();
    let clock = format!("{}:{:02}:{:02}", time.hour(), time.minute(), time.second());
    open.then(|| format!("M{month}.{week}.{day}/{clock}"))
}
