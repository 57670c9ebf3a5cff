//! The domain: state and decisions, without I/O.
//!
//! The crate reads no clock and has no `async`. Time, ids and randomness are passed in; decisions
//! are returned as values.

pub mod agent;
pub mod approval;
pub mod assistant;
pub mod attention;
pub mod brain;
pub mod card;
pub mod command;
pub mod compaction;
pub mod context;
pub mod conversation;
pub mod cost;
pub mod delivery;
pub mod dice;
pub mod effort;
pub mod embed;
pub mod explanation;
pub mod failure;
pub mod fork;
pub mod hidden;
pub mod inbox;
mod json;
pub mod label;
pub mod model;
pub mod occurrence;
pub mod patience;
pub mod permission;
pub mod phrase;
pub mod ping_budget;
pub mod place;
pub mod post;
pub mod progress;
pub mod record;
pub mod renewal;
pub mod report;
pub mod run;
pub mod schedule;
pub mod sent;
pub mod settings;
pub mod signing_in;
pub mod thinking;
pub mod tool;
pub mod turn;
pub mod wish;
