//! The program as a process: lines in, lines out, and a way to end it that loses nothing.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The most bytes of one line; a longer one is left out.
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// How much of what it complains about is kept.
const COMPLAINT_BYTES: usize = 2048;

/// How long it may take to read what we write.
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
    /// Starts `command`, whose streams become ours.
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

    /// Its number, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The end of what it complained about, on one line.
    pub fn complaint(&self) -> String {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Writes one line. It fails if the program does not read any more.
    pub async fn write(&mut self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        let Some(input) = &mut self.input else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        timeout(WRITE_TIME, written).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    /// The next line that can be an object; nothing, when it has closed its output.
    ///
    /// Whoever stops waiting loses nothing: what was read stays here.
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

    /// Ends it: closes its input, then asks, then makes it, waiting for `each`. It is gone when this returns.
    pub async fn end(&mut self, each: Duration) {
        drop(self.input.take());
        if timeout(each, self.gone()).await.is_ok() {
            return;
        }
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
            // It may have ended in this moment, which is what we want.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(each, self.gone()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    /// Reads on while it ends, so that a full pipe does not keep it.
    async fn gone(&mut self) {
        while self.read().await.is_some() {}
        let _ = self.child.wait().await;
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let object = line.first() == Some(&b'{');
        (!std::mem::take(&mut self.overlong) && object).then_some(line)
    }

    /// Complaints written before the end may still be on their way.
    async fn listen_to_the_end(&mut self) {
        let rest = async {
            while self.complaints.is_some() {
                let heard = hear(&mut self.complaints).await;
                self.remember(&heard);
            }
        };
        // A child of the program may hold the stream open for as long as it likes.
        let _ = timeout(Duration::from_millis(200), rest).await;
    }

    fn remember(&mut self, heard: &[u8]) {
        self.tail.extend(heard);
        let too_many = self.tail.len().saturating_sub(COMPLAINT_BYTES);
        self.tail.drain(..too_many);
    }
}

/// Some bytes of a stream; it is given up at its end. Whoever stops waiting loses nothing.
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
