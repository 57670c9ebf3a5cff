//! Entry points for fuzzers: parse the content of calendars, mailboxes and task files.

use std::io::Cursor;

use futures_util::FutureExt as _;
use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::caldav::multistatus;
use crate::ical::{Budget, Sheet, Todo, find, look};
use crate::mail::imap::line::Line;
use crate::mail::mime;
use crate::tasks::page::Page;

/// The maximum number of expansion steps for one calendar.
const STEPS: u32 = 20_000;

/// Parses a calendar, expands a month, finds its events by id, and parses its tasks.
///
/// # Panics
/// If a listed event cannot be found.
pub fn calendar(bytes: &[u8]) {
    let Ok(sheet) = Sheet::read("calendar.ics", bytes) else { return };
    let home = TimeZone::fixed(jiff::tz::offset(1));
    let (Ok(from), Ok(until)) =
        (date(2026, 11, 1).to_zoned(home.clone()), date(2026, 12, 1).to_zoned(home.clone()))
    else {
        return;
    };
    let look = look(&sheet, &from, &until, &mut Budget::of(STEPS));
    for event in look.events.iter().take(3) {
        assert!(find(&sheet, &event.id, &home).is_ok(), "{event:?} is shown and not found");
    }
    if let Ok(tasks) = Todo::all("calendar.ics", bytes, &home) {
        let _ = format!("{tasks:?}");
    }
}

/// Parses a mail message.
pub fn letter(bytes: &[u8]) {
    let letter = mime::letter(bytes);
    let _ = mime::envelope(bytes);
    let _ = mime::words(&letter.subject);
}

/// Parses the responses of a mail server.
pub fn imap(bytes: &[u8]) {
    let mut line = Line::new(Box::new(Cursor::new(bytes.to_vec())));
    while let Some(Ok(raw)) = line.hear().now_or_never() {
        let _ = format!("{:?}", raw.tokens());
    }
}

/// Parses a response of a calendar server.
pub fn multistatus(bytes: &[u8]) {
    let _ = format!("{:?}", multistatus::read(bytes));
}

/// Parses a task file. Once all tasks have ids, none needs another one and none is lost.
///
/// # Panics
/// If one of these does not hold.
pub fn tasks(bytes: &[u8]) {
    let page = Page::read(bytes);
    if let Some(named) = page.named() {
        let again = Page::read(&named);
        assert_eq!(again.tasks().len(), page.tasks().len(), "{}", String::from_utf8_lossy(&named));
        assert!(again.named().is_none(), "{}", String::from_utf8_lossy(&named));
    }
}
