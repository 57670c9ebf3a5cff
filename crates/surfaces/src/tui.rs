//! The full screen: the conversation, the day, running work and the ping budget side by side.
//!
//! `state` holds the data, `view` renders it, and only `show` accesses the terminal. It uses the
//! same API as other clients.

mod driver;
mod log;
mod panes;
mod state;
mod view;

pub use driver::{FullScreenOptions, run};
