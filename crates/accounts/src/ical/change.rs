//! Changes calendars: only the affected lines change, everything else stays byte for byte.

use std::ops::Range;

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::block::Block;
use super::entry::{Entry, own};
use super::look::{chosen, entries, find};
use super::moment::{Moment, written, written_utc};
use super::sheet::{Kind, Sheet};
use super::text::escaped;
use super::{id, timezone};
use crate::Trouble;
use crate::calendar::{Change, Event};

/// The time of a change, and random bytes for a new id.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// In the user's time zone.
    pub(crate) now: Zoned,
    pub(crate) dice: [u8; 10],
}

/// The beginning of calendars created here.
const OPENING: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//ollim-bot//ollim-bot//EN\r\n";
const CLOSING: &str = "END:VCALENDAR\r\n";

/// The changed calendar and the affected event.
pub(crate) type Changed = (Vec<u8>, Event);

pub(crate) fn empty() -> Vec<u8> {
    [OPENING, CLOSING].concat().into_bytes()
}

/// Adds an event to a calendar; `name` is for error messages.
pub(crate) fn add(name: &str, bytes: &[u8], new: &Change, stamp: &Stamp) -> Result<Changed, Trouble> {
    let sheet = Sheet::read(name, bytes)?;
    let (Some(start), Some(end)) = (&new.start, &new.end) else {
        return Err(Trouble::Wrong("an event needs a beginning and an end.".to_owned()));
    };
    in_order(start, end)?;
    let uid = id::fresh(stamp.dice);
    let now = written_utc(stamp.now.timestamp());
    let mut block = Block::new("BEGIN:VEVENT\r\nEND:VEVENT\r\n");
    for line in [format!("UID:{uid}"), format!("DTSTAMP:{now}"), format!("CREATED:{now}")] {
        block.add(&line);
    }
    write_times(&mut block, start, end);
    write_words(&mut block, new);
    let zone = explanation(&sheet, [start, end]);
    let place = sheet.end()?;
    let made = edited(bytes, vec![(place..place, [zone.into_bytes(), block.bytes().to_vec()].concat())]);
    kept(name, made, &uid, stamp)
}

/// Changes the event `id`. For an id of an occurrence, only this occurrence of the series changes.
pub(crate) fn update(
    name: &str,
    bytes: &[u8],
    id: &str,
    change: &Change,
    stamp: &Stamp,
) -> Result<Changed, Trouble> {
    let sheet = Sheet::read(name, bytes)?;
    let home = stamp.now.time_zone();
    let (entries, _) = entries(&sheet, home);
    let (entry, time) = chosen(&entries, id, home)?;
    let one_of_many = recurs(entry) && entry.uid != id;
    let mut block = Block::new(&bytes[entry.at.clone()]);
    if block.value("UID").is_none() {
        block.set("UID", &format!("UID:{}", entry.uid));
    }
    if one_of_many {
        single(&mut block, &time, entry, home);
    }
    let times = new_times(entry, &time, change, home)?;
    let mut zone = String::new();
    if let Some((start, end)) = &times {
        let others = entries.iter().any(|other| other.uid == entry.uid && other.instead.is_some());
        let exceptions = others || !entry.again.also.is_empty() || !entry.again.never.is_empty();
        if recurs(entry) && !one_of_many && exceptions && time.zoned(home).as_ref() != Some(start) {
            return Err(Trouble::Wrong(format!(
                "some times of `{id}` were moved or left out, and they would no longer fit. change one of its times, \
                 or delete it and add it anew."
            )));
        }
        zone = explanation(&sheet, [start, end]);
        write_times(&mut block, start, end);
    }
    write_words(&mut block, change);
    touch(&mut block, stamp);
    let at = if one_of_many { entry.at.end..entry.at.end } else { entry.at.clone() };
    let start = entry.at.start;
    let made = if one_of_many {
        edited(bytes, vec![(start..start, zone.into_bytes()), (at, block.bytes().to_vec())])
    } else {
        edited(bytes, vec![(at, [zone.into_bytes(), block.bytes().to_vec()].concat())])
    };
    kept(name, made, id, stamp)
}

