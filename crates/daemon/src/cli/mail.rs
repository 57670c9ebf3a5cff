//! The `mail` and `google` commands.

use accounts::google::Service;
use clap::{Args, Subcommand, ValueEnum, value_parser};

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub enum MailAction {
    /// What was not read yet, newest first
    Unread {
        /// How many at most
        #[command(flatten)]
        most: ResultLimit,
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
        most: ResultLimit,
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
pub struct ResultLimit {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u16).range(1..=500))]
    pub max: u16,
}

/// What can be done with the account.
#[derive(Clone, Debug, Subcommand)]
pub enum GoogleAction {
    /// Connect Google for all services that are not kept elsewhere, or for those you name
    Connect {
        /// The services to connect
        #[arg(value_name = "SERVICE")]
        services: Vec<GoogleService>,
    },
    /// Show the services that are connected
    Status,
    /// Revoke the access and forget it
    Disconnect,
}

/// A service of the account at Google.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GoogleService {
    /// Google Tasks
    Tasks,
    /// Google Calendar
    Calendar,
    /// Gmail, read-only
    Mail,
}

impl From<GoogleService> for Service {
    fn from(service: GoogleService) -> Self {
        match service {
            GoogleService::Tasks => Self::Tasks,
            GoogleService::Calendar => Self::Calendar,
            GoogleService::Mail => Self::Mail,
        }
    }
}
