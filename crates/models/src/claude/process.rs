//! The program as a child process: lines in, lines out, and an orderly shutdown.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The most bytes of one line; longer ones are skipped.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The most bytes of stderr output that are stored.
const MAX_STDERR_BYTES: usize = 2048;

/// The most time to write a line.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    stderr: Option<ChildStderr>,
    line: Vec<u8>,
    overlong: bool,
    stderr_tail: VecDeque<u8>,
}

impl Process {
    /// Starts `command` with piped standard streams.
    pub fn spawn(mut command: Command) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("a stream is missing");
        let output = BufReader::with_capacity(64 * 1024, child.stdout.take().ok_or_else(missing)?);
        let input = child.stdin.take();
        let stderr = child.stderr.take();
        Ok(Self {
            child,
            input,
            output,
            stderr,
            line: Vec::new(),
            overlong: false,
            stderr_tail: VecDeque::new(),
        })
    }

    /// Returns the process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns the end of the stderr output, on one line.
    pub fn stderr_text(&self) -> String {
        let bytes: Vec<u8> = self.stderr_tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Writes one line. Fails if the program has stopped reading.
    pub async fn write_line(&mut self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        let Some(input) = &mut self.input else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        timeout(WRITE_TIMEOUT, written).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    /// Returns the next line that may be an object, or none at the end of the output.
    ///
    /// Cancel-safe: bytes already read are stored.
    pub async fn read_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let Self { output, stderr, .. } = self;
            tokio::select! {
                filled = output.fill_buf() => {
                    let bytes = filled.unwrap_or_default();
                    if bytes.is_empty() {
                        self.drain_stderr().await;
                        return None;
                    }
                    let (taken, whole) = match bytes.iter().position(|byte| *byte == b'\n') {
                        Some(end) => (end + 1, true),
                        None => (bytes.len(), false),
                    };
                    self.overlong |= self.line.len() + taken > MAX_LINE_BYTES;
                    if !self.overlong {
                        self.line.extend_from_slice(&bytes[..taken]);
                    }
                    self.output.consume(taken);
                    if whole && let Some(line) = self.take_line() {
                        return Some(line);
                    }
                }
                bytes = read_some(stderr) => self.append_stderr(&bytes),
            }
        }
    }

    /// Ends the process: closes its input, then sends SIGTERM, then kills it, each after waiting
    /// for `each`. It has exited when this returns.
    pub async fn stop(&mut self, each: Duration) {
        drop(self.input.take());
        if timeout(each, self.wait_for_exit()).await.is_ok() {
            return;
        }
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
            // It may have exited just now.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(each, self.wait_for_exit()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// Reads on until the exit, so that a full pipe does not block it.
    async fn wait_for_exit(&mut self) {
        while self.read_line().await.is_some() {}
        let _ = self.child.wait().await;
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let object = line.first() == Some(&b'{');
        (!std::mem::take(&mut self.overlong) && object).then_some(line)
    }

    /// Reads stderr output that was written before the end.
    async fn drain_stderr(&mut self) {
        let rest = async {
            while self.stderr.is_some() {
                let bytes = read_some(&mut self.stderr).await;
                self.append_stderr(&bytes);
            }
        };
        // A child of the program may hold the stream open indefinitely.
        let _ = timeout(Duration::from_millis(200), rest).await;
    }

    fn append_stderr(&mut self, bytes: &[u8]) {
        self.stderr_tail.extend(bytes);
        let too_many = self.stderr_tail.len().saturating_sub(MAX_STDERR_BYTES);
        self.stderr_tail.drain(..too_many);
    }
}

/// Reads some bytes of a stream, and closes it at its end. Cancel-safe.
pub async fn read_some(stream: &mut Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let Some(open) = stream else { return std::future::pending().await };
    let mut bytes = vec![0; 1024];
    let count = open.read(&mut bytes).await.unwrap_or_default();
    if count == 0 {
        *stream = None;
    }
    bytes.truncate(count);
    bytes
}
