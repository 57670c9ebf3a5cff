//! The transport to a server program that the daemon starts: stdin and stdout, one message per
//! line.

use std::collections::BTreeMap;
use std::process::Stdio;

use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::ProcessContext;
use super::protocol::{Incoming, classify};
use super::transport::{Headers, MAX_MESSAGE_BYTES, MAX_UNRELATED_MESSAGES, Transport, TransportError};

/// A running program and its pipes.
pub(super) struct StdioTransport {
    _process_group: ProcessGroup,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The incomplete line. A cancelled request must not lose its beginning.
    line: Vec<u8>,
    tools_changed: bool,
}

impl StdioTransport {
    /// Starts the program with a clean environment: only the given variables are set.
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        context: &ProcessContext,
    ) -> Result<Self, TransportError> {
        let mut program = match context.launcher.split_first() {
            Some((first, rest)) => {
                let mut program = Command::new(first);
                program.args(rest).arg(std::process::id().to_string()).arg(command);
                program
            }
            None => Command::new(command),
        };
        program.args(args).current_dir(&context.directory).env_clear().envs(&context.environment).envs(env);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = program
            .spawn()
            .map_err(|error| TransportError::broken(format!("cannot be started ({error})")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| TransportError::broken("cannot be spoken to"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let _process_group = ProcessGroup { _child: child, group };
        Ok(Self {
            _process_group,
            stdin,
            stdout: BufReader::new(stdout),
            line: Vec::new(),
            tools_changed: false,
        })
    }

    async fn send(&mut self, message: &Value) -> Result<(), TransportError> {
        let gone = |_| TransportError::broken("has ended");
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.map_err(gone)?;
        self.stdin.flush().await.map_err(gone)
    }

    async fn receive(&mut self) -> Result<Value, TransportError> {
        let remaining = (MAX_MESSAGE_BYTES - self.line.len()) as u64;
        let read = (&mut self.stdout).take(remaining).read_until(b'\n', &mut self.line).await;
        let is_long = self.line.len() == MAX_MESSAGE_BYTES && !self.line.ends_with(b"\n");
        let line = std::mem::take(&mut self.line);
        match read {
            _ if is_long => Err(TransportError::broken("sent a message of more than 4 MB")),
            Ok(0) | Err(_) => Err(TransportError::broken("ended before it answered")),
            Ok(_) if line.trim_ascii().is_empty() => Ok(Value::Null),
            Ok(_) => serde_json::from_slice(&line)
                .map_err(|_| TransportError::broken("sent something that is not JSON")),
        }
    }

    async fn read_response(&mut self, expected_id: u64) -> Result<Value, TransportError> {
        for _ in 0..MAX_UNRELATED_MESSAGES {
            match classify(&self.receive().await?) {
                Incoming::Response(id, answer) if id == expected_id => {
                    return answer.map_err(TransportError::Refused);
                }
                Incoming::Request(answer) => self.send(&answer).await?,
                Incoming::ToolsChanged => self.tools_changed = true,
                Incoming::Response(..) | Incoming::Other => {}
            }
        }
        Err(TransportError::broken("does not answer what it was asked"))
    }
}

impl Transport for StdioTransport {
    fn request<'a>(
        &'a mut self,
        id: u64,
        message: &'a Value,
        _headers: &'a Headers,
    ) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            self.send(message).await?;
            self.read_response(id).await
        })
    }

    fn notify<'a>(
        &'a mut self,
        message: &'a Value,
        _headers: &'a Headers,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move { self.send(message).await })
    }

    fn take_tools_changed(&mut self) -> bool {
        std::mem::take(&mut self.tools_changed)
    }
}

/// The process group of the program. Dropping this kills it.
struct ProcessGroup {
    _child: Child,
    group: Option<Pid>,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // The group may have ended already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
