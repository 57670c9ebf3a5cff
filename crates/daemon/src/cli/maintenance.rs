//! Maintenance commands: export, import, update, restart, migration.

use std::path::PathBuf;

use clap::Subcommand;

/// What keeps it going for years.
#[derive(Debug, Subcommand)]
pub enum MaintenanceCommand {
    /// Write one archive of everything, while it runs; keys and paired browsers stay, unless you say so
    #[command(before_help = "examples:\n  ollim-bot export backup.tar.gz\n  \
        ollim-bot export - | ssh other ollim-bot import -")]
    Export {
        /// Where to; `-` is stdout
        file: PathBuf,
        /// Take keys, tokens and paired browsers along: whoever has the archive can act as you
        #[arg(long)]
        with_secrets: bool,
        /// Where a file is already: put the archive in its place
        #[arg(long)]
        replace: bool,
    },
    /// Put an archive in the place of an empty data directory, after every file in it was looked over
    #[command(before_help = "examples:\n  ollim-bot import backup.tar.gz\n  \
        ollim-bot import backup.tar.gz --data-dir other\n  ollim-bot import backup.tar.gz --replace")]
    Import {
        /// The archive; `-` is stdin
        file: PathBuf,
        /// Where something is already: put the archive there, and keep what there was beside it
        #[arg(long)]
        replace: bool,
    },
    /// Become the newest version, where the program runs from a git checkout of its source
    #[command(
        after_help = "What was built is looked over before it takes the place of this one, and the one from before \
        is kept beside it. [update] in settings.toml says where the source is and what builds it."
    )]
    Update {
        /// Only tell whether there is a newer one
        #[arg(long)]
        check: bool,
    },
    /// Start the running assistant again, when nothing goes on
    Restart,
    /// Open everything as a start would, and say whether that went well
    #[command(hide = true)]
    SelfCheck,
    /// Bring the journal of an older version up to date now, and keep the one from before
    #[command(after_help = "A start does the same by itself.")]
    Migrate {
        /// Only tell whether there is something to do
        #[arg(long)]
        check: bool,
    },
}
