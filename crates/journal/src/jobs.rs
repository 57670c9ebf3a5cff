//! Tracks the job files and reports changes from one scan to the next.
//!
//! The user, editors and programs change these files at any time. The news are: a plan is new or
//! changed, a plan is gone, a file is invalid and why. An invalid file keeps its last valid plan,
//! and a file that is still being saved causes no news.

mod kind;
mod scanner;
mod tracked_file;
mod tracked_files;
mod watch;

pub use scanner::JobFileScanner;
pub use watch::{JobFileWatch, SCAN_INTERVAL, watch};