/// Deletes the event `id`. For an id of an occurrence, only this occurrence is removed.
pub(crate) fn delete(name: &str, bytes: &[u8], id: &str, stamp: &Stamp) -> Result<Changed, Trouble> {
    let sheet = Sheet::read(name, bytes)?;
    let home = stamp.now.time_zone();
    let (entries, _) = entries(&sheet, home);
    let (entry, time) = chosen(&entries, id, home)?;
    let gone = find(&sheet, id, home)?;
    if entry.uid == id {
        let all = entries.iter().filter(|other| other.uid == entry.uid);
        let edits = all.map(|other| (other.at.clone(), Vec::new())).collect();
        return Ok((edited(bytes, edits), gone));
    }
    let mut edits = Vec::new();
    if entry.instead.is_some() {
        edits.push((entry.at.clone(), Vec::new()));
    }
    let series = entries.iter().find(|other| other.uid == entry.uid && other.instead.is_none());
    if let Some(series) = series.filter(|series| recurs(series)) {
        let mut block = Block::new(&bytes[series.at.clone()]);
        let time = entry.instead.as_ref().unwrap_or(&time);
        block.add(&like_start(&block, "EXDATE", time, series, home));
        touch(&mut block, stamp);
        edits.push((series.at.clone(), block.bytes().to_vec()));
    }
    edits.sort_by_key(|(at, _)| at.start);
    Ok((edited(bytes, edits), gone))
}

fn recurs(entry: &Entry) -> bool {
    entry.again.rule.is_some() || !entry.again.also.is_empty()
}

/// Parses the event from the new calendar, so the result is what is stored.
fn kept(name: &str, made: Vec<u8>, id: &str, stamp: &Stamp) -> Result<Changed, Trouble> {
    let event = find(&Sheet::read(name, &made)?, id, stamp.now.time_zone())?;
    Ok((made, event))
}

/// Turns a copy of a series into the override of one occurrence.
fn single(block: &mut Block, time: &Moment, entry: &Entry, home: &TimeZone) {
    let start = like_start(block, "DTSTART", time, entry, home);
    let instead = like_start(block, "RECURRENCE-ID", time, entry, home);
    for name in ["RRULE", "RDATE", "EXDATE", "EXRULE"] {
        block.remove(name);
    }
    if let Some(end) = time.after(entry.length, home).filter(|_| block.value("DTEND").is_some()) {
        let line = match time {
            Moment::Day(_) => format!("DTEND;VALUE=DATE:{}", end.date().strftime("%Y%m%d")),
            Moment::At(..) => format!("DTEND:{}", written_utc(end.timestamp())),
            Moment::Floating(_) => format!("DTEND:{}", written(end.datetime())),
        };
        block.set("DTEND", &line);
    }
    block.set("DTSTART", &start);
    block.set("RECURRENCE-ID", &instead);
}

/// Formats a time of a series in the same form as its DTSTART.
fn like_start(block: &Block, name: &str, time: &Moment, entry: &Entry, home: &TimeZone) -> String {
    let parameters = block.parameters("DTSTART").unwrap_or_default();
    match (&entry.start, time) {
        (Moment::Day(_), time) => format!("{name};VALUE=DATE:{}", time.civil().date().strftime("%Y%m%d")),
        (Moment::At(_, own), Moment::At(civil, zone)) if own == zone && *zone != TimeZone::UTC => {
            format!("{name}{parameters}:{}", written(*civil))
        }
        (Moment::Floating(_), Moment::Floating(civil)) => format!("{name}:{}", written(*civil)),
        (_, time) => format!("{name}:{}", time.instant(home).map(written_utc).unwrap_or_default()),
    }
}

