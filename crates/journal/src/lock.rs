//! One assistant to a data directory: the lock, and the number of the process that holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
    #[error("already running{}. talk to it: ollim-bot chat", .0.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Running(Option<u32>),
    /// The disk does not let us.
    #[error("{0}")]
    Disk(#[from] io::Error),
}

impl Lock {
    /// Takes the lock of the directory `state` for the process `pid`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock lives in an open file, which the disk does not lend"
    )]
    pub fn take(state: &Path, pid: u32) -> Result<Self, NotLocked> {
        let pid_file = state.join("bot.pid");
        let path = state.join("bot.lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NotLocked::Running(holder(state))),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let mut written =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&pid_file)?;
        written.write_all(pid.to_string().as_bytes())?;
        Ok(Self { file, pid_file })
    }
}

impl Drop for Lock {
    #[expect(clippy::disallowed_methods, reason = "the number of the process is no state of ours")]
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.pid_file);
        // A child that is being started still has the file open for a moment, and would hold the lock with us.
        let _ = self.file.unlock();
    }
}

/// The process that holds the lock of `state`.
///
/// The system knows it from the first moment on. The number in the file comes a moment later, and until then
/// it may be that of a process which died.
#[expect(clippy::disallowed_methods, reason = "the number of the process is no state of ours")]
pub fn holder(state: &Path) -> Option<u32> {
    let written = || std::fs::read_to_string(state.join("bot.pid")).ok()?.trim().parse().ok();
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = std::fs::metadata(state.join("bot.lock")).map(|found| found.ino()).unwrap_or_default();
    lock_holder(&locks, inode).or_else(written)
}

/// Reads lines such as `1: FLOCK  ADVISORY  WRITE 32545 fe:00:5374691 0 EOF`.
fn lock_holder(locks: &str, inode: u64) -> Option<u32> {
    let holders = locks.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, pid) = (words.next()?, words.nth(2)?);
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
