//! Tests of iCalendar parsing and editing.

mod changes;
mod hard;
mod hostile;
mod reading;

use jiff::Zoned;

use super::*;
use crate::calendar::{Event, Look, When};

/// Returns a calendar with these components and correct line ends.
fn calendar(parts: &str) -> String {
    let lines = parts.trim().lines().map(str::trim);
    let inside: String = lines.map(|line| format!("{line}\r\n")).collect();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{inside}END:VCALENDAR\r\n")
}

fn event(lines: &str) -> String {
    calendar(&format!("BEGIN:VEVENT\nUID:it\n{}\nEND:VEVENT", lines.trim()))
}

fn at(time: &str) -> Zoned {
    time.parse().unwrap()
}

fn seen(text: &[u8], from: &str, until: &str) -> Look {
    look(&Sheet::read("calendar.ics", text).unwrap(), &at(from), &at(until), &mut Budget::new())
}

fn told(event: &Event) -> String {
    match &event.when {
        When::Timed(start, end) => {
            let same = start.date() == end.date();
            let end = end.strftime(if same { "%H:%M" } else { "%Y-%m-%d %H:%M" });
            format!("{} - {end}", start.strftime("%Y-%m-%d %H:%M"))
        }
        When::Days(first, after) => format!("{first} until before {after}"),
    }
}

/// Returns the times of the events in a window, one per line, followed by the problems.
fn times(text: &str, from: &str, until: &str) -> String {
    let look = seen(text.as_bytes(), from, until);
    let lines = look.events.iter().map(told).chain(look.left_out.iter().cloned());
    lines.map(|line| line + "\n").collect()
}
