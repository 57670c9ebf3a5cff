//! Test doubles and harnesses: fake vendors, simulated users, clocks and disks, story and
//! simulation runners.

use std::time::Duration;

/// The time limit, in real time, for events that should come soon. Generous, because a busy machine
/// is slow; only an event that never comes takes this long.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(180);

pub mod background_runtime;
pub mod chat_server;
pub mod clock;
pub mod disk;
pub mod dovecot;
pub mod fake_discord;
pub mod google;
pub mod long_history;
pub mod mcp_server;
pub mod model_server;
pub mod null_journal;
pub mod oracle;
pub mod process;
pub mod scripted_model;
pub mod scripted_replies;
pub mod simulation;
pub mod story;
pub mod wire_models;
