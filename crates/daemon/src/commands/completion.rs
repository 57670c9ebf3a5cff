//! `ollim-bot completion`: a script that completes commands.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Failed;
use crate::voice;

/// Prints the script for `shell`.
pub fn print(shell: Shell) -> Result<ExitCode, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ollim-bot", &mut script);
    voice::print(String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
