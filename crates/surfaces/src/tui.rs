//! The full screen: the conversation beside the day, what goes on aside, and how many pings are left.
//!
//! What it shows is a value (`state`), how that looks is a function of it (`view`), and only `show` touches the
//! terminal. It asks the assistant what any other client could ask, and costs nothing while nobody looks.

mod log;
mod panes;
mod show;
mod state;
mod view;

pub use show::{Setup, show};
