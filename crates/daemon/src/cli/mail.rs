//! The command line of mail, and of the account at Google.

use clap::{Args, Subcommand, value_parser};

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub enum MailAction {
    /// What was not read yet, newest first
    Unread {
        /// How many at most
        #[command(flatten)]
        most: Most,
    },
    /// What some words find, newest first
    Search {
        /// The words; from:, to:, subject: and is:unread narrow it down
        #[arg(allow_hyphen_values = true)]
        query: String,
        /// More of them
        #[arg(hide = true)]
        more: Vec<String>,
        /// How many at most
        #[command(flatten)]
        most: Most,
    },
    /// One message, which stays as unread as it was
    Read {
        /// The id that a list shows first
        id: String,
    },
    /// The folders, or labels
    Labels,
}

/// How many at most.
#[derive(Clone, Copy, Debug, Args)]
pub struct Most {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u16).range(1..=500))]
    pub max: u16,
}

/// What can be done with the account.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum GoogleAction {
    /// Let me read mail, and keep tasks and events, at Google
    Connect,
    /// Whether it is connected
    Status,
    /// Give back what i was given
    Disconnect,
}
