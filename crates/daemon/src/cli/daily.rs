//! Everyday commands: capture, today's plan, and actions on reminders and the inbox.

use clap::Subcommand;
use clap_complete::ArgValueCandidates;

use super::names;

/// What is said to the assistant in a word or a few.
#[derive(Debug, Subcommand)]
pub enum DailyCommand {
    /// The one thing to do now, and why that
    Now,
    /// What is left of today, or what is planned on a day
    #[command(before_help = "examples:\n  ollim-bot today\n  ollim-bot today friday\n  ollim-bot today week")]
    Today {
        /// A day in words: `tomorrow`, `friday`, `24.12.`, or `week`
        day: Vec<String>,
    },
    /// What is planned in the next seven days
    Week,
    /// Keep or plan something, in plain words
    #[command(before_help = "examples:\n  ollim-bot add call the dentist tomorrow at 10\n  \
        ollim-bot add \"pay rent every 1st at 9\"\n  ollim-bot add buy milk                 (no time: it goes to the inbox)\n  \
        echo \"call tom fri 10\" | ollim-bot add -")]
    Add {
        /// The words; without them, or with `-`: what comes in
        #[arg(allow_hyphen_values = true)]
        text: Vec<String>,
    },
    /// Something is done
    #[command(
        before_help = "examples:\n  ollim-bot done                 what rang last\n  ollim-bot done dentist\n  \
        ollim-bot done inbox:3"
    )]
    Done {
        /// Its id, the beginning of that, the name of its file, or words of it that only one has
        #[arg(value_name = "REF", add = ArgValueCandidates::new(names::jobs))]
        which: Vec<String>,
    },
    /// Something is for another time
    #[command(
        before_help = "examples:\n  ollim-bot move dentist thu 11\n  ollim-bot move inbox:3 tonight\n  \
        ollim-bot move \"call mum\" tomorrow evening"
    )]
    Move {
        /// Its id, the beginning of that, the name of its file, or words of it that only one has
        #[arg(value_name = "REF", add = ArgValueCandidates::new(names::jobs))]
        which: String,
        /// When, in words
        #[arg(value_name = "WHEN", required = true)]
        when: Vec<String>,
    },
    /// What rang comes again later
    #[command(
        before_help = "examples:\n  ollim-bot snooze               in ten minutes\n  ollim-bot snooze 1h\n  \
        ollim-bot snooze dentist until tomorrow"
    )]
    Snooze {
        /// Which, if it is not what rang last, and for how long or until when
        words: Vec<String>,
    },
    /// Take the last change back
    #[command(
        before_help = "examples:\n  ollim-bot undo\n  ollim-bot undo --list         show what can be undone"
    )]
    Undo {
        /// Show the last changes without undoing any
        #[arg(long)]
        list: bool,
    },
    /// What was kept without a time
    #[command(
        before_help = "examples:\n  ollim-bot inbox\n  ollim-bot inbox take 3 tonight\n  ollim-bot inbox clear"
    )]
    Inbox {
        /// What to do with it; without it: a list
        #[command(subcommand)]
        action: Option<InboxAction>,
    },
    /// How many pings are left, what is held back, and what rang today
    Pings,
    #[command(flatten)]
    Ease(AttentionCommand),
}

/// What lets less reach the human.
#[derive(Debug, Subcommand)]
pub enum AttentionCommand {
    /// Quiet hours: tell them, or change them
    #[command(before_help = "examples:\n  ollim-bot quiet\n  ollim-bot quiet 23-7\n  ollim-bot quiet for 2h")]
    Quiet {
        /// Such as `23-7`, `off` or `for 2h`
        words: Vec<String>,
    },
    /// Nothing of mine interrupts you for a while
    #[command(before_help = "examples:\n  ollim-bot focus 25\n  ollim-bot focus 50 taxes")]
    Focus {
        /// How many minutes, and on what
        words: Vec<String>,
    },
    /// A bad day: what can wait moves to tomorrow
    Lighter,
    /// All that repeats rests
    #[command(before_help = "examples:\n  ollim-bot pause\n  ollim-bot pause until thursday")]
    Pause {
        /// Until when, in words; without it: until you resume
        until: Vec<String>,
    },
    /// What rested goes on
    Resume,
}

/// What can be done with the inbox.
#[derive(Debug, Subcommand)]
pub enum InboxAction {
    /// What is in it, oldest first
    List,
    /// Keep something as it is, whatever time it names
    Add {
        /// The words; without them, or with `-`: what comes in
        #[arg(allow_hyphen_values = true)]
        text: Vec<String>,
    },
    /// Give one a time: it is planned then
    Take {
        /// Its number in the list
        number: u64,
        /// When, in words
        #[arg(value_name = "WHEN", required = true)]
        when: Vec<String>,
    },
    /// Take everything out (`undo` brings it back)
    Clear,
}
