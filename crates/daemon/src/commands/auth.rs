//! `ollim-bot auth`: runs the claude program's own sign-in commands.

use std::process::{Command, ExitCode};

use crate::exit::CommandError;
use crate::printer::print;
use crate::settings::Environment;

const USAGE: &str = "\
usage: ollim-bot auth login|status|logout

Signs the claude program in and out; what follows is passed on to it. Only OLLIM_MODEL=claude needs it.";

/// Passes `words` to the program and returns its exit code.
pub fn run(words: &[String], environment: &Environment) -> Result<ExitCode, CommandError> {
    match words.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => {
            print(USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Some("login" | "status" | "logout") => run_program(words, environment),
        Some(other) => Err(CommandError::Usage(format!("auth has no `{other}`.\n{USAGE}"))),
    }
}

fn run_program(words: &[String], environment: &Environment) -> Result<ExitCode, CommandError> {
    let program = environment.get("OLLIM_CLAUDE").unwrap_or("claude");
    let ended = Command::new(program).arg("auth").args(words).status().map_err(|error| {
        CommandError::Failed(format!(
            "`{program}` cannot be run: {error}. install it (npm install -g @anthropic-ai/claude-code), or set OLLIM_CLAUDE to its path."
        ))
    })?;
    // A process that was killed by a signal has no exit code.
    let code = ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
