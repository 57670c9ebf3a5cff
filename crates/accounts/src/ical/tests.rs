//! Tests of iCalendar parsing and editing.

mod changes;
mod hostile;
mod parsing;
mod recurrence_rules;

use jiff::Zoned;

use super::*;
use crate::calendar::{Event, EventQueryResult, EventTime};

/// Returns a calendar with these components and correct line ends.
fn calendar_text(parts: &str) -> String {
    let lines = parts.trim().lines().map(str::trim);
    let inside: String = lines.map(|line| format!("{line}\r\n")).collect();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{inside}END:VCALENDAR\r\n")
}

fn event_text(lines: &str) -> String {
    calendar_text(&format!("BEGIN:VEVENT\nUID:it\n{}\nEND:VEVENT", lines.trim()))
}

fn zoned(time: &str) -> Zoned {
    time.parse().unwrap()
}

fn query_events(text: &[u8], from: &str, until: &str) -> EventQueryResult {
    events_between(
        &CalendarDocument::parse("calendar.ics", text).unwrap(),
        &zoned(from),
        &zoned(until),
        &mut Budget::new(),
    )
}

fn format_times(event: &Event) -> String {
    match &event.when {
        EventTime::Timed(start, end) => {
            let same = start.date() == end.date();
            let end = end.strftime(if same { "%H:%M" } else { "%Y-%m-%d %H:%M" });
            format!("{} - {end}", start.strftime("%Y-%m-%d %H:%M"))
        }
        EventTime::Days(first, after) => format!("{first} until before {after}"),
    }
}

/// Returns the times of the events in a window, one per line, followed by the problems.
fn listed_times(text: &str, from: &str, until: &str) -> String {
    let look = query_events(text.as_bytes(), from, until);
    let lines = look.events.iter().map(format_times).chain(look.problems.iter().cloned());
    lines.map(|line| line + "\n").collect()
}
