//! Queries of a calendar document: events between two times, and events by id.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use super::budget::{Budget, BudgetExceeded};
use super::document::{CalendarDocument, ComponentKind};
use super::entry::{EventEntry, EventStatus};
use super::event_id;
use super::expansion::occurrences;
use super::moment::{Length, Moment};
use super::time_zones::TimeZones;
use crate::AccountError;
use crate::calendar::{Event, EventQueryResult, EventTime};

/// The maximum number of events of one query.
const MAX_EVENTS: usize = 50_000;

/// Parses the events of a calendar. Also returns the problems of unreadable ones.
pub(crate) fn parse_entries(sheet: &CalendarDocument<'_>, home: &TimeZone) -> (Vec<EventEntry>, Vec<String>) {
    let mut zones =
        TimeZones::new(sheet.bytes, sheet.components(ComponentKind::TimeZone).collect(), home.clone());
    let mut problems: Vec<_> = sheet
        .unclosed
        .iter()
        .map(|at| format!("{}: it begins and never ends, so it is left out.", sheet.display_name(at.clone())))
        .collect();
    let mut entries = Vec::new();
    for at in sheet.components(ComponentKind::Event) {
        match EventEntry::parse(sheet.bytes, at.clone(), &mut zones) {
            Ok(entry) => entries.push(entry),
            Err(why) => problems.push(format!("{}: {why}, so it is left out.", sheet.display_name(at))),
        }
    }
    (entries, problems)
}

/// Returns the events from `from` (inclusive) to `until` (exclusive), sorted, in the time zone of
/// `from`.
pub(crate) fn events_between(
    sheet: &CalendarDocument<'_>,
    from: &Zoned,
    until: &Zoned,
    budget: &mut Budget,
) -> EventQueryResult {
    let (entries, problems) = parse_entries(sheet, from.time_zone());
    let mut query = EventQuery {
        sheet,
        window: (from, until),
        budget,
        result: EventQueryResult { events: Vec::new(), problems },
    };
    let overridden = overridden_times(&entries, from.time_zone());
    let none = HashSet::new();
    for entry in &entries {
        match &entry.recurrence_id {
            Some(_) => query.add_occurrence(entry, &entry.start),
            None => query.add_series(entry, overridden.get(entry.uid.as_str()).unwrap_or(&none)),
        }
    }
    let mut result = query.result;
    sort_events(&mut result.events, from.time_zone());
    result
}

/// Sorts events by start, whole days first.
pub(crate) fn sort_events(events: &mut [Event], home: &TimeZone) {
    events.sort_by_cached_key(|event| {
        (start_of(&event.when, home), timed_rank(&event.when), event.summary.clone())
    });
}

/// Returns the event `id`.
pub(crate) fn find_event(
    sheet: &CalendarDocument<'_>,
    id: &str,
    home: &TimeZone,
) -> Result<Event, AccountError> {
    let (entries, _) = parse_entries(sheet, home);
    let (entry, time) = resolve_id(&entries, id, home)?;
    to_event(sheet, entry, &time, home)
        .ok_or_else(|| AccountError::Unreadable(format!("`{id}` is at a time that no clock shows.")))
}

/// Returns the entry for `id` and the time of the occurrence, which may exist only through the
/// rule.
pub(crate) fn resolve_id<'a>(
    entries: &'a [EventEntry],
    id: &str,
    home: &TimeZone,
) -> Result<(&'a EventEntry, Moment), AccountError> {
    let missing = || crate::calendar::unknown_event(id);
    let whole = |entry: &&EventEntry| entry.uid == id && entry.recurrence_id.is_none();
    if let Some(entry) = entries.iter().find(whole) {
        return Ok((entry, entry.start.clone()));
    }
    let named = |entry: &&EventEntry| {
        entry.recurrence_id.as_ref().is_some_and(|time| event_id::occurrence_id(&entry.uid, time, home) == id)
    };
    if let Some(entry) = entries.iter().find(named) {
        return Ok((entry, entry.start.clone()));
    }
    let (uid, _) = event_id::split_occurrence_id(id).ok_or_else(missing)?;
    // A broken calendar may contain several entries with one UID, which are all listed.
    let mut series = entries.iter().filter(|entry| entry.uid == uid && entry.recurrence_id.is_none());
    let budget = &mut Budget::new();
    series.find_map(|entry| Some((entry, occurrence_with_id(entry, id, home, budget)?))).ok_or_else(missing)
}

