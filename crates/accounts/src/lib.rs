//! The user's tasks, calendar and mail: one trait each, with several back ends.
//!
//! Everything read from there is outside data: bounded in size and not trusted.

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
