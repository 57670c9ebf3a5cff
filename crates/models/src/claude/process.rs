//! The program as a child process: lines in, lines out, and an orderly shutdown.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The most bytes of one line; longer ones are skipped.
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// The most bytes of stderr output that are stored.
const COMPLAINT_BYTES: usize = 2048;

/// The most time to write a line.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    complaints: Option<ChildStderr>,
    line: Vec<u8>,
    overlong: bool,
    tail: VecDeque<u8>,
}

impl Process {
    /// Starts `command` with piped standard streams.
    pub fn spawn(mut command: Command) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("a stream is missing");
        let output = BufReader::with_capacity(64 * 1024, child.stdout.take().ok_or_else(missing)?);
        let input = child.stdin.take();
        let complaints = child.stderr.take();
        Ok(Self {
            child,
            input,
            output,
            complaints,
            line: Vec::new(),
            overlong: false,
            tail: VecDeque::new(),
        })
    }

    /// Returns the process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns the end of the stderr output, on one line.
    pub fn complaint(&self) -> String {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Writes one line. Fails if the program has stopped reading.
    pub async fn write(&mut self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        let Some(input) = &mut self.input else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        timeout(WRITE_TIME, written).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    /// Returns the next line that may be an object, or none at the end of the output.
    ///
    /// Cancel-safe: bytes already read are stored.
    pub async fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            let Self { output, complaints, .. } = self;
            tokio::select! {
                filled = output.fill_buf() => {
                    let bytes = filled.unwrap_or_default();
                    if bytes.is_empty() {
                        self.listen_to_the_end().await;
                        return None;
                    }
                    let (taken, whole) = match bytes.iter().position(|byte| *byte == b'\n') {
                        Some(end) => (end + 1, true),
                        None => (bytes.len(), false),
                    };
                    self.overlong |= self.line.len() + taken > LINE_BYTES;
                    if !self.overlong {
                        self.line.extend_from_slice(&bytes[..taken]);
                    }
                    self.output.consume(taken);
                    if whole && let Some(line) = self.take_line() {
                        return Some(line);
                    }
                }
                heard = hear(complaints) => self.remember(&heard),
            }
        }
    }

    /// Ends the process: closes its input, then sends SIGTERM, then kills it, each after waiting
    /// for `each`. It has exited when this returns.
    pub async fn end(&mut self, each: Duration) {
        drop(self.input.take());
        if timeout(each, self.gone()).await.is_ok() {
            return;
        }
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
            // It may have exited just now.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(each, self.gone()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// Reads on until the exit, so that a full pipe does not block it.
    async fn gone(&mut self) {
        while self.read().await.is_some() {}
        let _ = self.child.wait().await;
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let object = line.first() == Some(&b'{');
        (!std::mem::take(&mut self.overlong) && object).then_some(line)
    }

    /// Reads stderr output that was written before the end.
    async fn listen_to_the_end(&mut self) {
        let rest = async {
            while self.complaints.is_some() {
                let heard = hear(&mut self.complaints).await;
                self.remember(&heard);
            }
        };
        // A child of the program may hold the stream open indefinitely.
        let _ = timeout(Duration::from_millis(200), rest).await;
    }

    fn remember(&mut self, heard: &[u8]) {
        self.tail.extend(heard);
        let too_many = self.tail.len().saturating_sub(COMPLAINT_BYTES);
        self.tail.drain(..too_many);
    }
}

/// Reads some bytes of a stream, and closes it at its end. Cancel-safe.
pub async fn hear(stream: &mut Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let Some(open) = stream else { return std::future::pending().await };
    let mut bytes = vec![0; 1024];
    let count = open.read(&mut bytes).await.unwrap_or_default();
    if count == 0 {
        *stream = None;
    }
    bytes.truncate(count);
    bytes
}
