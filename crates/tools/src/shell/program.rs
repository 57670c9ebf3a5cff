//! Runs one program with arguments in a sandbox without network. The arguments are quoted for the
//! shell.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Shell;
use super::run::{RunningCommand, wait_for_limit};
use super::usage::Baseline;
use crate::sandbox::{Network, SETUP_FAILED};
use crate::skill::SkillCommandOutcome;

/// The maximum number of bytes of captured output.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// The exit code of bash when the program does not exist.
const NOT_FOUND_CODE: i32 = 127;

impl Shell {
    /// Runs the program with these arguments in the data directory for at most `max`. Dropping the
    /// future kills it and its children.
    pub async fn run_program(&self, words: &[String], max: Duration) -> SkillCommandOutcome {
        let run_dir = match tempfile::Builder::new().prefix("run-").tempdir_in(&self.work_dir) {
            Ok(run_dir) => run_dir,
            Err(error) => {
                return SkillCommandOutcome::StartFailed(format!("there is no folder to work in: {error}"));
            }
        };
        let shell = Self { work_dir: run_dir.path().to_owned(), ..self.clone() };
        match shell.start_program(words, max) {
            Err(why) => SkillCommandOutcome::StartFailed(why),
            Ok(running) => {
                let group = running.group;
                let before = Baseline::measure(&shell.work_dir);
                tokio::select! {
                    ended = collect_result(running) => ended.unwrap_or_else(|error| SkillCommandOutcome::StartFailed(error.to_string())),
                    why = wait_for_limit(group, before, &shell.work_dir) => SkillCommandOutcome::StartFailed(why),
                }
            }
        }
    }

    fn start_program(&self, words: &[String], max: Duration) -> Result<RunningCommand, String> {
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let mut command = self.sandboxed_command(
            &format!("cd \"$DATA\" && exec -- {}", words.join(" ")),
            max,
            Network::Off,
        )?;
        command.current_dir(&self.work_dir).stdout(Stdio::piped()).stderr(Stdio::piped());
        RunningCommand::start(command)
    }
}

/// Quotes a word for the shell.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

async fn collect_result(mut running: RunningCommand) -> io::Result<SkillCommandOutcome> {
    let stdout = running.child.stdout.take();
    let stderr = running.child.stderr.take();
    let (printed, errors, status) = tokio::join!(read_text(stdout), read_text(stderr), running.child.wait());
    // A process killed by a signal has no code; the shell reports one.
    let code = status?.code().unwrap_or(128);
    let errors = errors?;
    Ok(match code {
        NOT_FOUND_CODE => SkillCommandOutcome::NotFound,
        code if code == i32::from(SETUP_FAILED) => {
            SkillCommandOutcome::StartFailed(format!("no sandbox could be made: {errors}"))
        }
        code => SkillCommandOutcome::Exited(code, printed?, errors),
    })
}

/// Reads text up to the limit and discards the rest, so that the writer never blocks.
async fn read_text(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut pipe).take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_word_is_literal_in_a_shell() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quote(""), "''");
    }
}
