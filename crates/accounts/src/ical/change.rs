//! Changes calendars: only the affected lines change, everything else stays byte for byte.

use std::ops::Range;

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::component::Component;
use super::document::{CalendarDocument, ComponentKind};
use super::entry::{EventEntry, own_lines};
use super::moment::{Moment, format_local, format_utc};
use super::query::{find_event, parse_entries, resolve_id};
use super::text::escape;
use super::{event_id, vtimezone};
use crate::AccountError;
use crate::calendar::{Event, EventChange};

/// The time of a change, and random bytes for a new id.
#[derive(Clone, Debug)]
pub(crate) struct ChangeContext {
    /// In the user's time zone.
    pub(crate) now: Zoned,
    pub(crate) random: [u8; 10],
}

/// The beginning of calendars created here.
const CALENDAR_BEGIN: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//ollim-bot//ollim-bot//EN\r\n";
const CALENDAR_END: &str = "END:VCALENDAR\r\n";

/// The changed calendar and the affected event.
pub(crate) type ChangedCalendar = (Vec<u8>, Event);

pub(crate) fn empty_calendar() -> Vec<u8> {
    [CALENDAR_BEGIN, CALENDAR_END].concat().into_bytes()
}

/// Adds an event to a calendar; `name` is for error messages.
pub(crate) fn add_event(
    name: &str,
    bytes: &[u8],
    new: &EventChange,
    stamp: &ChangeContext,
) -> Result<ChangedCalendar, AccountError> {
    let sheet = CalendarDocument::parse(name, bytes)?;
    let (Some(start), Some(end)) = (&new.start, &new.end) else {
        return Err(AccountError::InvalidRequest("an event needs a beginning and an end.".to_owned()));
    };
    check_order(start, end)?;
    let uid = event_id::random_id(stamp.random);
    let now = format_utc(stamp.now.timestamp());
    let mut block = Component::new("BEGIN:VEVENT\r\nEND:VEVENT\r\n");
    for line in [format!("UID:{uid}"), format!("DTSTAMP:{now}"), format!("CREATED:{now}")] {
        block.add(&line);
    }
    write_times(&mut block, start, end);
    write_texts(&mut block, new);
    let zone = missing_time_zones(&sheet, [start, end]);
    let place = sheet.end()?;
    let made = apply_edits(bytes, vec![(place..place, [zone.into_bytes(), block.bytes().to_vec()].concat())]);
    with_event(name, made, &uid, stamp)
}

/// Changes the event `id`. For an id of an occurrence, only this occurrence of the series changes.
pub(crate) fn update_event(
    name: &str,
    bytes: &[u8],
    id: &str,
    change: &EventChange,
    stamp: &ChangeContext,
) -> Result<ChangedCalendar, AccountError> {
    let sheet = CalendarDocument::parse(name, bytes)?;
    let user_zone = stamp.now.time_zone();
    let (entries, _) = parse_entries(&sheet, user_zone);
    let (entry, time) = resolve_id(&entries, id, user_zone)?;
    let is_occurrence = recurs(entry) && entry.uid != id;
    let mut block = Component::new(&bytes[entry.range.clone()]);
    if block.value("UID").is_none() {
        block.set("UID", &format!("UID:{}", entry.uid));
    }
    if is_occurrence {
        make_override(&mut block, &time, entry, user_zone);
    }
    let times = changed_times(entry, &time, change, user_zone)?;
    let mut zone = String::new();
    if let Some((start, end)) = &times {
        let others = entries.iter().any(|other| other.uid == entry.uid && other.recurrence_id.is_some());
        let exceptions =
            others || !entry.recurrence.extra_times.is_empty() || !entry.recurrence.excluded_times.is_empty();
        if recurs(entry) && !is_occurrence && exceptions && time.to_zoned(user_zone).as_ref() != Some(start) {
            return Err(AccountError::InvalidRequest(format!(
                "some times of `{id}` were moved or left out, and they would no longer fit. change one of its times, \
                 or delete it and add it anew."
            )));
        }
        zone = missing_time_zones(&sheet, [start, end]);
        write_times(&mut block, start, end);
    }
    write_texts(&mut block, change);
    update_revision(&mut block, stamp);
    let at = if is_occurrence { entry.range.end..entry.range.end } else { entry.range.clone() };
    let start = entry.range.start;
    let made = if is_occurrence {
        apply_edits(bytes, vec![(start..start, zone.into_bytes()), (at, block.bytes().to_vec())])
    } else {
        apply_edits(bytes, vec![(at, [zone.into_bytes(), block.bytes().to_vec()].concat())])
    };
    with_event(name, made, id, stamp)
}

