//! The files of the data directory that the user and other programs can read.
//!
//! A missing file counts as empty. A damaged file is kept under another name and reported to the
//! caller, never reset silently. An existing file that cannot be read is an error, because treating
//! it as empty would overwrite it.

pub mod agents;
pub mod config;
mod error;
pub mod fork_messages;
pub mod inquiries;
pub mod items;
mod job_keys;
pub mod model_places;
pub mod pending_updates;
pub mod ping_budget;
pub mod reference;
pub mod reminders;
mod rhythm;
pub mod routine_sessions;
pub mod routines;
pub mod session_history;
pub mod sessions;
pub mod skills;
mod state_file;
pub mod tool_lists;
pub mod webhooks;

pub use error::{Damage, FileError};
pub use state_file::FileContent;
