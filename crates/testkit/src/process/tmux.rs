//! A real terminal that runs the program in tmux, and assertions on its screen.
//!
//! There are no fixed delays: tests poll for the expected screen.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

use super::{Program, block_on};
use crate::TEST_TIMEOUT;

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// A tmux pane with one program.
pub struct Pane {
    dir: TempDir,
}

impl Pane {
    /// Opens a terminal of the given size that runs `program` and prints its exit status.
    ///
    /// # Panics
    /// If tmux is not installed.
    pub fn open(program: &Program, arguments: &[&str], (columns, rows): (u16, u16)) -> Self {
        let pane = Self { dir: tempfile::tempdir().expect("a place for the socket") };
        let line = format!("{}; echo \"ended with $?\"; exec cat", shell_line(&program.command(arguments)));
        let columns = columns.to_string();
        let rows = rows.to_string();
        pane.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, &line]);
        pane
    }

    /// Types text.
    pub fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Presses keys by their names: `EnterInput`, `C-c`.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line and presses Enter.
    pub fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press(&["Enter"]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]);
        let screen = String::from_utf8_lossy(&output.stdout).into_owned();
        screen.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>().trim_end().to_owned()
    }

    /// Records all output of the program to a file, from now on.
    pub fn record_output(&self) -> PathBuf {
        let path = self.dir.path().join("written");
        fs::write(&path, "").expect("a file");
        self.tmux(&["pipe-pane", "-o", &format!("cat >> '{}'", path.display())]);
        path
    }

    /// Waits until the screen satisfies `matches` and returns it.
    ///
    /// # Panics
    /// If it does not within the time limit.
    pub fn wait_until(&self, expected: &str, matches: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let found = completes_in_time(async {
            loop {
                screen = self.screen();
                if matches(&screen) {
                    return;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
        assert!(found, "{expected}: it is never seen on\n{screen}");
        screen
    }

    /// Waits until the screen contains `text`.
    ///
    /// # Panics
    /// If it does not within the time limit.
    pub fn wait_for_text(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let socket = self.dir.path().join("socket");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(socket).args(arguments).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        let output = command.output();
        let output =
            output.expect("these tests need tmux: `apt-get install tmux`, or run `cargo xtask test`");
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let socket = self.dir.path().join("socket");
        // The server may already have exited with the program.
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}

/// Returns true if `future` completes within the time limit.
fn completes_in_time(future: impl Future<Output = ()>) -> bool {
    block_on(async { tokio::time::timeout(TEST_TIMEOUT, future).await }).is_ok()
}

/// Formats `command` for a shell, with its own environment and the terminal's.
fn shell_line(command: &Command) -> String {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let mut line = String::new();
    if let Some(dir) = command.get_current_dir() {
        let _ = write!(line, "cd {} && ", quoted(dir.as_os_str()));
    }
    line += "env -i LC_ALL=C.UTF-8 TERM=\"$TERM\"";
    for (name, value) in command.get_envs() {
        let value = value.map(quoted).unwrap_or_default();
        let _ = write!(line, " {}={value}", name.to_string_lossy());
    }
    let _ = write!(line, " {}", quoted(command.get_program()));
    command.get_args().for_each(|word| {
        let _ = write!(line, " {}", quoted(word));
    });
    line
}