/// Deletes the event `id`. For an id of an occurrence, only this occurrence is removed.
pub(crate) fn delete_event(
    name: &str,
    bytes: &[u8],
    id: &str,
    stamp: &ChangeContext,
) -> Result<ChangedCalendar, AccountError> {
    let sheet = CalendarDocument::parse(name, bytes)?;
    let user_zone = stamp.now.time_zone();
    let (entries, _) = parse_entries(&sheet, user_zone);
    let (entry, time) = resolve_id(&entries, id, user_zone)?;
    let gone = find_event(&sheet, id, user_zone)?;
    if entry.uid == id {
        let all = entries.iter().filter(|other| other.uid == entry.uid);
        let edits = all.map(|other| (other.range.clone(), Vec::new())).collect();
        return Ok((apply_edits(bytes, edits), gone));
    }
    let mut edits = Vec::new();
    if entry.recurrence_id.is_some() {
        edits.push((entry.range.clone(), Vec::new()));
    }
    let series = entries.iter().find(|other| other.uid == entry.uid && other.recurrence_id.is_none());
    if let Some(series) = series.filter(|series| recurs(series)) {
        let mut block = Component::new(&bytes[series.range.clone()]);
        let time = entry.recurrence_id.as_ref().unwrap_or(&time);
        block.add(&format_like_start(&block, "EXDATE", time, series, user_zone));
        update_revision(&mut block, stamp);
        edits.push((series.range.clone(), block.bytes().to_vec()));
    }
    edits.sort_by_key(|(at, _)| at.start);
    Ok((apply_edits(bytes, edits), gone))
}

fn recurs(entry: &EventEntry) -> bool {
    entry.recurrence.rule.is_some() || !entry.recurrence.extra_times.is_empty()
}

/// Parses the event from the new calendar, so the result is what is stored.
fn with_event(
    name: &str,
    made: Vec<u8>,
    id: &str,
    stamp: &ChangeContext,
) -> Result<ChangedCalendar, AccountError> {
    let event = find_event(&CalendarDocument::parse(name, &made)?, id, stamp.now.time_zone())?;
    Ok((made, event))
}

/// Turns a copy of a series into the override of one occurrence.
fn make_override(block: &mut Component, time: &Moment, entry: &EventEntry, home: &TimeZone) {
    let start = format_like_start(block, "DTSTART", time, entry, home);
    let instead = format_like_start(block, "RECURRENCE-ID", time, entry, home);
    for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
        block.remove(name);
    }
    if let Some(end) = time.plus(entry.length, home).filter(|_| block.value("DTEND").is_some()) {
        let line = match time {
            Moment::Day(_) => format!("DTEND;VALUE=DATE:{}", end.date().strftime("%Y%m%d")),
            Moment::InZone(..) => format!("DTEND:{}", format_utc(end.timestamp())),
            Moment::Floating(_) => format!("DTEND:{}", format_local(end.datetime())),
        };
        block.set("DTEND", &line);
    }
    block.set("DTSTART", &start);
    block.set("RECURRENCE-ID", &instead);
}

/// Formats a time of a series in the same form as its DTSTART.
fn format_like_start(
    block: &Component,
    name: &str,
    time: &Moment,
    entry: &EventEntry,
    home: &TimeZone,
) -> String {
    let parameters = block.parameters("DTSTART").unwrap_or_default();
    match (&entry.start, time) {
        (Moment::Day(_), time) => format!("{name};VALUE=DATE:{}", time.civil().date().strftime("%Y%m%d")),
        (Moment::InZone(_, own), Moment::InZone(civil, zone)) if own == zone && *zone != TimeZone::UTC => {
            format!("{name}{parameters}:{}", format_local(*civil))
        }
        (Moment::Floating(_), Moment::Floating(civil)) => format!("{name}:{}", format_local(*civil)),
        (_, time) => format!("{name}:{}", time.to_timestamp(home).map(format_utc).unwrap_or_default()),
    }
}

