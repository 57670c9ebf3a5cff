//! The user's tasks, calendar and mail: one trait each, with several back ends.
//!
//! Everything read from there is outside data: bounded in size and not trusted.

pub mod caldav;
pub mod calendar;
mod charset;
mod error;
pub mod file_store;
pub mod fuzz;
pub mod google;
mod ical;
pub mod mail;
mod random;
pub mod tasks;

pub use error::AccountError;
pub use wire::Secret;
