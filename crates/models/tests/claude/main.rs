//! Tests of the Claude Code client: the real program with a fake model server, and a scripted
//! stand-in for error cases.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod driven;
mod failures;
mod hooks;
mod measure;
mod sessions;
mod signing_in;
mod stage;
mod tools;
mod turns;
mod ugly;
