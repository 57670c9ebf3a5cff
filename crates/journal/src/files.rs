//! The files of the data directory that people and other programs can read.
//!
//! A file that is missing is empty. A file that is damaged is kept under another name, and whoever asked for it
//! is told; it is never reset in silence. A file that is there and cannot be read is an error, because to go on
//! as if it were empty would end in overwriting it.

pub mod agents;
pub mod config;
pub mod fork_messages;
pub mod history;
pub mod inquiries;
pub mod items;
mod job_head;
pub mod model_places;
pub mod pending_updates;
pub mod ping_budget;
pub mod reference;
pub mod reminders;
mod rhythm;
pub mod routine_sessions;
pub mod routines;
pub mod sessions;
pub mod skills;
mod state;
pub mod tool_lists;
mod trouble;
pub mod webhooks;

pub use state::Found;
pub use trouble::{Damage, Trouble};
