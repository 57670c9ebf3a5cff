//! Benchmarks queries of a calendar with ten thousand events.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the bench at once")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use accounts::calendar::{Calendar, LocalCalendar};
use accounts::file_store::{FileStore, ReplaceOutcome};
use divan::{Bencher, black_box};
use engine::ports::Clock;
use futures_util::FutureExt;
use jiff::Zoned;

fn main() {
    divan::main();
}

/// A file in memory, so that the disk is not measured.
struct MemoryStore(Vec<u8>);

impl FileStore for MemoryStore {
    fn read(&self, _: &Path, _: usize) -> io::Result<Option<Vec<u8>>> {
        Ok(Some(self.0.clone()))
    }

    fn replace_if_unchanged(&self, _: &Path, _: Option<&[u8]>, _: &[u8]) -> io::Result<ReplaceOutcome> {
        Ok(ReplaceOutcome::Replaced)
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Zoned {
        "2026-11-16T12:00[Europe/Berlin]".parse().unwrap()
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}

/// Most events are single ones over ten years; one in ten recurs, with all kinds of rules.
fn event(n: usize) -> String {
    let year = 2018 + n % 10;
    let month = 1 + n / 10 % 12;
    let day = 1 + n / 120 % 28;
    let hour = n % 24;
    let rule = match n % 40 {
        0 => "RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR\r\n",
        10 => "RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=60\r\n",
        20 => "RRULE:FREQ=YEARLY\r\n",
        30 => {
            "RRULE:FREQ=DAILY;INTERVAL=3;UNTIL=20301231T000000Z\r\nEXDATE;TZID=Europe/Berlin:20261116T090000\r\n"
        }
        _ => "",
    };
    format!(
        "BEGIN:VEVENT\r\nUID:event-{n}@example.org\r\nDTSTAMP:20260101T000000Z\r\nCREATED:20260101T000000Z\r\n\
         DTSTART;TZID=Europe/Berlin:{year}{month:02}{day:02}T{hour:02}0000\r\n\
         DTEND;TZID=Europe/Berlin:{year}{month:02}{day:02}T{hour:02}3000\r\n{rule}SUMMARY:Event number {n}\r\n\
         DESCRIPTION:Some words about it\\, and a few more\\nover two lines.\r\nLOCATION:Somewhere\r\n\
         SEQUENCE:0\r\nSTATUS:CONFIRMED\r\nTRANSP:OPAQUE\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\n\
         DESCRIPTION:Reminder\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    )
}

fn calendar(events: usize) -> LocalCalendar {
    let inside: String = (0..events).map(event).collect();
    let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{inside}END:VCALENDAR\r\n");
    LocalCalendar::new(Arc::new(MemoryStore(text.into_bytes())), "calendar.ics".into(), Arc::new(FixedClock))
}

fn look(bencher: Bencher, events: usize, until: &str) {
    let calendar = calendar(events);
    let (from, until): (Zoned, Zoned) =
        ("2026-11-16T00:00[Europe/Berlin]".parse().unwrap(), until.parse().unwrap());
    bencher.bench_local(|| {
        let look = calendar.query(from.clone(), until.clone()).now_or_never().unwrap().unwrap();
        assert!(look.problems.is_empty() && !look.events.is_empty());
        black_box(look.events.len())
    });
}

#[divan::bench(args = [100, 10_000])]
fn a_week_of_the_calendar(bencher: Bencher, events: usize) {
    look(bencher, events, "2026-11-23T00:00[Europe/Berlin]");
}

#[divan::bench(args = [10_000])]
fn a_quarter_of_the_calendar(bencher: Bencher, events: usize) {
    look(bencher, events, "2027-02-16T00:00[Europe/Berlin]");
}
