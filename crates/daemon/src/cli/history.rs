//! The `history` commands.

use clap::{ArgAction, Args, Subcommand};

/// What can be asked of the past.
#[derive(Debug, Subcommand)]
pub enum HistoryAction {
    /// The conversations, the one that was last spoken to first
    #[command(
        before_help = "examples:\n  ollim-bot history sessions --since 24h\n  ollim-bot history sessions -t discord"
    )]
    Sessions(HistoryFilter),
    /// What was said to it, by you or by a job, newest first; the number is for `history response`
    #[command(
        before_help = "examples:\n  ollim-bot history prompts --since 7d -v\n  ollim-bot history prompts -t house --page 2"
    )]
    Prompts(HistoryFilter),
    /// What it answered
    #[command(
        before_help = "examples:\n  ollim-bot history response 17\n  ollim-bot history response 17 -v      with what its tools did"
    )]
    Response {
        /// The number in `history prompts`
        number: u64,
        /// With calls of tools and their results
        #[arg(short, long, action = ArgAction::Count)]
        verbose: u8,
    },
    /// All that was said in one conversation, the newest part of it first
    #[command(
        before_help = "examples:\n  ollim-bot history transcript\n  ollim-bot history transcript fork/1a2b3c4d\n  \
        ollim-bot history transcript 7f3a9c21 --page 2"
    )]
    Transcript {
        /// A branch, or the beginning of a session as `history sessions` names it
        #[arg(default_value = "main")]
        name: String,
        /// Which part of it.
        #[command(flatten)]
        which: HistoryFilter,
    },
    /// Where words were said, the best places first; the last word may be a beginning
    #[command(
        before_help = "examples:\n  ollim-bot history search dentist\n  ollim-bot history search --since 2026-11-01 train tickets\n  \
        ollim-bot history search -t discord -r invoice     in the order of time"
    )]
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
        /// Which of them.
        #[command(flatten)]
        which: HistoryFilter,
    },
    /// A whole conversation as markdown
    #[command(before_help = "example:\n  ollim-bot history export main > conversation.md")]
    Export {
        /// A branch, or the beginning of a session
        #[arg(default_value = "main")]
        name: String,
    },
}

/// Which part of the past.
#[derive(Debug, Default, Args)]
pub struct HistoryFilter {
    /// Only what was said since: 90m, 24h, 7d, 2w, or a day such as 2026-11-01
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only what was said before: the same
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only on a surface (terminal, page, discord, house) or on a branch with that in its name
    #[arg(short, long = "tag", value_name = "TEXT")]
    pub tags: Vec<String>,
    /// Which page
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub page: u32,
    /// The other way round
    #[arg(short, long)]
    pub reverse: bool,
    /// The words whole, with calls of tools and their results
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}
