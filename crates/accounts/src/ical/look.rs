//! Queries of a calendar document: events between two times, and events by id.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::budget::{Budget, Spent};
use super::entry::{Entry, Fate};
use super::expand::times;
use super::id;
use super::moment::{Length, Moment};
use super::sheet::{Kind, Sheet};
use super::zone::Zones;
use crate::Trouble;
use crate::calendar::{Event, Look, When};

/// The maximum number of events of one query.
const MOST: usize = 50_000;

/// Parses the events of a calendar. Also returns the problems of unreadable ones.
pub(crate) fn entries(sheet: &Sheet<'_>, home: &TimeZone) -> (Vec<Entry>, Vec<String>) {
    let mut zones = Zones::new(sheet.bytes, sheet.blocks(Kind::Zone).collect(), home.clone());
    let mut wrong: Vec<_> = sheet
        .unclosed
        .iter()
        .map(|at| format!("{}: it begins and never ends, so it is left out.", sheet.called(at.clone())))
        .collect();
    let mut entries = Vec::new();
    for at in sheet.blocks(Kind::Event) {
        match Entry::read(sheet.bytes, at.clone(), &mut zones) {
            Ok(entry) => entries.push(entry),
            Err(why) => wrong.push(format!("{}: {why}, so it is left out.", sheet.called(at))),
        }
    }
    (entries, wrong)
}

/// Returns the events from `from` (inclusive) to `until` (exclusive), sorted, in the time zone of
/// `from`.
pub(crate) fn look(sheet: &Sheet<'_>, from: &Zoned, until: &Zoned, budget: &mut Budget) -> Look {
    let (entries, left_out) = entries(sheet, from.time_zone());
    let mut looker =
        Looker { sheet, window: (from, until), budget, look: Look { events: Vec::new(), left_out } };
    let replaced = replaced(&entries, from.time_zone());
    let none = HashSet::new();
    for entry in &entries {
        match &entry.instead {
            Some(_) => looker.show(entry, &entry.start),
            None => looker.series(entry, replaced.get(entry.uid.as_str()).unwrap_or(&none)),
        }
    }
    let mut look = looker.look;
    sort(&mut look.events, from.time_zone());
    look
}

/// Sorts events by start, whole days first.
pub(crate) fn sort(events: &mut [Event], home: &TimeZone) {
    events.sort_by_cached_key(|event| {
        (begins(&event.when, home), is_timed(&event.when), event.summary.clone())
    });
}

/// Returns the event `id`.
pub(crate) fn find(sheet: &Sheet<'_>, id: &str, home: &TimeZone) -> Result<Event, Trouble> {
    let (entries, _) = entries(sheet, home);
    let (entry, time) = chosen(&entries, id, home)?;
    shown(sheet, entry, &time, home)
        .ok_or_else(|| Trouble::Garbled(format!("`{id}` is at a time that no clock shows.")))
}

/// Returns the entry for `id` and the time of the occurrence, which may exist only through the
/// rule.
pub(crate) fn chosen<'a>(
    entries: &'a [Entry],
    id: &str,
    home: &TimeZone,
) -> Result<(&'a Entry, Moment), Trouble> {
    let missing = || crate::calendar::missing(id);
    let whole = |entry: &&Entry| entry.uid == id && entry.instead.is_none();
    if let Some(entry) = entries.iter().find(whole) {
        return Ok((entry, entry.start.clone()));
    }
    let named =
        |entry: &&Entry| entry.instead.as_ref().is_some_and(|time| id::of_time(&entry.uid, time, home) == id);
    if let Some(entry) = entries.iter().find(named) {
        return Ok((entry, entry.start.clone()));
    }
    let (uid, _) = id::split(id).ok_or_else(missing)?;
    // A broken calendar may contain several entries with one UID, which are all listed.
    let mut series = entries.iter().filter(|entry| entry.uid == uid && entry.instead.is_none());
    let budget = &mut Budget::new();
    series.find_map(|entry| Some((entry, time_called(entry, id, home, budget)?))).ok_or_else(missing)
}

/// Returns the time of the occurrence `id` of a series, if it exists.
fn time_called(series: &Entry, id: &str, home: &TimeZone, budget: &mut Budget) -> Option<Moment> {
    let (_, stamp) = id::split(id)?;
    let day = super::moment::date(stamp.get(..8)?)?;
    let from = day.checked_sub(2.days()).ok()?;
    let until = day.checked_add(2.days()).ok()?;
    let bounds =
        (from.to_datetime(jiff::civil::Time::midnight()), until.to_datetime(jiff::civil::Time::midnight()));
    let mut all: Vec<_> = series.again.also.clone();
    all.push(series.start.clone());
    if let Some(Ok(rule)) = &series.again.rule {
        let ruled = times(rule, &series.start, bounds, budget).ok()?;
        all.extend(ruled.into_iter().map(|time| series.start.moved(time)));
    }
    let never: HashSet<_> = series.again.never.iter().filter_map(|time| time.instant(home)).collect();
    all.into_iter().find(|time| {
        id::of_time(&series.uid, time, home) == id
            && time.instant(home).is_some_and(|at| !never.contains(&at))
    })
}

/// Returns the occurrences of each series that other entries override.
fn replaced<'a>(entries: &'a [Entry], home: &TimeZone) -> HashMap<&'a str, HashSet<Timestamp>> {
    let mut replaced: HashMap<&str, HashSet<_>> = HashMap::new();
    for entry in entries {
        if let Some(time) = entry.instead.as_ref().and_then(|time| time.instant(home)) {
            replaced.entry(&entry.uid).or_default().insert(time);
        }
    }
    replaced
}

