//! iCalendar (RFC 5545): bounded parsing of untrusted files, and minimal edits.
//!
//! This is our own implementation, because existing crates depend on another time library, rewrite
//! what they do not know, and expand hostile rules without limit. Here a file stays as its bytes, a
//! change replaces only the affected lines, and every query has a budget.

mod budget;
mod change;
mod component;
mod document;
mod entry;
mod event_id;
mod expansion;
mod line;
mod moment;
mod query;
mod rule;
mod text;
mod time_zones;
mod todo;
mod vtimezone;

pub(crate) use budget::Budget;
pub(crate) use change::{ChangeContext, add_event, delete_event, empty_calendar, update_event};
pub(crate) use document::{CalendarDocument, ComponentKind};
pub(crate) use event_id::series_id;
pub(crate) use query::{events_between, find_event, sort_events};
pub(crate) use todo::{Todo, add_todo};

#[cfg(test)]
mod tests;
