//! Test doubles and harnesses: fake vendors, simulated users, clocks and disks, story and
//! simulation runners.

use std::time::Duration;

/// The time limit, in real time, for events that should come soon. Generous, because a busy machine
/// is slow; only an event that never comes takes this long.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub mod chat_server;
pub mod clock;
pub mod discord;
pub mod disk;
pub mod dovecot;
pub mod elsewhere;
pub mod forgetful;
pub mod google;
pub mod kill;
pub mod life;
pub mod long_life;
pub mod mcp_server;
pub mod model_server;
pub mod oracle;
pub mod play;
pub mod puppet;
pub mod story;
pub mod troupe;