/// Returns the new start and end, or `None` if they do not change.
fn new_times(
    entry: &Entry,
    time: &Moment,
    change: &Change,
    home: &TimeZone,
) -> Result<Option<(Zoned, Zoned)>, Trouble> {
    let impossible = || Trouble::Wrong("that is a time that no clock shows.".to_owned());
    let (start, end) = match (&change.start, &change.end, time) {
        (None, None, _) => return Ok(None),
        (Some(start), Some(end), _) => (start.clone(), end.clone()),
        (_, _, Moment::Day(_)) => {
            return Err(Trouble::Wrong(
                "it takes whole days. say both when it begins and when it ends.".to_owned(),
            ));
        }
        (Some(start), None, _) => {
            let was = time.zoned(home);
            let ended = time.after(entry.length, home);
            let length =
                was.zip(ended).map(|(was, ended)| was.duration_until(&ended)).ok_or_else(impossible)?;
            (start.clone(), start.checked_add(length).map_err(|_| impossible())?)
        }
        (None, Some(end), _) => (time.zoned(home).ok_or_else(impossible)?, end.clone()),
    };
    in_order(&start, &end)?;
    // An event keeps the time zone in which it was created.
    let own = match &entry.start {
        Moment::At(_, zone) if zone.iana_name().is_some_and(|name| name != "UTC") => Some(zone.clone()),
        Moment::At(..) | Moment::Floating(_) | Moment::Day(_) => None,
    };
    let on_clock = |time: Zoned| own.as_ref().map_or(time.clone(), |own| time.with_time_zone(own.clone()));
    Ok(Some((on_clock(start), on_clock(end))))
}

fn in_order(start: &Zoned, end: &Zoned) -> Result<(), Trouble> {
    if start <= end {
        Ok(())
    } else {
        Err(Trouble::Wrong(format!(
            "it would end ({}) before it begins ({}).",
            end.strftime("%Y-%m-%dT%H:%M"),
            start.strftime("%Y-%m-%dT%H:%M")
        )))
    }
}

fn write_times(block: &mut Block, start: &Zoned, end: &Zoned) {
    block.remove("DURATION");
    block.set("DTSTART", &time_line("DTSTART", start));
    block.set("DTEND", &time_line("DTEND", end));
}

fn time_line(name: &str, time: &Zoned) -> String {
    let zone = time.time_zone();
    // Of a repeated hour, only the first can be written as local time.
    let first = zone.to_ambiguous_zoned(time.datetime()).compatible();
    match zone.iana_name().filter(|zone| *zone != "UTC" && first.is_ok_and(|first| first == *time)) {
        Some(zone) => format!("{name};TZID={zone}:{}", written(time.datetime())),
        None => format!("{name}:{}", written_utc(time.timestamp())),
    }
}

fn write_words(block: &mut Block, change: &Change) {
    for (name, text) in [("SUMMARY", &change.summary), ("DESCRIPTION", &change.description)] {
        if let Some(text) = text {
            block.set(name, &format!("{name}:{}", escaped(text.trim())));
        }
    }
}

/// Updates the revision properties, which other clients check for changes.
pub(crate) fn touch(block: &mut Block, stamp: &Stamp) {
    let now = written_utc(stamp.now.timestamp());
    let count = block.value("SEQUENCE").and_then(|count| count.trim().parse::<u32>().ok()).unwrap_or(0);
    block.set("DTSTAMP", &format!("DTSTAMP:{now}"));
    block.set("LAST-MODIFIED", &format!("LAST-MODIFIED:{now}"));
    block.set("SEQUENCE", &format!("SEQUENCE:{}", count.saturating_add(1)));
}

/// Returns the VTIMEZONE components for these times that the calendar lacks.
fn explanation(sheet: &Sheet<'_>, times: [&Zoned; 2]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut parts = String::new();
    for time in times {
        let Some(name) = time.time_zone().iana_name() else { continue };
        let known = |at: Range<usize>| {
            own(&sheet.bytes[at]).any(|line| line.is("TZID") && line.value().trim() == name)
        };
        if !names.contains(&name) && !sheet.blocks(Kind::Zone).any(known) {
            parts.push_str(&timezone::explained(time.time_zone(), time).unwrap_or_default());
        }
        names.push(name);
    }
    parts
}

/// Applies `edits`, which are sorted and do not overlap.
pub(crate) fn edited(bytes: &[u8], edits: Vec<(Range<usize>, Vec<u8>)>) -> Vec<u8> {
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
pub(crate) fn around(part: &[u8]) -> Vec<u8> {
    [OPENING.as_bytes(), part, CLOSING.as_bytes()].concat()
}
