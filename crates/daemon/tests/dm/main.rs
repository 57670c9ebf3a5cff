//! The direct messages: the whole house behind the adapter, and a played Discord before it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "what a test sets up itself is there")]

mod attention;
#[path = "../../../surfaces/tests/discord/bridge.rs"]
mod bridge;
mod cards;
mod commands;
mod day;
mod faults;
mod google;
mod owner;
mod planned;
mod rig;
mod talk;
