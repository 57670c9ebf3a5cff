//! Statistics about pings: reaction times and outcomes.

use std::collections::BTreeMap;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::PingEvent;

/// Minimum number of reactions for a median.
const MIN_REACTIONS: usize = 3;

/// Parts of the day with their first hour; hours before the first belong to the last.
const PARTS: [(&str, i8); 4] = [("morning", 5), ("midday", 11), ("afternoon", 14), ("evening", 18)];

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// Outcomes in display order.
const OUTCOMES: [&str; 8] = ["done", "moved", "answered", "dropped", "put away", "open", "held", "refused"];

/// One part of one day of the week.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct CellDto {
    part: &'static str,
    day: &'static str,
    /// Number of reactions.
    count: usize,
    /// Median in minutes; null if there were too few.
    minutes: Option<u64>,
}

/// Number of pings with one outcome.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct OutcomeDto {
    outcome: &'static str,
    count: usize,
}

/// Returns the reaction times for every part of every day of the week.
pub(super) fn grid(events: &[PingEvent], zone: &TimeZone) -> Vec<CellDto> {
    let mut reactions: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for event in events {
        let Some(minutes) = event.minutes() else { continue };
        let at = event.at.to_zoned(zone.clone());
        let part = PARTS.iter().rev().find(|(_, from)| at.hour() >= *from).unwrap_or(&PARTS[3]).0;
        let day = DAYS.iter().find(|(_, day)| *day == at.weekday()).map_or("mon", |(name, _)| name);
        reactions.entry((part, day)).or_default().push(minutes);
    }
    let cell = |part: &'static str, day: &'static str| {
        let all = reactions.get(&(part, day)).cloned().unwrap_or_default();
        CellDto { part, day, count: all.len(), minutes: median(all) }
    };
    PARTS.iter().flat_map(|(part, _)| DAYS.iter().map(move |(day, _)| cell(part, day))).collect()
}

fn median(mut minutes: Vec<u64>) -> Option<u64> {
    minutes.sort_unstable();
    (minutes.len() >= MIN_REACTIONS).then(|| minutes[minutes.len() / 2])
}

/// Counts the outcomes.
pub(super) fn outcomes(events: &[PingEvent]) -> Vec<OutcomeDto> {
    let count = |outcome: &'static str| {
        let count = events.iter().filter(|event| event.outcome == outcome).count();
        OutcomeDto { outcome, count }
    };
    OUTCOMES.into_iter().map(count).filter(|outcome| outcome.count > 0).collect()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn event(at: &str, minutes: Option<i64>, outcome: &'static str) -> PingEvent {
        let at: Timestamp = at.parse().unwrap();
        PingEvent {
            at,
            lane: "my idea",
            job: String::new(),
            name: None,
            words: String::new(),
            outcome,
            reacted: minutes.map(|minutes| at + SignedDuration::from_mins(minutes)),
            charge: None,
            why: String::new(),
        }
    }

    #[test]
    fn a_median_needs_three_reactions() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let monday = |hour: u8, minutes| event(&format!("2026-11-16T{hour:02}:30Z"), minutes, "answered");
        let mut events = vec![monday(8, Some(9)), monday(8, Some(1)), monday(2, Some(5)), monday(8, None)];
        let cell = |events: &[PingEvent], part: &str, day: &str| {
            let cells = grid(events, &zone);
            let found = cells.into_iter().find(|cell| (cell.part, cell.day) == (part, day)).unwrap();
            (found.count, found.minutes)
        };
        assert_eq!(cell(&events, "morning", "mon"), (2, None));
        assert_eq!(cell(&events, "evening", "mon"), (1, None), "the night belongs to the evening");
        events.push(monday(7, Some(4)));
        assert_eq!(cell(&events, "morning", "mon"), (3, Some(4)));
        assert_eq!(grid(&events, &zone).len(), 28);
    }

    #[test]
    fn outcomes_are_counted() {
        let at = "2026-11-16T08:00Z";
        let events = [event(at, None, "open"), event(at, None, "done"), event(at, None, "open")];
        let told = outcomes(&events);
        assert_eq!(
            told.iter().map(|one| (one.outcome, one.count)).collect::<Vec<_>>(),
            [("done", 1), ("open", 2)]
        );
    }
}
