//! Setup and maintenance: the real program with fakes of all its servers on loopback.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "the setup of a test must succeed, and helpers panic with a message"
)]

mod arguments;
mod canaries;
mod doctor;
mod external_accounts;
mod file_modes;
mod first_setup;
mod keys;
mod logs;
mod metrics;
mod missing_key;
mod rig;
mod service;
mod setup;
mod setup_repair;
mod watchdog;
