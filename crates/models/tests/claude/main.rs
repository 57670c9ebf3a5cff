//! Tests of the Claude Code client: the real program with a fake model server, and a scripted
//! stand-in for error cases.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod driver;
mod error_cases;
mod failures;
mod hooks;
mod measure;
mod sessions;
mod sign_in;
mod support;
mod tools;
mod turns;
