//! The domain: state and decisions, without I/O.
//!
//! The crate reads no clock and has no `async`. Time, ids and randomness are passed in; decisions
//! are returned as values.

pub mod agent;
pub mod approval;
pub mod assistant;
pub mod attention;
pub mod card;
pub mod command;
pub mod compaction;
pub mod context;
pub mod context_tool;
pub mod conversation;
pub mod cost;
pub mod delivery;
pub mod effort;
pub mod embed;
pub mod explanation;
pub mod failure;
pub mod fork;
pub mod hidden_chars;
pub mod inbox;
pub mod intent;
mod json;
pub mod label;
pub mod maintenance;
pub mod model;
pub mod occurrence;
pub mod outbox;
pub mod pending_update;
pub mod permission;
pub mod phrase;
pub mod ping_budget;
pub mod place;
pub mod progress;
pub mod record;
pub mod retry_policy;
pub mod rng;
pub mod run;
pub mod schedule;
pub mod sent_messages;
pub mod settings;
pub mod sign_in;
pub mod thinking;
pub mod tool;
pub mod turn;
