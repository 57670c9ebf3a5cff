//! iCalendar (RFC 5545): bounded parsing of untrusted files, and minimal edits.
//!
//! This is our own implementation, because existing crates depend on another time library, rewrite
//! what they do not know, and expand hostile rules without limit. Here a file stays as its bytes, a
//! change replaces only the affected lines, and every query has a budget.

mod block;
mod budget;
mod change;
mod entry;
mod expand;
mod id;
mod line;
mod look;
mod moment;
mod rule;
mod sheet;
mod text;
mod timezone;
mod todo;
mod zone;

pub(crate) use budget::Budget;
pub(crate) use change::{Stamp, add, delete, empty, update};
pub(crate) use id::series_of;
pub(crate) use look::{find, look, sort};
pub(crate) use sheet::{Kind, Sheet};
pub(crate) use todo::{Todo, add_todo};

#[cfg(test)]
mod tests;