/// Returns the time of the occurrence `id` of a series, if it exists.
fn occurrence_with_id(series: &EventEntry, id: &str, home: &TimeZone, budget: &mut Budget) -> Option<Moment> {
    let (_, stamp) = event_id::split_occurrence_id(id)?;
    let day = super::moment::parse_date(stamp.get(..8)?)?;
    let from = day.checked_sub(2.days()).ok()?;
    let until = day.checked_add(2.days()).ok()?;
    let bounds =
        (from.to_datetime(jiff::civil::Time::midnight()), until.to_datetime(jiff::civil::Time::midnight()));
    let mut all: Vec<_> = series.recurrence.extra_times.clone();
    all.push(series.start.clone());
    if let Some(Ok(rule)) = &series.recurrence.rule {
        let by_rule = occurrences(rule, &series.start, bounds, budget).ok()?;
        all.extend(by_rule.into_iter().map(|time| series.start.with_civil(time)));
    }
    let excluded: HashSet<_> =
        series.recurrence.excluded_times.iter().filter_map(|time| time.to_timestamp(home)).collect();
    all.into_iter().find(|time| {
        event_id::occurrence_id(&series.uid, time, home) == id
            && time.to_timestamp(home).is_some_and(|at| !excluded.contains(&at))
    })
}

/// Returns the occurrences of each series that other entries override.
fn overridden_times<'a>(entries: &'a [EventEntry], home: &TimeZone) -> HashMap<&'a str, HashSet<Timestamp>> {
    let mut replaced: HashMap<&str, HashSet<_>> = HashMap::new();
    for entry in entries {
        if let Some(time) = entry.recurrence_id.as_ref().and_then(|time| time.to_timestamp(home)) {
            replaced.entry(&entry.uid).or_default().insert(time);
        }
    }
    replaced
}

struct EventQuery<'a> {
    sheet: &'a CalendarDocument<'a>,
    window: (&'a Zoned, &'a Zoned),
    budget: &'a mut Budget,
    result: EventQueryResult,
}

