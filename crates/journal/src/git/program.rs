//! Runs git without the user's hooks, signatures and prompts.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The git executable.
#[derive(Debug)]
pub(super) struct Program {
    name: PathBuf,
}

/// An error of git.
#[derive(Debug, thiserror::Error)]
pub(super) enum GitError {
    #[error("git cannot be started ({0}); install it, or go on without a history")]
    Missing(std::io::Error),
    /// Another process is using git in the same directory.
    #[error("another process has locked git; the commit is tried again in a while")]
    Locked,
    /// Git returned an error.
    #[error("git refused: {0}")]
    Refused(String),
}

/// Options that prevent git from prompting, signing or running other programs.
const SAFE_OPTIONS: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
];

/// The identity for commits if none is configured.
const DEFAULT_IDENTITY: [&str; 4] = ["-c", "user.name=ollim-bot", "-c", "user.email=ollim-bot@localhost"];

/// Variables that would redirect git to another directory, as they do inside a hook.
const REMOVED_VARIABLES: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

impl Program {
    pub(super) fn new(name: &str) -> Self {
        Self { name: PathBuf::from(name) }
    }

    pub(super) fn run<S: AsRef<OsStr>>(&self, dir: &Path, arguments: &[S]) -> Result<(), GitError> {
        self.output(dir, arguments).map(drop)
    }

    /// Runs git in `dir` and returns its output.
    pub(super) fn output<S: AsRef<OsStr>>(&self, dir: &Path, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(dir);
        let output = command.args(arguments).output().map_err(GitError::Missing)?;
        let said = String::from_utf8_lossy(&output.stderr);
        match (output.status.success(), said.contains(".lock': File exists")) {
            (true, _) => Ok(output.stdout),
            (false, true) => Err(GitError::Locked),
            (false, false) => Err(GitError::Refused(said.trim().chars().take(500).collect())),
        }
    }

    /// Starts git in `dir` without waiting for it, in a process group of its own.
    pub(super) fn spawn(&self, dir: &Path, arguments: &[&str]) -> std::io::Result<Child> {
        let mut command = self.command(dir);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()
    }

    /// Options that set an identity if git has none.
    pub(super) fn identity_options(&self, dir: &Path) -> &'static [&'static str] {
        let known = |key| self.run(dir, &["config", "--get", key]).is_ok();
        if known("user.name") && known("user.email") { &[] } else { &DEFAULT_IDENTITY }
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.name);
        command.current_dir(dir).stdin(Stdio::null()).args(SAFE_OPTIONS).arg("--literal-pathspecs");
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        for variable in REMOVED_VARIABLES {
            command.env_remove(variable);
        }
        command
    }
}

/// Returns whether `dir` contains a git repository.
pub(super) fn is_repository(dir: &Path) -> bool {
    dir.join(".git").is_dir()
}

/// The nearest directory above `path` with a git repository.
pub(super) fn find_repository(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| is_repository(above))
}
