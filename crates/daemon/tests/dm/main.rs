//! The direct messages: the whole application and the Discord adapter, with a fake Discord.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the setup of a test must succeed")]

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
