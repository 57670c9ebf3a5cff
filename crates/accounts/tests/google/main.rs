//! Google, played on loopback: signing in, tokens that end, mail, tasks and a calendar.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests stop at once, with their reason"
)]

mod mail;
mod planning;
mod rig;
mod secrets;
mod signing_in;
mod tokens;
