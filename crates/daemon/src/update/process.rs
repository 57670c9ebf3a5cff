//! Runs external programs for an update, with a timeout and captured error output.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// An error during an update.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// A program failed.
    #[error("`{command}` ended with {status}{said}")]
    Failed {
        command: String,
        status: String,
        /// The last line of its error output.
        said: String,
    },
    #[error("`{command}` took longer than {seconds} s")]
    TimedOut { command: String, seconds: u64 },
    /// An error of our own.
    #[error("{0}")]
    Internal(String),
}

/// Runs `line` in `dir` and returns its standard output.
pub async fn run(line: &[&str], dir: &Path, timeout: Duration) -> Result<String, UpdateError> {
    run_with_variables(line, dir, timeout, &[]).await
}

/// Like [`run`], with additional environment variables.
pub async fn run_with_variables(
    line: &[&str],
    dir: &Path,
    timeout: Duration,
    variables: &[(&str, &Path)],
) -> Result<String, UpdateError> {
    let command = line.join(" ");
    let [program, words @ ..] = line else {
        return Err(UpdateError::Internal("there is nothing to run".to_owned()));
    };
    let mut child = Command::new(program);
    child.args(words).current_dir(dir).stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0");
    child.envs(variables.iter().copied()).kill_on_drop(true);
    let ended = match tokio::time::timeout(timeout, child.output()).await {
        Err(_) => return Err(UpdateError::TimedOut { command, seconds: timeout.as_secs() }),
        Ok(Err(error)) => {
            return Err(UpdateError::Internal(format!("`{command}` cannot be started: {error}")));
        }
        Ok(Ok(ended)) => ended,
    };
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
    }
    let status = ended.status.code().map_or("a signal".to_owned(), |code| code.to_string());
    let said = String::from_utf8_lossy(&ended.stderr);
    let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let said = if said.is_empty() { String::new() } else { format!(": {}", said.trim()) };
    Err(UpdateError::Failed { command, status, said })
}
