//! The real program as a separate process: started, used, killed, and started again.
//!
//! There are no fixed delays: readiness is a line on stdout, everything else is a response. A
//! process that does not respond is killed after a timeout, so that a test fails instead of
//! hanging.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod control_socket;
mod model_server;
mod output;
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

pub use control_socket::{EventStream, RequestError, StreamEvent};
pub use model_server::{BackgroundModelServer, block_on};
pub use output::{assert_disk_full, assert_unusable, read_tree, stderr, stdout};
pub use tmux::Pane;
use watchdog::Watchdog;
pub use webhook::call_webhook;

/// The program with its own home directory, isolated from the machine's environment.
pub struct Program {
    binary: PathBuf,
    home: TempDir,
    data: PathBuf,
    variables: Vec<(String, String)>,
}

impl Program {
    /// Sets up the program at `binary` with an empty home directory.
    ///
    /// # Panics
    /// If the home directory cannot be created.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let home = tempfile::tempdir().expect("a home");
        let data = home.path().join("data");
        let mut program = Self { binary: binary.into(), home, data, variables: Vec::new() };
        program
            .set_env("OLLIM_TIMEZONE", "Europe/Madrid")
            .set_env("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
        program
    }

    /// Like [`Program::new`], without a model.
    pub fn offline(binary: impl Into<PathBuf>) -> Self {
        let mut program = Self::new(binary);
        program.set_env("OLLIM_MODEL", "offline");
        program
    }

    /// Like [`Program::new`], with the model server `model`.
    pub fn with_model(binary: impl Into<PathBuf>, model: &BackgroundModelServer) -> Self {
        let mut program = Self::new(binary);
        program.set_env("ANTHROPIC_API_KEY", "sk-test").set_env("ANTHROPIC_BASE_URL", &model.url());
        program.write_settings("[model]\ntries = 1\n");
        program
    }

    /// Writes the settings file. Retry delays are tested with a fake clock, so they are switched
    /// off here.
    fn write_settings(&self, settings: &str) {
        DirBuilder::new().mode(0o700).create(&self.data).expect("a data directory");
        let path = self.data.join("settings.toml");
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        file.and_then(|mut file| file.write_all(settings.as_bytes())).expect("a settings file");
    }

    /// Sets an environment variable; the program treats an empty value as unset.
    pub fn set_env(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the binary, keeping the home directory.
    pub fn replace_binary(&mut self, binary: impl Into<PathBuf>) -> &mut Self {
        self.binary = binary.into();
        self
    }

    /// Changes the data directory.
    pub fn set_data_dir(&mut self, data: impl Into<PathBuf>) -> &mut Self {
        self.data = data.into();
        self
    }

    /// Returns the data directory. It exists after the first start.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Builds a command line of the program.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        self.apply_environment(&mut command);
        command
    }

    /// Builds a command that runs the program through `shell`, where `"$@"` is its command line.
    pub fn command_through(&self, shell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", shell, "sh"]).arg(&self.binary).args(arguments);
        self.apply_environment(&mut command);
        command
    }

    /// Runs the program to its end, without input.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run_to_end(self.command(arguments).stdin(Stdio::null()))
    }

    /// Runs the program to its end, with `input` on stdin.
    ///
    /// # Panics
    /// If it does not start.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let watchdog = Watchdog::watch(&child);
        let written = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        // The write fails if the program has already exited; its output explains why.
        drop(written);
        let output = child.wait_with_output().expect("an end");
        watchdog.release();
        output
    }

    /// Starts the program and waits until a line on stderr contains `text`. Returns that line.
    ///
    /// # Panics
    /// If the program exits before that.
    pub fn start_until(&self, arguments: &[&str], text: &str) -> (String, WaitingProcess) {
        let mut command = self.command(arguments);
        // Nothing is written to the pipe; it stays open like a terminal.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(&mut command);
        let lines = BufReader::new(child.stderr.take().expect("its stderr"));
        let watchdog = Watchdog::watch(&child);
        let mut waiting = WaitingProcess { child, watchdog, stderr: lines, stderr_text: String::new() };
        loop {
            let start = waiting.stderr_text.len();
            let read = waiting.stderr.read_line(&mut waiting.stderr_text).expect("a line");
            let line = waiting.stderr_text[start..].trim();
            if line.contains(text) {
                return (line.to_owned(), waiting);
            }
            if read == 0 {
                panic!("it ended early: {}", stderr(&waiting.finish()));
            }
        }
    }

    /// Starts the program as a service and waits until it listens.
    ///
    /// # Panics
    /// If the program exits before it listens.
    pub fn start(&self) -> RunningProgram {
        match self.try_start(self.command(&["run", "--no-chat"])) {
            Ok(running) => running,
            Err((status, stderr)) => panic!("it ended with {status}: {stderr}"),
        }
    }

    /// Starts `command` and waits until it listens. Returns the exit status and stderr if it exits
    /// instead.
    pub fn try_start(&self, mut command: Command) -> Result<RunningProgram, (ExitStatus, String)> {
        let log = self.home.path().join("stderr.log");
        let stderr = File::create(&log).expect("a log");
        let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr));
        let watchdog = Watchdog::watch(&child);
        let mut lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
        let first = lines.next();
        watchdog.release();
        match first {
            Some(Ok(_)) => {
                let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect());
                let state = self.data.join("state");
                Ok(RunningProgram { child, state, log, stdout_lines: Some(rest) })
            }
            Some(Err(_)) | None => {
                let status = child.wait().expect("an end");
                Err((status, std::fs::read_to_string(&log).unwrap_or_default()))
            }
        }
    }

    fn apply_environment(&self, command: &mut Command) {
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home.path());
        command.env("OLLIM_DATA_DIR", &self.data).current_dir(self.home.path());
        command.envs(self.variables.iter().cloned());
    }
}

