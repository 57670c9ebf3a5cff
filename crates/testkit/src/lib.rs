//! The world, played: what tests put in the place of vendors, people, clocks and disks.

use std::time::Duration;

/// How long a test waits, in real time, for something that should come soon. On a busy machine everything takes longer
/// than it should; only what never comes takes this long.
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
