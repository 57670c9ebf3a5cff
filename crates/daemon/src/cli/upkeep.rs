//! The command line of upkeep: taking everything along, bringing it up to date, renewing the program.

use std::path::PathBuf;

use clap::Subcommand;

/// What keeps it going for years.
#[derive(Debug, Subcommand)]
pub enum Upkeep {
    /// Write one archive of everything, while it runs; keys and paired browsers stay, unless you say so
    #[command(before_help = "examples:\n  ollim-bot export backup.tar.gz\n  \
        ollim-bot export - | ssh other ollim-bot import -")]
    Export {
        /// Where to; `-` is stdout
        file: PathBuf,
        /// Take keys, tokens and paired browsers along: whoever has the archive can act as you
        #[arg(long)]
        with_secrets: bool,
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
    /// Bring the journal of an older version up to date now, and keep the one from before
    #[command(after_help = "A start does the same by itself.")]
    Migrate {
        /// Only tell whether there is something to do
        #[arg(long)]
        check: bool,
    },
}