/// A started command that waits for an external event.
pub struct WaitingProcess {
    child: Child,
    watchdog: Watchdog,
    stderr: BufReader<std::process::ChildStderr>,
    stderr_text: String,
}

impl WaitingProcess {
    /// Waits for the exit and returns the complete output.
    ///
    /// # Panics
    /// If waiting fails.
    pub fn finish(mut self) -> Output {
        let stdin = self.child.stdin.take();
        self.stderr.read_to_string(&mut self.stderr_text).expect("what it writes");
        let mut output = self.child.wait_with_output().expect("an end");
        drop(stdin);
        self.watchdog.release();
        output.stderr = self.stderr_text.into_bytes();
        output
    }
}

/// The running program. Dropping it kills the process.
pub struct RunningProgram {
    child: Child,
    state: PathBuf,
    log: PathBuf,
    stdout_lines: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl RunningProgram {
    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message and returns its number once it is acknowledged.
    pub fn send_message(&self, text: &str) -> Result<u64, RequestError> {
        let answer =
            control_socket::post(&self.state, "/api/messages", &serde_json::json!({ "text": text }))?;
        answer["message"].as_u64().ok_or_else(|| RequestError("no number".to_owned()))
    }

    /// Sends a reply to the message `to`, such as one of Discord, and returns its number once it is
    /// acknowledged.
    pub fn reply(&self, text: &str, to: u64) -> Result<u64, RequestError> {
        let body = serde_json::json!({ "text": text, "reply_to": to });
        let answer = control_socket::post(&self.state, "/api/messages", &body)?;
        answer["message"].as_u64().ok_or_else(|| RequestError("no number".to_owned()))
    }

    /// Sends a command and returns the response, which is sent after the result is on disk.
    pub fn command(&self, text: &str) -> Result<Value, RequestError> {
        control_socket::post(&self.state, "/api/commands", &serde_json::json!({ "text": text }))
    }

    /// Sends a command without reading the response.
    pub fn send_command_unread(&self, text: &str) {
        // The caller checks the data directory, so a failed send is acceptable.
        let _ = control_socket::send(&self.state, "/api/commands", &serde_json::json!({ "text": text }));
    }

    /// Sends a message without reading the response.
    pub fn send_message_unread(&self, text: &str) {
        // The caller checks the data directory, so a failed send is acceptable.
        let _ = control_socket::send(&self.state, "/api/messages", &serde_json::json!({ "text": text }));
    }

    /// Requests `path` with GET.
    pub fn get(&self, path: &str) -> Result<Value, RequestError> {
        control_socket::get(&self.state, path)
    }

    /// Subscribes to all events from now on.
    pub fn events(&self) -> Result<EventStream, RequestError> {
        EventStream::open(&self.state)
    }

    /// Sends a message, waits for the end of its turn, and returns that event.
    pub fn send_and_wait(&self, text: &str) -> Result<StreamEvent, RequestError> {
        let mut events = self.events()?;
        let message = self.send_message(text)?;
        events.wait_for_end(message)
    }

    /// Returns the program's stderr so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends a signal to the process.
    ///
    /// # Panics
    /// If the process has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process to tell");
    }

    /// Kills the process immediately.
    pub fn kill(mut self) {
        self.kill_child();
    }

    /// Requests termination and waits. Returns the exit status and the lines of stdout after the
    /// first.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub fn terminate(mut self) -> (ExitStatus, Vec<String>) {
        let watchdog = Watchdog::watch(&self.child);
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("a process to ask");
        let status = self.child.wait().expect("an end");
        watchdog.release();
        let lines = self.stdout_lines.take().and_then(|rest| rest.join().ok());
        (status, lines.unwrap_or_default())
    }

    fn kill_child(&mut self) {
        // The process may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.kill_child();
    }
}

/// Runs `command` to its end.
///
/// # Panics
/// If it does not start.
pub fn run_to_end(command: &mut Command) -> Output {
    let child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let watchdog = Watchdog::watch(&child);
    let output = child.wait_with_output().expect("an end");
    watchdog.release();
    output
}

/// Returns a port that is free at the moment.
///
/// # Panics
/// If no port is available.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

fn spawn(command: &mut Command) -> Child {
    command.spawn().expect("the program starts")
}
