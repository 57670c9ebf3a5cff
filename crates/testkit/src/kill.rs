//! The real program as a process of its own: started, talked to, killed, and started again.
//!
//! Nothing here waits for time to pass: readiness is a line on stdout, everything else is an answer. What
//! never answers is ended after a minute, so that a test fails instead of hanging.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod backstage;
mod outcome;
mod socket;
mod tmux;
mod watchdog;
mod webhook;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::Value;
use tempfile::TempDir;

pub use backstage::{Backstage, wait};
pub use outcome::{assert_no_room, assert_unusable, contents, stderr, stdout};
pub use socket::{Event, Events, Refused};
pub use tmux::Pane;
use watchdog::Watchdog;
pub use webhook::call;

/// The program, with a home of its own and nothing else of this machine.
pub struct Program {
    binary: PathBuf,
    home: TempDir,
    data: PathBuf,
    variables: Vec<(String, String)>,
}

impl Program {
    /// The program at `binary`, in an empty home.
    ///
    /// # Panics
    /// If the machine has no room for a home.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let home = tempfile::tempdir().expect("a home");
        let data = home.path().join("data");
        let mut program = Self { binary: binary.into(), home, data, variables: Vec::new() };
        program
            .set("OLLIM_TIMEZONE", "Europe/Madrid")
            .set("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
        program
    }

    /// The same, without a model.
    pub fn offline(binary: impl Into<PathBuf>) -> Self {
        let mut program = Self::new(binary);
        program.set("OLLIM_MODEL", "offline");
        program
    }

    /// The same, answered by the model of `backstage`.
    pub fn answered_by(binary: impl Into<PathBuf>, backstage: &Backstage) -> Self {
        let mut program = Self::new(binary);
        program.set("ANTHROPIC_API_KEY", "sk-test").set("ANTHROPIC_BASE_URL", &backstage.url());
        program.settle("[model]\ntries = 1\n");
        program
    }

    /// Writes the settings file. Waiting between tries is told with a played clock, not with a real one.
    fn settle(&self, settings: &str) {
        DirBuilder::new().mode(0o700).create(&self.data).expect("a data directory");
        let path = self.data.join("settings.toml");
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(settings.as_bytes())).expect("a settings file");
    }

    /// Sets a variable; an empty value says nothing.
    pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another binary in the same home.
    pub fn become_binary(&mut self, binary: impl Into<PathBuf>) -> &mut Self {
        self.binary = binary.into();
        self
    }

    /// Another data directory.
    pub fn keep_in(&mut self, data: impl Into<PathBuf>) -> &mut Self {
        self.data = data.into();
        self
    }

    /// The data directory. It is there after the first start.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A command line of the program.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        self.dress(&mut command);
        command
    }

    /// The program as `shell` runs it, where `"$@"` stands for its command line.
    pub fn command_through(&self, shell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", shell, "sh"]).arg(&self.binary).args(arguments);
        self.dress(&mut command);
        command
    }

    /// Runs it to its end, with nothing to read.
    pub fn run(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments).stdin(Stdio::null()))
    }

    /// Runs it to its end, with `input` to read.
    ///
    /// # Panics
    /// If it does not start.
    pub fn run_reading(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let watchdog = Watchdog::over(&child);
        let written = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        // Who does not read has ended, and says why.
        drop(written);
        let output = child.wait_with_output().expect("an end");
        watchdog.release();
        output
    }

    /// Starts it, and waits until a line on stderr has `words` in it, which is returned.
    ///
    /// # Panics
    /// If it ends before that.
    pub fn start_until(&self, arguments: &[&str], words: &str) -> (String, Waiting) {
        let mut command = self.command(arguments);
        // Nobody writes into the pipe, and it stays open as a terminal does.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(&mut command);
        let lines = BufReader::new(child.stderr.take().expect("its stderr"));
        let watchdog = Watchdog::over(&child);
        let mut waiting = Waiting { child, watchdog, stderr: lines, told: String::new() };
        loop {
            let start = waiting.told.len();
            let read = waiting.stderr.read_line(&mut waiting.told).expect("a line");
            let line = waiting.told[start..].trim();
            if line.contains(words) {
                return (line.to_owned(), waiting);
            }
            if read == 0 {
                panic!("it ended early: {}", stderr(&waiting.finish()));
            }
        }
    }

    /// Starts it as a service, and waits until it listens.
    ///
    /// # Panics
    /// If it ends before it listens.
    pub fn start(&self) -> Running {
        match self.try_start(self.command(&["run", "--no-chat"])) {
            Ok(running) => running,
            Err((status, told)) => panic!("it ended with {status}: {told}"),
        }
    }

    /// Starts `command`, and waits until it listens or ends; then its end, and what it said on stderr.
    pub fn try_start(&self, mut command: Command) -> Result<Running, (ExitStatus, String)> {
        let log = self.home.path().join("stderr.log");
        let stderr = File::create(&log).expect("a log");
        let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr));
        let watchdog = Watchdog::over(&child);
        let mut lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
        let first = lines.next();
        watchdog.release();
        match first {
            Some(Ok(_)) => {
                let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect());
                let state = self.data.join("state");
                Ok(Running { child, state, log, rest: Some(rest) })
            }
            Some(Err(_)) | None => {
                let status = child.wait().expect("an end");
                Err((status, std::fs::read_to_string(&log).unwrap_or_default()))
            }
        }
    }

    fn dress(&self, command: &mut Command) {
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home.path());
        command.env("OLLIM_DATA_DIR", &self.data).current_dir(self.home.path());
        command.envs(self.variables.iter().cloned());
    }
}

