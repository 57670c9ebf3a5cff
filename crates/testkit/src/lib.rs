//! The world, played: what tests put in the place of vendors, people, clocks and disks.

pub mod chat_server;
pub mod clock;
pub mod disk;
pub mod model_server;
pub mod play;
pub mod puppet;
pub mod story;
