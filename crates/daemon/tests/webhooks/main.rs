//! Webhooks of the real program: the door, what survives a kill, the secret, and the command line.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests stop at once, with their reason"
)]

mod command_line;
mod door;
mod killed;
mod rig;
