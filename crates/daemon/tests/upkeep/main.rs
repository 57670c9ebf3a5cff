//! Setup and maintenance: the real program with fakes of all its servers on loopback.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "the setup of a test must succeed, and helpers panic with a message"
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
