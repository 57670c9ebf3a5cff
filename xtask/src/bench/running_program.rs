//! The running program: started with an empty environment, queried through its endpoints, and
//! stopped by signal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::test::step::Program;

/// A running program. Killed on drop.
pub struct RunningProgram {
    child: Child,
    socket: PathBuf,
    page: SocketAddr,
    /// Time until the control socket answered.
    pub ready: Duration,
}

impl RunningProgram {
    /// Starts `binary` with the data directory `dir`, and waits until it answers.
    pub fn start(binary: &Path, dir: &Path, environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        let page = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(binary);
        command.args(["run", "--no-chat", "--data-dir"]).arg(dir).env_clear();
        command.env("OLLIM_HTTP", page.to_string()).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        let socket = dir.join("state/control.sock");
        let mut running = Self { child, socket, page, ready: Duration::ZERO };
        let out = running.child.stdout.as_mut().context("a program without words")?;
        let read = BufReader::new(out).read_line(&mut String::new())?;
        ensure!(read > 0, "{} ended before it was ready", binary.display());
        running.time_request("/api/health")?;
        running.ready = began.elapsed();
        Ok(running)
    }

    /// Requests `path` on the control socket, and returns the duration of the whole exchange.
    pub fn time_request(&self, path: &str) -> anyhow::Result<Duration> {
        let began = Instant::now();
        self.request(path)?;
        Ok(began.elapsed())
    }

    /// Returns the health document.
    pub fn health(&self) -> anyhow::Result<String> {
        self.request("/api/health")
    }

    fn request(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(http_request(path, "localhost").as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        Ok(answer)
    }

    /// Captures an item like the page, and returns the time until it was stored.
    pub fn capture(&self, words: &str) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut stream = UnixStream::connect(&self.socket)?;
        let body = format!("{{\"text\":\"{words}\"}}");
        let head = "POST /api/capture HTTP/1.1\r\nhost: localhost\r\nx-ollim: 1\r\nconnection: close\r\n\
                    content-type: application/json";
        stream.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        ensure!(answer.starts_with(b"HTTP/1.1 200"), "capture: {}", String::from_utf8_lossy(&answer));
        Ok(began.elapsed())
    }

    /// Opens the event stream like a page. It stays open until the connection is dropped.
    pub fn open_events(&self) -> anyhow::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(http_request("/api/events", "localhost").as_bytes())?;
        stream.read_exact(&mut [0])?;
        Ok(stream)
    }

    /// Requests the page, and returns the time to the first byte.
    pub fn time_page_first_byte(&self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut stream = TcpStream::connect(self.page)?;
        stream.write_all(http_request("/", &self.page.to_string()).as_bytes())?;
        stream.read_exact(&mut [0])?;
        let took = began.elapsed();
        stream.read_to_end(&mut Vec::new())?;
        Ok(took)
    }

    /// Returns the resident memory in bytes.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        kilobytes(&status, "VmRSS:").map(|kilobytes| kilobytes * 1024).context("the system tells no VmRSS")
    }

    /// Sends SIGTERM, and waits for the exit.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let asked = Program::new("kill", &["-TERM", &self.child.id().to_string()]).stdout();
        asked.context("the program cannot be asked to end")?;
        if self.child.wait()?.success() { Ok(()) } else { bail!("the program did not end well") }
    }
}

impl Drop for RunningProgram {
    /// It may have exited already.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The fake Discord server. Stopped on drop.
pub struct FakeDiscord {
    child: Child,
    /// The variables with which the program finds it.
    pub variables: Vec<(String, String)>,
}

impl FakeDiscord {
    /// Builds and starts the server.
    pub fn start() -> anyhow::Result<Self> {
        let mut command = Command::new("cargo");
        command.args(["run", "--quiet", "--package", "testkit", "--bin", "discord-server"]);
        command.current_dir(crate::source_files::root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the played Discord cannot be started")?;
        let mut lines = BufReader::new(child.stdout.take().context("a program without words")?).lines();
        let mut variables = Vec::new();
        for _ in 0..2 {
            let line = lines.next().context("the played Discord ended before it was ready")??;
            let (name, value) = line.split_once('=').context("the played Discord says something else")?;
            variables.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { child, variables })
    }
}

impl Drop for FakeDiscord {
    /// The server exits at the end of its stdin.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn http_request(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nx-ollim: 1\r\nconnection: close\r\n\r\n")
}

/// Returns the value of `name` in a process status file.
fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_process_status() {
        let status = "Name:\tollim-bot\nVmHWM:\t   11200 kB\nVmRSS:\t   11172 kB\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(11_172));
        assert_eq!(kilobytes("", "VmRSS:"), None);
    }

    #[test]
    fn missing_program_does_not_start() {
        let nowhere = Path::new("no-such-program-anywhere");
        let dir = Path::new("nowhere");
        assert!(RunningProgram::start(nowhere, dir, &[]).is_err());
    }
}
