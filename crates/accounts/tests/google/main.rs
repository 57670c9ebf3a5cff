//! Google tests with a fake server on loopback: sign-in, tokens, mail, tasks and calendar.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "test helpers stop at once with a message")]

mod mail;
mod planning;
mod rig;
mod secrets;
mod signing_in;
mod tokens;
