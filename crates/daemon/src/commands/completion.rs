//! `ollim-bot completion`: a script that completes commands.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Failed;

/// Prints the script for `shell`.
pub fn print(shell: Shell) -> Result<ExitCode, Failed> {
    clap_complete::generate(shell, &mut Cli::command(), "ollim-bot", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
