//! Entry points for fuzzers: parse the content of calendars, mailboxes and task files.

use std::io::Cursor;

use futures_util::FutureExt as _;
use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::caldav::multistatus;
use crate::ical::{Budget, CalendarDocument, Todo, events_between, find_event};
use crate::mail::imap::connection::ImapConnection;
use crate::mail::mime;
use crate::tasks::task_file::TaskFile;

/// The maximum number of expansion steps for one calendar.
const MAX_STEPS: u32 = 20_000;

/// Parses a calendar, expands a month, finds its events by id, and parses its tasks.
///
/// # Panics
/// If a listed event cannot be found.
pub fn calendar(bytes: &[u8]) {
    let Ok(sheet) = CalendarDocument::parse("calendar.ics", bytes) else { return };
    let home = TimeZone::fixed(jiff::tz::offset(1));
    let (Ok(from), Ok(until)) =
        (date(2026, 11, 1).to_zoned(home.clone()), date(2026, 12, 1).to_zoned(home.clone()))
    else {
        return;
    };
    let look = events_between(&sheet, &from, &until, &mut Budget::with_steps(MAX_STEPS));
    for event in look.events.iter().take(3) {
        assert!(find_event(&sheet, &event.id, &home).is_ok(), "{event:?} is shown and not found");
    }
    if let Ok(tasks) = Todo::parse_all("calendar.ics", bytes, &home) {
        let _ = format!("{tasks:?}");
    }
}

/// Parses a mail message.
pub fn mail_message(bytes: &[u8]) {
    let letter = mime::parse_message(bytes);
    let _ = mime::parse_envelope(bytes);
    let _ = mime::decode_words(&letter.subject);
}

/// Parses the responses of a mail server.
pub fn imap_responses(bytes: &[u8]) {
    let mut line = ImapConnection::new(Box::new(Cursor::new(bytes.to_vec())));
    while let Some(Ok(raw)) = line.receive().now_or_never() {
        let _ = format!("{:?}", raw.tokens());
    }
}

/// Parses a response of a calendar server.
pub fn multistatus(bytes: &[u8]) {
    let _ = format!("{:?}", multistatus::parse(bytes));
}

/// Parses a task file. Once all tasks have ids, none needs another one and none is lost.
///
/// # Panics
/// If one of these does not hold.
pub fn task_file(bytes: &[u8]) {
    let page = TaskFile::parse(bytes);
    if let Some(named) = page.with_ids() {
        let again = TaskFile::parse(&named);
        assert_eq!(again.tasks().len(), page.tasks().len(), "{}", String::from_utf8_lossy(&named));
        assert!(again.with_ids().is_none(), "{}", String::from_utf8_lossy(&named));
    }
}
