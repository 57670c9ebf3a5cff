//! The commands of skills, run as programs: ours in this process, others as children that end with the call.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tools::skill::{Commands, Ended};

use crate::own::OwnCommands;

/// The most bytes of what a command prints that are kept.
const MOST: u64 = 64 * 1024;

/// What a program of ours needs to know of the world.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs commands in the data directory.
pub struct InTheDataDirectory {
    /// Our own commands.
    pub own: OwnCommands,
    /// The data directory.
    pub root: PathBuf,
}

impl Commands for InTheDataDirectory {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            match words {
                [] => Ended::NotFound,
                [name, ..] if name == "ollim-bot" || name == "claude-history" => {
                    match self.own.run(words).await {
                        Ok(text) => Ended::Code(0, text, String::new()),
                        Err(why) => Ended::Code(1, String::new(), why),
                    }
                }
                [program, rest @ ..] => match self.start(program, rest) {
                    Ok(child) => {
                        child.ended().await.unwrap_or_else(|error| Ended::Unstarted(error.to_string()))
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ended::NotFound,
                    Err(error) => Ended::Unstarted(error.to_string()),
                },
            }
        })
    }
}

impl InTheDataDirectory {
    fn start(&self, program: &str, words: &[String]) -> io::Result<Family> {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.root).env_clear();
        command.envs([("PATH", PATH), ("LANG", "C.UTF-8"), ("TERM", "dumb")]).env("HOME", &self.root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Family { child, group })
    }
}

/// A program and its children. They go with it.
struct Family {
    child: Child,
    group: Option<Pid>,
}

impl Family {
    async fn ended(mut self) -> io::Result<Ended> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (printed, said, status) = tokio::join!(text(stdout), text(stderr), self.child.wait());
        // A signal has no code; a shell would say so.
        let code = status?.code().unwrap_or(128);
        Ok(Ended::Code(code, printed?, said?))
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Who is gone already needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// What comes, up to a bound; the rest is read and forgotten, so that nobody waits for a reader.
async fn text(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut pipe).take(MOST).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
