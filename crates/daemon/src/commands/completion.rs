//! `ollim-bot completion`: prints a shell script that asks this program for candidates, so it
//! completes real names.

use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::exit::CommandError;
use crate::printer;

/// The name of the program in the shell.
const NAME: &str = "ollim-bot";

/// Prints the script for `shell`.
pub fn print(shell: Shell) -> Result<ExitCode, CommandError> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string());
    let completer =
        completer.ok_or_else(|| CommandError::Usage(format!("{shell} is no shell that i know.")))?;
    let mut script = Vec::new();
    completer.write_registration("COMPLETE", "ollim_bot", NAME, NAME, &mut script)?;
    printer::print(String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
