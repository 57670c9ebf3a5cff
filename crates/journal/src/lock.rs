//! One assistant to a data directory: the lock, and the number of the process that holds it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::paths::Paths;

/// The file that is locked.
pub const LOCK_FILE: &str = "bot.lock";

/// How often, and how long apart, a lock is tried whose holder is dead.
const TRIES: u32 = 100;
const APART: Duration = Duration::from_millis(5);

/// Held as long as the assistant runs. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    pid_file: PathBuf,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    /// Another assistant has it.
    #[error("{0}")]
    Running(Running),
    /// The disk does not let us.
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// Who runs on a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// One of ours, and its number, if that is known.
    Ours(Option<u32>),
    /// The Python program, which knows of no lock.
    Python(u32),
}

impl Running {
    /// Its number.
    pub fn pid(self) -> Option<u32> {
        match self {
            Self::Ours(pid) => pid,
            Self::Python(pid) => Some(pid),
        }
    }
}

impl fmt::Display for Running {
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
        reason = "a lock lives in an open file, which the disk does not lend"
    )]
    pub fn take(state: &Path, pid: u32) -> Result<Self, NotLocked> {
        let pid_file = state.join("bot.pid");
        // Before anything is made there: whoever goes away again leaves no trace of having been here.
        if let Some(pid) = written(state).filter(|other| *other != pid && is_python(*other)) {
            return Err(NotLocked::Running(Running::Python(pid)));
        }
        let path = state.join(LOCK_FILE);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        lock(&file, state)?;
        let mut written =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&pid_file)?;
        written.write_all(pid.to_string().as_bytes())?;
        Ok(Self { file, pid_file })
    }
}

/// Whether an assistant runs on the data directory at `paths`.
#[expect(clippy::disallowed_methods, reason = "a lock lives in an open file, which the disk does not lend")]
pub fn is_in_use(paths: &Paths) -> bool {
    let file = OpenOptions::new().write(true).open(paths.state().join(LOCK_FILE));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

impl Drop for Lock {
    #[expect(clippy::disallowed_methods, reason = "the number of the process is no state of ours")]
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.pid_file);
        // A child that is being started still has the file open for a moment, and would hold the lock with us.
        let _ = self.file.unlock();
    }
}

/// Takes it at once, or not at all. But a program that was killed may have been starting a child, which has the file
/// open until it has become another program: what is held by the dead is tried again for a moment.
#[expect(clippy::disallowed_methods, reason = "nothing of ours runs yet whose clock could tell the time")]
fn lock(file: &File, state: &Path) -> Result<(), NotLocked> {
    let mut holds = None;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => holds = holder(state),
        }
        if holds.is_some_and(is_alive) {
            break;
        }
        std::thread::sleep(APART);
    }
    Err(NotLocked::Running(Running::Ours(holds)))
}

/// Whether the process `pid` runs.
pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The process that holds the lock of `state`.
///
/// The system knows it from the first moment on. The number in the file comes a moment later, and until then
/// it may be that of a process which died.
#[expect(clippy::disallowed_methods, reason = "the number of the process is no state of ours")]
pub fn holder(state: &Path) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = std::fs::metadata(state.join(LOCK_FILE)).map(|found| found.ino()).unwrap_or_default();
    lock_holder(&locks, inode).or_else(|| written(state))
}

/// The number that somebody wrote down for `state`.
#[expect(clippy::disallowed_methods, reason = "the number of the process is no state of ours")]
fn written(state: &Path) -> Option<u32> {
    std::fs::read_to_string(state.join("bot.pid")).ok()?.trim().parse().ok()
}

/// Whether the process `pid` runs, and is the Python program. For one of ours the lock speaks, and its number may by
/// now be that of any other.
#[expect(clippy::disallowed_methods, reason = "what runs is no state of ours")]
fn is_python(pid: u32) -> bool {
    let told = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = told.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    is_the_python_program(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// Whether a command line such as `python -X dev /usr/bin/ollim-bot` or `python3.12 -m ollim_bot` starts it. Who only
/// reads or writes a file of that name is somebody else.
fn is_the_python_program(words: &[&str]) -> bool {
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

/// Reads lines such as `1: FLOCK  ADVISORY  WRITE 32545 fe:00:5374691 0 EOF`.
fn lock_holder(locks: &str, inode: u64) -> Option<u32> {
    let holders = locks.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let pid = words.nth(2)?;
        let held = words.next()?.rsplit(':').next()?;
        (kind == "FLOCK" && held.parse() == Ok(inode)).then(|| pid.parse().ok())?
    });
    let holders: Vec<u32> = holders.filter(|pid| *pid > 0).collect();
    // The number of a file may be there once for each disk; then the written one must do.
    match holders.as_slice() {
        [pid] => Some(*pid),
        [] | [_, ..] => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A child that has the lock file open, of a program that took the lock and is dead. It ends when it is told to.
    fn orphan(state: &Path) -> Child {
        let script = "exec 9>bot.lock; flock 9; exec cat";
        let mut child = Command::new("sh");
        child.args(["-c", script]).current_dir(state).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        // It says back what it hears only when it has the lock.
        child.stdin.as_mut().unwrap().write_all(b".").unwrap();
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        child
    }

    /// B6: a program that was killed while it started a child does not keep the next one from starting.
    #[test]
    fn what_the_dead_hold_is_waited_for() {
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

    /// B6: what is held by a program that runs is refused at once, with its number.
    #[test]
    fn what_the_living_hold_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let me = std::process::id();
        let held = Lock::take(state.path(), me).unwrap();
        assert!(matches!(Lock::take(state.path(), 8), Err(NotLocked::Running(who)) if who.pid() == Some(me)));
        drop(held);
        Lock::take(state.path(), 8).unwrap();
    }

    /// SU-4: the Python program is known by what runs in it, and whoever has a file of that name open is not it.
    #[test]
    fn the_python_program_is_told_from_who_reads_its_files() {
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
            assert_eq!(is_the_python_program(&line.split(' ').collect::<Vec<_>>()), is_it, "{line}");
        }
    }
}
