//! `ollim-bot mail` and `ollim-bot google`, as a human at a command line sees them.
#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

mod gmail;
mod google;
mod imap;
mod rig;
