//! Setting it up and keeping it up: the real program, and everybody it talks to played on loopback.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "what a test sets up itself is there, and helpers stop at once with their reason"
)]

mod canaries;
mod doctor;
mod elsewhere;
mod fresh;
mod gone;
mod keys;
mod logs;
mod numbers;
mod repairing;
mod rig;
mod service;
mod setup;
mod traced;
mod watchdog;
mod words;
