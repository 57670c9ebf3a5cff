//! Webhooks of the real program: the endpoint, kills, secrets, and the command line.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "test helpers panic with a message")]

mod command_line;
mod endpoint;
mod kills;
mod rig;