struct Looker<'a> {
    sheet: &'a Sheet<'a>,
    window: (&'a Zoned, &'a Zoned),
    budget: &'a mut Budget,
    look: Look,
}

impl Looker<'_> {
    fn series(&mut self, entry: &Entry, replaced: &HashSet<Timestamp>) {
        if entry.again.rule.is_none() && entry.again.also.is_empty() {
            return self.show(entry, &entry.start);
        }
        let home = self.window.0.time_zone().clone();
        let mut all = match &entry.again.rule {
            None => vec![entry.start.clone()],
            Some(Err(why)) => self.only_first(entry, why),
            Some(Ok(rule)) => {
                self.budget.next_rule();
                match self.bounds(entry).map(|bounds| times(rule, &entry.start, bounds, self.budget)) {
                    Some(Ok(times)) => times.into_iter().map(|time| entry.start.moved(time)).collect(),
                    Some(Err(Spent::One)) => self.only_first(entry, "it has more times than i can count"),
                    Some(Err(Spent::All)) => {
                        self.only_first(entry, "the calendar has more times than i can count")
                    }
                    None => self.only_first(entry, "it is at a time that no clock shows"),
                }
            }
        };
        all.extend(entry.again.also.iter().cloned());
        let never = entry.again.never.iter().filter_map(|time| time.instant(&home));
        let mut gone: HashSet<_> = never.chain(replaced.iter().copied()).collect();
        for time in all {
            // Duplicate times yield one occurrence.
            if time.instant(&home).is_some_and(|at| gone.insert(at)) {
                self.show(entry, &time);
            }
        }
    }

    fn only_first(&mut self, entry: &Entry, why: &str) -> Vec<Moment> {
        let called = self.sheet.called(entry.at.clone());
        self.look.left_out.push(format!("{called}: {why}, so only its first time is shown."));
        vec![entry.start.clone()]
    }

    /// The window in the event's local time, extended backwards by the length of the event.
    fn bounds(&self, entry: &Entry) -> Option<(jiff::civil::DateTime, jiff::civil::DateTime)> {
        let (from, until) = self.window;
        let days = match entry.length {
            Length::Days(days) => days,
            Length::Exact(exact) => exact.as_hours() / 24 + 1,
            Length::Nominal(days, exact) => days + exact.as_hours() / 24 + 1,
        };
        let from = from.datetime().checked_sub((days + 2).days()).unwrap_or(jiff::civil::DateTime::MIN);
        Some((from, until.datetime().checked_add(2.days()).ok()?))
    }

    /// Adds one occurrence if it is in the window and not cancelled.
    fn show(&mut self, entry: &Entry, time: &Moment) {
        let (from, until) = self.window;
        let home = from.time_zone();
        let Some(start) = time.instant(home).filter(|start| *start < until.timestamp()) else { return };
        // A cheap check, since most events are long over.
        let over = match entry.length {
            Length::Exact(exact) => start.checked_add(exact).is_ok_and(|end| end <= from.timestamp()),
            Length::Days(days) | Length::Nominal(days, _) => start
                .checked_add(SignedDuration::from_hours(24 * (days + 2)))
                .is_ok_and(|end| end <= from.timestamp()),
        };
        if entry.fate == Fate::Off || (over && start < from.timestamp()) || self.look.events.len() >= MOST {
            return self.note_most();
        }
        let Some(event) = shown(self.sheet, entry, time, home) else { return };
        let end = ends(&event.when, home);
        if start >= from.timestamp() || end.is_some_and(|end| end > from.timestamp()) {
            self.look.events.push(event);
        }
    }

    fn note_most(&mut self) {
        if self.look.events.len() == MOST {
            let told = format!("there are more than {MOST} events in this time; the rest is left out.");
            if self.look.left_out.last() != Some(&told) {
                self.look.left_out.push(told);
            }
        }
    }
}

/// Converts one occurrence to an event.
pub(crate) fn shown(sheet: &Sheet<'_>, entry: &Entry, time: &Moment, home: &TimeZone) -> Option<Event> {
    let end = time.after(entry.length, home)?;
    let when = match time {
        Moment::Day(day) => When::Days(*day, end.date().max(day.tomorrow().ok()?)),
        Moment::At(..) | Moment::Floating(_) => {
            When::Timed(time.zoned(home)?.with_time_zone(home.clone()), end.with_time_zone(home.clone()))
        }
    };
    let recurs = entry.again.rule.is_some() || !entry.again.also.is_empty();
    let id = match &entry.instead {
        Some(instead) => id::of_time(&entry.uid, instead, home),
        None if recurs => id::of_time(&entry.uid, time, home),
        None => entry.uid.clone(),
    };
    let (summary, details) = entry.words(sheet.bytes);
    Some(Event { id, when, summary, details })
}

fn begins(when: &When, home: &TimeZone) -> Timestamp {
    match when {
        When::Timed(start, _) => start.timestamp(),
        When::Days(first, _) => Moment::Day(*first).instant(home).unwrap_or(Timestamp::MIN),
    }
}

fn ends(when: &When, home: &TimeZone) -> Option<Timestamp> {
    match when {
        When::Timed(_, end) => Some(end.timestamp()),
        When::Days(_, after) => Moment::Day(*after).instant(home),
    }
}

fn is_timed(when: &When) -> u8 {
    u8::from(matches!(when, When::Timed(..)))
}
