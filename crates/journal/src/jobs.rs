//! Tracks the job files and reports changes from one scan to the next.
//!
//! The user, editors and programs change these files at any time. The news are: a plan is new or
//! changed, a plan is gone, a file is invalid and why. An invalid file keeps its last valid plan,
//! and a file that is still being saved causes no news.

mod book;
mod kind;
mod sheet;
mod shelf;
mod watch;

pub use book::JobBook;
pub use watch::{LOOKS_EVERY, Watch, watch};
