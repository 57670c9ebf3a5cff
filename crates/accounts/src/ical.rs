//! iCalendar (RFC 5545): read without believing it, and changed without touching what is not meant.
//!
//! Our own lines, because the crates that read calendars bring a second clock and zone library, rewrite what they do
//! not know, and expand a hostile rule for as long as it asks. Here a text stays the bytes it was; a change replaces
//! the lines it means; and every reading has a budget.

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
