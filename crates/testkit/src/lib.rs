//! The world, played: what tests put in the place of vendors, people, clocks and disks.

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
