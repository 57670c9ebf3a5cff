//! A server that is a program of ours: it is spoken to over its stdin and stdout, one message a line.

use std::collections::BTreeMap;
use std::process::Stdio;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::Surroundings;
use super::line::{BESIDE, Line, MESSAGE, Trouble};
use super::rpc::{Came, came, notification, request};

/// The program, and what is said to it.
pub(super) struct Pipes {
    _family: Family,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    changed: bool,
}

impl Pipes {
    /// Starts the program. It knows nothing of our environment but what it is given here.
    pub(super) fn start(
        (command, args): (&str, &[String]),
        env: &BTreeMap<String, String>,
        around: &Surroundings,
    ) -> Result<Self, Trouble> {
        let mut program = match around.leash.split_first() {
            Some((first, rest)) => {
                let mut program = Command::new(first);
                program.args(rest).arg(std::process::id().to_string()).arg(command);
                program
            }
            None => Command::new(command),
        };
        program.args(args).current_dir(&around.directory).env_clear().envs(&around.environment).envs(env);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child =
            program.spawn().map_err(|error| Trouble::broken(format!("cannot be started ({error})")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| Trouble::broken("cannot be spoken to"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let _family = Family { _child: child, group };
        Ok(Self { _family, stdin, stdout: BufReader::new(stdout), asked: 0, changed: false })
    }

    async fn say(&mut self, message: &Value) -> Result<(), Trouble> {
        let gone = |_| Trouble::broken("has ended");
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.map_err(gone)?;
        self.stdin.flush().await.map_err(gone)
    }

    async fn hear(&mut self) -> Result<Value, Trouble> {
        let mut line = Vec::new();
        let most = MESSAGE as u64;
        let read = (&mut self.stdout).take(most).read_until(b'\n', &mut line).await;
        match read {
            Ok(0) | Err(_) => Err(Trouble::broken("ended before it answered")),
            Ok(read) if read == MESSAGE && !line.ends_with(b"\n") => {
                Err(Trouble::broken("says more than anybody can read"))
            }
            Ok(_) if line.trim_ascii().is_empty() => Ok(Value::Null),
            Ok(_) => serde_json::from_slice(&line).map_err(|_| Trouble::broken("talks nonsense")),
        }
    }

    async fn answer(&mut self, wanted: u64) -> Result<Value, Trouble> {
        for _ in 0..BESIDE {
            match came(&self.hear().await?) {
                Came::Answer(id, answer) if id == wanted => return answer.map_err(Trouble::Refused),
                Came::Question(answer) => self.say(&answer).await?,
                Came::ToolsChanged => self.changed = true,
                Came::Answer(..) | Came::Else => {}
            }
        }
        Err(Trouble::broken("talks of everything but what it was asked"))
    }
}

impl Line for Pipes {
    fn ask<'a>(&'a mut self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Trouble>> {
        Box::pin(async move {
            self.asked += 1;
            let id = self.asked;
            self.say(&request(id, method, params)).await?;
            self.answer(id).await
        })
    }

    fn tell<'a>(&'a mut self, method: &'a str) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async move { self.say(&notification(method)).await })
    }

    fn tools_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}

/// The program and its children. They go with the line.
struct Family {
    _child: Child,
    group: Option<Pid>,
}

impl Drop for Family {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Who is gone already needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
