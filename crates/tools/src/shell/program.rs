//! Runs one program with arguments in a sandbox without network. The arguments are quoted for the
//! shell.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Shell;
use super::heap::Before;
use super::run::{Caged, watch};
use crate::cage::{Network, UNMADE};
use crate::skill::Ended;

/// The maximum number of bytes of captured output.
const MOST: u64 = 64 * 1024;
/// The exit code of bash when the program does not exist.
const UNFOUND: i32 = 127;

impl Shell {
    /// Runs the program with these arguments in the data directory for at most `max`. Dropping the
    /// future kills it and its children.
    pub async fn program(&self, words: &[String], most: Duration) -> Ended {
        let room = match tempfile::Builder::new().prefix("run-").tempdir_in(&self.work) {
            Ok(room) => room,
            Err(error) => return Ended::Unstarted(format!("there is no folder to work in: {error}")),
        };
        let shell = Self { work: room.path().to_owned(), ..self.clone() };
        match shell.caged(words, most) {
            Err(why) => Ended::Unstarted(why),
            Ok(caged) => {
                let group = caged.group;
                let before = Before::look(&shell.work);
                tokio::select! {
                    ended = heard(caged) => ended.unwrap_or_else(|error| Ended::Unstarted(error.to_string())),
                    why = watch(group, before, &shell.work) => Ended::Unstarted(why),
                }
            }
        }
    }

    fn caged(&self, words: &[String], most: Duration) -> Result<Caged, String> {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let mut line =
            self.line(&format!("cd \"$DATA\" && exec -- {}", words.join(" ")), most, Network::Off)?;
        line.current_dir(&self.work).stdout(Stdio::piped()).stderr(Stdio::piped());
        Caged::start(line)
    }
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

async fn heard(mut caged: Caged) -> io::Result<Ended> {
    let stdout = caged.child.stdout.take();
    let stderr = caged.child.stderr.take();
    let (printed, said, status) = tokio::join!(text(stdout), text(stderr), caged.child.wait());
    // A process killed by a signal has no code; the shell reports one.
    let code = status?.code().unwrap_or(128);
    let said = said?;
    Ok(match code {
        UNFOUND => Ended::NotFound,
        code if code == i32::from(UNMADE) => Ended::Unstarted(format!("no sandbox could be made: {said}")),
        code => Ended::Code(code, printed?, said),
    })
}

/// Reads text up to the limit and discards the rest, so that the writer never blocks.
async fn text(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut pipe).take(MOST).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_itself_to_a_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