impl EventQuery<'_> {
    fn add_series(&mut self, entry: &EventEntry, overridden: &HashSet<Timestamp>) {
        if entry.recurrence.rule.is_none() && entry.recurrence.extra_times.is_empty() {
            return self.add_occurrence(entry, &entry.start);
        }
        let home = self.window.0.time_zone().clone();
        let mut all = match &entry.recurrence.rule {
            None => vec![entry.start.clone()],
            Some(Err(why)) => self.first_only(entry, why),
            Some(Ok(rule)) => {
                self.budget.next_rule();
                match self.bounds(entry).map(|bounds| occurrences(rule, &entry.start, bounds, self.budget)) {
                    Some(Ok(times)) => times.into_iter().map(|time| entry.start.with_civil(time)).collect(),
                    Some(Err(BudgetExceeded::Rule)) => {
                        self.first_only(entry, "it has more times than i can count")
                    }
                    Some(Err(BudgetExceeded::Total)) => {
                        self.first_only(entry, "the calendar has more times than i can count")
                    }
                    None => self.first_only(entry, "it is at a time that no clock shows"),
                }
            }
        };
        all.extend(entry.recurrence.extra_times.iter().cloned());
        let excluded = entry.recurrence.excluded_times.iter().filter_map(|time| time.to_timestamp(&home));
        let mut skipped: HashSet<_> = excluded.chain(overridden.iter().copied()).collect();
        for time in all {
            // Duplicate times yield one occurrence.
            if time.to_timestamp(&home).is_some_and(|at| skipped.insert(at)) {
                self.add_occurrence(entry, &time);
            }
        }
    }

    fn first_only(&mut self, entry: &EventEntry, why: &str) -> Vec<Moment> {
        let called = self.sheet.display_name(entry.range.clone());
        self.result.problems.push(format!("{called}: {why}, so only its first time is shown."));
        vec![entry.start.clone()]
    }

    /// The window in the event's local time, extended backwards by the length of the event.
    fn bounds(&self, entry: &EventEntry) -> Option<(jiff::civil::DateTime, jiff::civil::DateTime)> {
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
    fn add_occurrence(&mut self, entry: &EventEntry, time: &Moment) {
        let (from, until) = self.window;
        let home = from.time_zone();
        let Some(start) = time.to_timestamp(home).filter(|start| *start < until.timestamp()) else { return };
        // A cheap check, since most events are long over.
        let over = match entry.length {
            Length::Exact(exact) => start.checked_add(exact).is_ok_and(|end| end <= from.timestamp()),
            Length::Days(days) | Length::Nominal(days, _) => start
                .checked_add(SignedDuration::from_hours(24 * (days + 2)))
                .is_ok_and(|end| end <= from.timestamp()),
        };
        if entry.status == EventStatus::Cancelled
            || (over && start < from.timestamp())
            || self.result.events.len() >= MAX_EVENTS
        {
            return self.note_limit();
        }
        let Some(event) = to_event(self.sheet, entry, time, home) else { return };
        let end = end_of(&event.when, home);
        if start >= from.timestamp() || end.is_some_and(|end| end > from.timestamp()) {
            self.result.events.push(event);
        }
    }

    fn note_limit(&mut self) {
        if self.result.events.len() == MAX_EVENTS {
            let notice =
                format!("there are more than {MAX_EVENTS} events in this time; the rest is left out.");
            if self.result.problems.last() != Some(&notice) {
                self.result.problems.push(notice);
            }
        }
    }
}

/// Converts one occurrence to an event.
pub(crate) fn to_event(
    sheet: &CalendarDocument<'_>,
    entry: &EventEntry,
    time: &Moment,
    home: &TimeZone,
) -> Option<Event> {
    let end = time.plus(entry.length, home)?;
    let when = match time {
        Moment::Day(day) => EventTime::Days(*day, end.date().max(day.tomorrow().ok()?)),
        Moment::InZone(..) | Moment::Floating(_) => EventTime::Timed(
            time.to_zoned(home)?.with_time_zone(home.clone()),
            end.with_time_zone(home.clone()),
        ),
    };
    let recurs = entry.recurrence.rule.is_some() || !entry.recurrence.extra_times.is_empty();
    let id = match &entry.recurrence_id {
        Some(instead) => event_id::occurrence_id(&entry.uid, instead, home),
        None if recurs => event_id::occurrence_id(&entry.uid, time, home),
        None => entry.uid.clone(),
    };
    let (summary, details) = entry.texts(sheet.bytes);
    Some(Event { id, when, summary, details })
}

fn start_of(when: &EventTime, home: &TimeZone) -> Timestamp {
    match when {
        EventTime::Timed(start, _) => start.timestamp(),
        EventTime::Days(first, _) => Moment::Day(*first).to_timestamp(home).unwrap_or(Timestamp::MIN),
    }
}

fn end_of(when: &EventTime, home: &TimeZone) -> Option<Timestamp> {
    match when {
        EventTime::Timed(_, end) => Some(end.timestamp()),
        EventTime::Days(_, after) => Moment::Day(*after).to_timestamp(home),
    }
}

fn timed_rank(when: &EventTime) -> u8 {
    u8::from(matches!(when, EventTime::Timed(..)))
}
