//! The lock of a data directory, which allows a single daemon, and the process id of its holder.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::paths::Paths;

pub const LOCK_FILE: &str = "bot.lock";

/// Attempts, and delay between them, if the holder of the lock is dead.
const MAX_ATTEMPTS: u32 = 100;
const RETRY_DELAY: Duration = Duration::from_millis(5);

/// Held as long as the daemon runs. The system releases it when the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    pid_file: PathBuf,
}

/// An error from taking the lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{0}")]
    Running(RunningInstance),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// The process that uses a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunningInstance {
    /// This program, and its process id if known.
    Ours(Option<u32>),
    /// The Python program, which does not use the lock.
    Python(u32),
}

impl RunningInstance {
    /// The process id, if known.
    pub fn pid(self) -> Option<u32> {
        match self {
            Self::Ours(pid) => pid,
            Self::Python(pid) => Some(pid),
        }
    }
}

impl fmt::Display for RunningInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(Some(pid)) => write!(f, "already running (pid {pid}). talk to it: ollim-bot chat"),
            Self::Ours(None) => f.write_str("already running. talk to it: ollim-bot chat"),
            Self::Python(pid) => write!(
                f,
                "the python ollim-bot is already running here (pid {pid}). stop it first: two would answer and ring \
                 for the same things."
            ),
        }
    }
}

impl Lock {
    /// Takes the lock of the directory `state` for the process `pid`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock belongs to an open file, which the trait Disk does not provide"
    )]
    pub fn take(state: &Path, pid: u32) -> Result<Self, LockError> {
        let pid_file = state.join("bot.pid");
        // Checked first, so that a refused start creates no files.
        if let Some(pid) = pid_in_file(state).filter(|other| *other != pid && is_python_process(*other)) {
            return Err(LockError::Running(RunningInstance::Python(pid)));
        }
        let path = state.join(LOCK_FILE);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        acquire(&file, state)?;
        let mut written =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&pid_file)?;
        written.write_all(pid.to_string().as_bytes())?;
        Ok(Self { file, pid_file })
    }
}

/// Returns whether a daemon runs in the data directory at `paths`.
#[expect(
    clippy::disallowed_methods,
    reason = "a lock belongs to an open file, which the trait Disk does not provide"
)]
pub fn is_in_use(paths: &Paths) -> bool {
    let file = OpenOptions::new().write(true).open(paths.state().join(LOCK_FILE));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

impl Drop for Lock {
    #[expect(clippy::disallowed_methods, reason = "the file of the process id is not state of the journal")]
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.pid_file);
        // Unlocks explicitly, because a child process that is being started may inherit the open
        // file for a moment.
        let _ = self.file.unlock();
    }
}

/// Takes the lock without waiting for a live holder. But a killed program may have been starting a
/// child that inherited the file until its exec, so a lock with a dead holder is tried again for a
/// moment.
#[expect(clippy::disallowed_methods, reason = "no Clock exists yet at this point")]
fn acquire(file: &File, state: &Path) -> Result<(), LockError> {
    let mut holds = None;
    for _ in 0..MAX_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => holds = holder(state),
        }
        if holds.is_some_and(is_alive) {
            break;
        }
        std::thread::sleep(RETRY_DELAY);
    }
    Err(LockError::Running(RunningInstance::Ours(holds)))
}

/// Returns whether the process `pid` is running.
pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The process that holds the lock of `state`.
///
/// Prefers the information of the system, because the id in the file is written a moment later and
/// may be that of a dead process.
#[expect(
    clippy::disallowed_methods,
    reason = "/proc and the file of the process id are not state of the journal"
)]
pub fn holder(state: &Path) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = std::fs::metadata(state.join(LOCK_FILE)).map(|found| found.ino()).unwrap_or_default();
    parse_holder(&locks, inode).or_else(|| pid_in_file(state))
}

/// The process id in the file in `state`.
#[expect(clippy::disallowed_methods, reason = "the file of the process id is not state of the journal")]
fn pid_in_file(state: &Path) -> Option<u32> {
    std::fs::read_to_string(state.join("bot.pid")).ok()?.trim().parse().ok()
}