/// A command that waits for something outside.
pub struct Waiting {
    child: Child,
    watchdog: Watchdog,
    stderr: BufReader<std::process::ChildStderr>,
    told: String,
}

impl Waiting {
    /// Waits for its end; the output has all that it wrote.
    ///
    /// # Panics
    /// If it cannot be waited for.
    pub fn finish(mut self) -> Output {
        let stdin = self.child.stdin.take();
        self.stderr.read_to_string(&mut self.told).expect("what it writes");
        let mut output = self.child.wait_with_output().expect("an end");
        drop(stdin);
        self.watchdog.release();
        output.stderr = self.told.into_bytes();
        output
    }
}

/// The program while it runs. Dropping this kills it.
pub struct Running {
    child: Child,
    state: PathBuf,
    log: PathBuf,
    rest: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Running {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says something; the number of the message, once that is acknowledged.
    pub fn say(&self, text: &str) -> Result<u64, Refused> {
        let answer = socket::post(&self.state, "/api/messages", &serde_json::json!({ "text": text }))?;
        answer["message"].as_u64().ok_or_else(|| Refused("no number".to_owned()))
    }

    /// Replies to the message `to`, such as one of Discord; the number of the reply, once that is acknowledged.
    pub fn reply(&self, text: &str, to: u64) -> Result<u64, Refused> {
        let body = serde_json::json!({ "text": text, "reply_to": to });
        let answer = socket::post(&self.state, "/api/messages", &body)?;
        answer["message"].as_u64().ok_or_else(|| Refused("no number".to_owned()))
    }

    /// Gives a command; what it answers, once that is decided and on disk.
    pub fn command(&self, text: &str) -> Result<Value, Refused> {
        socket::post(&self.state, "/api/commands", &serde_json::json!({ "text": text }))
    }

    /// Sends a command, and does not read the answer.
    pub fn blurt_command(&self, text: &str) {
        // Whether it arrived is what the directory tells afterwards.
        let _ = socket::send(&self.state, "/api/commands", &serde_json::json!({ "text": text }));
    }

    /// Sends a message, and does not read the answer.
    pub fn blurt(&self, text: &str) {
        // Whether it arrived is what the directory tells afterwards.
        let _ = socket::send(&self.state, "/api/messages", &serde_json::json!({ "text": text }));
    }

    /// What is at `path`.
    pub fn get(&self, path: &str) -> Result<Value, Refused> {
        socket::get(&self.state, path)
    }

    /// Everything that is shown from now on.
    pub fn events(&self) -> Result<Events, Refused> {
        Events::follow(&self.state)
    }

    /// Says something and waits for the end of its answer, which is returned.
    pub fn converse(&self, text: &str) -> Result<Event, Refused> {
        let mut events = self.events()?;
        let message = self.say(text)?;
        events.ended(message)
    }

    /// What it said on stderr so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process to tell");
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        self.end();
    }

    /// Asks it to end, and waits; what it wrote on stdout after its first line.
    ///
    /// # Panics
    /// If it cannot be asked.
    pub fn terminate(mut self) -> (ExitStatus, Vec<String>) {
        let watchdog = Watchdog::over(&self.child);
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("a process to ask");
        let status = self.child.wait().expect("an end");
        watchdog.release();
        let told = self.rest.take().and_then(|rest| rest.join().ok());
        (status, told.unwrap_or_default())
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs `command` to its end.
///
/// # Panics
/// If it does not start.
pub fn finish(command: &mut Command) -> Output {
    let child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let watchdog = Watchdog::over(&child);
    let output = child.wait_with_output().expect("an end");
    watchdog.release();
    output
}

/// A port that nobody uses right now.
///
/// # Panics
/// If the machine has none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

fn spawn(command: &mut Command) -> Child {
    command.spawn().expect("the program starts")
}
