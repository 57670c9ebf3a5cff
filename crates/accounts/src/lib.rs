//! What the human keeps elsewhere: tasks, a calendar and mail, each behind one trait with several back-ends.
//!
//! Whatever comes from there was written by others: it is data, bounded in size, and never believed.

pub mod caldav;
pub mod calendar;
mod charset;
mod dice;
pub mod fuzz;
pub mod google;
mod ical;
pub mod mail;
pub mod shelf;
pub mod tasks;
mod trouble;

pub use trouble::Trouble;
pub use wire::Secret;