/// Returns whether the process `pid` is the Python program. Not used for this program, which has
/// the lock and whose id may have been reused.
#[expect(clippy::disallowed_methods, reason = "/proc is not state of the journal")]
fn is_python_process(pid: u32) -> bool {
    let told = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = told.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    is_python_command_line(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// Returns whether a command line such as `python -X dev /usr/bin/ollim-bot` or `python3.12 -m
/// ollim_bot` starts the Python program, rather than only naming its file.
fn is_python_command_line(words: &[&str]) -> bool {
    let Some((program, mut rest)) = words.split_first() else { return false };
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    if !["python", "pypy"].iter().any(|name| last(program).starts_with(name)) {
        return false;
    }
    loop {
        match rest {
            ["-m", module, ..] => return module.split('.').next() == Some("ollim_bot"),
            ["-W" | "-X", _, more @ ..] => rest = more,
            [option, more @ ..] if option.starts_with('-') => rest = more,
            [script, ..] => {
                return last(script) == "ollim-bot" || script.split('/').any(|it| it == "ollim_bot");
            }
            [] => return false,
        }
    }
}

/// Parses lines such as `1: FLOCK  ADVISORY  WRITE 32545 fe:00:5374691 0 EOF`.
fn parse_holder(locks: &str, inode: u64) -> Option<u32> {
    let holders = locks.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let pid = words.nth(2)?;
        let held = words.next()?.rsplit(':').next()?;
        (kind == "FLOCK" && held.parse() == Ok(inode)).then(|| pid.parse().ok())?
    });
    let holders: Vec<u32> = holders.filter(|pid| *pid > 0).collect();
    // Inode numbers are unique only per disk; if several match, the id in the file is used.
    match holders.as_slice() {
        [pid] => Some(*pid),
        [] | [_, ..] => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A child of a dead program that has inherited the lock file. It ends when its stdin is
    /// closed.
    fn orphan(state: &Path) -> Child {
        let script = "exec 9>bot.lock; flock 9; exec cat";
        let mut child = Command::new("sh");
        child.args(["-c", script]).current_dir(state).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        // It echoes its input only after it has the lock.
        child.stdin.as_mut().unwrap().write_all(b".").unwrap();
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        child
    }

    /// B6: a program that was killed while starting a child does not prevent the next start.
    #[test]
    fn a_lock_inherited_from_a_dead_process_is_waited_for() {
        let state = tempfile::tempdir().unwrap();
        let mut orphan = orphan(state.path());
        let (said, heard) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| said.send(Lock::take(state.path(), 7).map(drop)).unwrap());
            assert!(heard.recv_timeout(Duration::from_millis(20)).is_err(), "it was not held");
            drop(orphan.stdin.take());
            orphan.wait().unwrap();
            heard.recv().unwrap().unwrap();
        });
    }

    /// B6: a lock held by a live process is refused at once, with its process id.
    #[test]
    fn a_lock_held_by_a_live_process_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let me = std::process::id();
        let held = Lock::take(state.path(), me).unwrap();
        assert!(matches!(Lock::take(state.path(), 8), Err(LockError::Running(who)) if who.pid() == Some(me)));
        drop(held);
        Lock::take(state.path(), 8).unwrap();
    }

    /// SU-4: the Python program is recognised by its command line, not by programs that use its
    /// files.
    #[test]
    fn the_python_program_is_distinguished_from_programs_that_use_its_files() {
        for (line, is_it) in [
            ("/opt/a/.venv/bin/python /opt/a/.venv/bin/ollim-bot", true),
            ("python3.12 -X dev -u /usr/bin/ollim-bot --verbose", true),
            ("python3 -m ollim_bot", true),
            ("python3 -m ollim_bot.main", true),
            ("/usr/bin/python3 /src/ollim-bot/src/ollim_bot/main.py", true),
            ("ollim-bot run", false),
            ("/usr/bin/ollim-bot chat", false),
            ("vim /opt/a/.ollim-bot/notes/python", false),
            ("less /usr/bin/ollim-bot", false),
            ("python3 /opt/a/.ollim-bot/skills/tidy/run.py", false),
            ("python3 -c print(1) ollim-bot", false),
            ("python3 -m http.server /usr/bin/ollim-bot", false),
            ("python3", false),
            ("", false),
        ] {
            assert_eq!(is_python_command_line(&line.split(' ').collect::<Vec<_>>()), is_it, "{line}");
        }
    }
}
