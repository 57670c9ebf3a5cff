//! Commands for tasks, calendar and mail, in local files or remote accounts.

use clap::{Subcommand, value_parser};

use super::mail::{GoogleAction, MailAction};

/// What is kept.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Tasks: list, add, done, update, delete
    #[command(before_help = "examples:\n  ollim-bot tasks list\n  \
        ollim-bot tasks add call the dentist --due 2026-11-20\n  ollim-bot tasks done k3f9x")]
    Tasks {
        /// What to do with them; without it: a list
        #[command(subcommand)]
        action: Option<TaskAction>,
    },
    /// The calendar: today, upcoming, show, add, update, delete
    #[command(before_help = "examples:\n  ollim-bot cal today\n  ollim-bot cal upcoming --days 14\n  \
        ollim-bot cal add \"lunch with tom\" --start 2026-11-20T12:00 --end 2026-11-20T13:00\n  \
        ollim-bot cal update k3f9xk3f9x --start \"friday at 12:30\"")]
    Cal {
        /// What to do with it; without it: what is today
        #[command(subcommand)]
        action: Option<CalAction>,
    },
    /// Mail, which is only read: unread, search, read, labels
    #[command(
        visible_alias = "gmail",
        before_help = "examples:\n  ollim-bot mail unread\n  ollim-bot mail search from:ann invoice --max 5\n  \
        ollim-bot mail read 18c2f0a9d3e4b517\n  ollim-bot mail labels"
    )]
    Mail {
        /// What to look at
        #[command(subcommand)]
        action: MailAction,
    },
    /// The account at Google: connect, status, disconnect
    #[command(
        before_help = "examples:\n  ollim-bot google connect tasks calendar\n  ollim-bot google status"
    )]
    Google {
        /// What to do with it
        #[command(subcommand)]
        action: GoogleAction,
    },
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TaskAction {
    /// Those that are still to be done
    List {
        /// Also those that are done
        #[arg(long)]
        all: bool,
    },
    /// Add one
    Add {
        /// What is to be done
        #[arg(required = true)]
        title: Vec<String>,
        /// The day it is due: YYYY-MM-DD, or in words
        #[arg(long, value_name = "DAY")]
        due: Option<String>,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// One is done
    Done {
        /// Its id
        id: String,
    },
    /// Change one
    Update {
        /// Its id
        id: String,
        /// What is to be done
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// The day it is due: YYYY-MM-DD, or in words
        #[arg(long, value_name = "DAY")]
        due: Option<String>,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Remove one
    Delete {
        /// Its id
        id: String,
    },
}

/// What can be done with the calendar.
#[derive(Debug, Subcommand)]
pub enum CalAction {
    /// What is today
    Today,
    /// What comes in the next days, today included
    Upcoming {
        /// How many days
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = value_parser!(u16).range(1..=3660))]
        days: u16,
    },
    /// All about one event
    Show {
        /// Its id
        id: String,
    },
    /// Add an event
    Add {
        /// What it is
        #[arg(required = true)]
        summary: Vec<String>,
        /// When it begins: YYYY-MM-DDTHH:MM, or in words
        #[arg(long, value_name = "TIME")]
        start: String,
        /// When it ends: YYYY-MM-DDTHH:MM, or in words
        #[arg(long, value_name = "TIME")]
        end: String,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Change an event; of one that recurs, only the time that the id names
    Update {
        /// Its id
        id: String,
        /// What it is
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// When it begins: YYYY-MM-DDTHH:MM, or in words. Without --end, it stays as long as it is
        #[arg(long, value_name = "TIME")]
        start: Option<String>,
        /// When it ends: YYYY-MM-DDTHH:MM, or in words
        #[arg(long, value_name = "TIME")]
        end: Option<String>,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Remove an event; of one that recurs, only the time that the id names
    Delete {
        /// Its id
        id: String,
    },
}
