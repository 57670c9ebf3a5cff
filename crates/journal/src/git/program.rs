//! Calling git, without the human's hooks, signatures and questions.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How git is called.
#[derive(Debug)]
pub(super) struct Program {
    name: PathBuf,
}

/// Why git did not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// It cannot be started.
    #[error("git cannot be started ({0}); install it, or go on without a history")]
    Missing(std::io::Error),
    /// Somebody else is using it on the same directory.
    #[error("another process has locked git; the commit is tried again in a while")]
    Locked,
    /// It refused.
    #[error("git refused: {0}")]
    Refused(String),
}

/// Settings that keep git from asking, signing or running anything.
const QUIETLY: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
];

/// Who commits where nobody is known by name.
const NAMELESS: [&str; 4] = ["-c", "user.name=ollim-bot", "-c", "user.email=ollim-bot@localhost"];

/// Variables that would lead git to another directory, as they do inside a hook.
const ELSEWHERE: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

impl Program {
    pub(super) fn new(name: &str) -> Self {
        Self { name: PathBuf::from(name) }
    }

    /// Runs git in `dir`.
    pub(super) fn run<S: AsRef<OsStr>>(&self, dir: &Path, arguments: &[S]) -> Result<(), Problem> {
        self.ask(dir, arguments).map(drop)
    }

    /// Runs git in `dir`, and gives what it said.
    pub(super) fn ask<S: AsRef<OsStr>>(&self, dir: &Path, arguments: &[S]) -> Result<Vec<u8>, Problem> {
        let mut command = self.command(dir);
        let output = command.args(arguments).output().map_err(Problem::Missing)?;
        let said = String::from_utf8_lossy(&output.stderr);
        match (output.status.success(), said.contains(".lock': File exists")) {
            (true, _) => Ok(output.stdout),
            (false, true) => Err(Problem::Locked),
            (false, false) => Err(Problem::Refused(said.trim().chars().take(500).collect())),
        }
    }

    /// Begins to run git in `dir`, and does not wait for it. All that it starts is in one group with it.
    pub(super) fn begin(&self, dir: &Path, arguments: &[&str]) -> std::io::Result<Child> {
        let mut command = self.command(dir);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()
    }

    /// What makes a commit possible where git does not know who commits.
    pub(super) fn identity(&self, dir: &Path) -> &'static [&'static str] {
        let known = |key| self.run(dir, &["config", "--get", key]).is_ok();
        if known("user.name") && known("user.email") { &[] } else { &NAMELESS }
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.name);
        command.current_dir(dir).stdin(Stdio::null()).args(QUIETLY).arg("--literal-pathspecs");
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        for variable in ELSEWHERE {
            command.env_remove(variable);
        }
        command
    }
}

/// Whether `dir` holds a history of its own.
pub(super) fn is_repository(dir: &Path) -> bool {
    dir.join(".git").is_dir()
}

/// The nearest directory above `path` that holds a history.
pub(super) fn repository(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| is_repository(above))
}
