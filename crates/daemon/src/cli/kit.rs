//! The command line of what the assistant is lent: skills, and other programs' tools.

use clap::Subcommand;

/// What the assistant is lent.
#[derive(Debug, Subcommand)]
pub enum Kit {
    /// Instructions with a name: which there are, and which of them you have accepted
    #[command(before_help = "examples:\n  ollim-bot skills list\n  ollim-bot skills show mail-triage\n  \
        ollim-bot skills accept mail-triage")]
    Skills {
        /// What to do with them; without it: a list
        #[command(subcommand)]
        action: Option<SkillsAction>,
    },
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub enum SkillsAction {
    /// All of them, and whether their commands may run; and files that cannot be read, with the reason
    List,
    /// One of them: its text, and the commands that it would run
    Show {
        /// The name of its directory in `skills`
        name: String,
    },
    /// Let the commands of one run, as its file is now; after a change it must be accepted again
    Accept {
        /// The name of its directory in `skills`
        name: String,
    },
}
