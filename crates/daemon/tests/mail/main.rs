//! `ollim-bot mail` and `ollim-bot google` on the command line.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

mod gmail;
mod google;
mod imap;
mod rig;
