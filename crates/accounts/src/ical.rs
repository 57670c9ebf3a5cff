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
mod zone;

pub(crate) use budget::Budget;
pub(crate) use change::{Stamp, add, delete, empty, update};
pub(crate) use look::{find, look};
pub(crate) use sheet::Sheet;

#[cfg(test)]
mod tests;