/// Returns the new start and end, or `None` if they do not change.
fn changed_times(
    entry: &EventEntry,
    time: &Moment,
    change: &EventChange,
    home: &TimeZone,
) -> Result<Option<(Zoned, Zoned)>, AccountError> {
    let impossible = || AccountError::InvalidRequest("that is a time that no clock shows.".to_owned());
    let (start, end) = match (&change.start, &change.end, time) {
        (None, None, _) => return Ok(None),
        (Some(start), Some(end), _) => (start.clone(), end.clone()),
        (_, _, Moment::Day(_)) => {
            return Err(AccountError::InvalidRequest(
                "it takes whole days. say both when it begins and when it ends.".to_owned(),
            ));
        }
        (Some(start), None, _) => {
            let was = time.to_zoned(home);
            let ended = time.plus(entry.length, home);
            let length =
                was.zip(ended).map(|(was, ended)| was.duration_until(&ended)).ok_or_else(impossible)?;
            (start.clone(), start.checked_add(length).map_err(|_| impossible())?)
        }
        (None, Some(end), _) => (time.to_zoned(home).ok_or_else(impossible)?, end.clone()),
    };
    check_order(&start, &end)?;
    // An event keeps the time zone in which it was created.
    let own = match &entry.start {
        Moment::InZone(_, zone) if zone.iana_name().is_some_and(|name| name != "UTC") => Some(zone.clone()),
        Moment::InZone(..) | Moment::Floating(_) | Moment::Day(_) => None,
    };
    let on_clock = |time: Zoned| own.as_ref().map_or(time.clone(), |own| time.with_time_zone(own.clone()));
    Ok(Some((on_clock(start), on_clock(end))))
}

fn check_order(start: &Zoned, end: &Zoned) -> Result<(), AccountError> {
    if start <= end {
        Ok(())
    } else {
        Err(AccountError::InvalidRequest(format!(
            "it would end ({}) before it begins ({}).",
            end.strftime("%Y-%m-%dT%H:%M"),
            start.strftime("%Y-%m-%dT%H:%M")
        )))
    }
}

fn write_times(block: &mut Component, start: &Zoned, end: &Zoned) {
    block.remove("DURATION");
    block.set("DTSTART", &time_line("DTSTART", start));
    block.set("DTEND", &time_line("DTEND", end));
}

fn time_line(name: &str, time: &Zoned) -> String {
    let zone = time.time_zone();
    // Of a repeated hour, only the first can be written as local time.
    let first = zone.to_ambiguous_zoned(time.datetime()).compatible();
    match zone.iana_name().filter(|zone| *zone != "UTC" && first.is_ok_and(|first| first == *time)) {
        Some(zone) => format!("{name};TZID={zone}:{}", format_local(time.datetime())),
        None => format!("{name}:{}", format_utc(time.timestamp())),
    }
}

fn write_texts(block: &mut Component, change: &EventChange) {
    for (name, text) in [("SUMMARY", &change.summary), ("DESCRIPTION", &change.description)] {
        if let Some(text) = text {
            block.set(name, &format!("{name}:{}", escape(text.trim())));
        }
    }
}

/// Updates the revision properties, which other clients check for changes.
pub(crate) fn update_revision(block: &mut Component, stamp: &ChangeContext) {
    let now = format_utc(stamp.now.timestamp());
    let count = block.value("SEQUENCE").and_then(|count| count.trim().parse::<u32>().ok()).unwrap_or(0);
    block.set("DTSTAMP", &format!("DTSTAMP:{now}"));
    block.set("LAST-MODIFIED", &format!("LAST-MODIFIED:{now}"));
    block.set("SEQUENCE", &format!("SEQUENCE:{}", count.saturating_add(1)));
}

/// Returns the VTIMEZONE components for these times that the calendar lacks.
fn missing_time_zones(sheet: &CalendarDocument<'_>, times: [&Zoned; 2]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut parts = String::new();
    for time in times {
        let Some(name) = time.time_zone().iana_name() else { continue };
        let known = |at: Range<usize>| {
            own_lines(&sheet.bytes[at]).any(|line| line.has_name("TZID") && line.value().trim() == name)
        };
        if !names.contains(&name) && !sheet.components(ComponentKind::TimeZone).any(known) {
            parts.push_str(&vtimezone::vtimezone_for(time.time_zone(), time).unwrap_or_default());
        }
        names.push(name);
    }
    parts
}

/// Applies `edits`, which are sorted and do not overlap.
pub(crate) fn apply_edits(bytes: &[u8], edits: Vec<(Range<usize>, Vec<u8>)>) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len() + 512);
    let mut from = 0;
    for (at, new) in edits {
        made.extend_from_slice(&bytes[from..at.start]);
        made.extend_from_slice(&new);
        from = at.end;
    }
    made.extend_from_slice(&bytes[from..]);
    made
}

/// Wraps a component into a calendar.
pub(crate) fn wrap_component(part: &[u8]) -> Vec<u8> {
    [CALENDAR_BEGIN.as_bytes(), part, CALENDAR_END.as_bytes()].concat()
}
