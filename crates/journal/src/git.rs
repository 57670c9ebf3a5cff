//! Version history of the user's files, in a git repository.
//!
//! Commits run on a separate thread with a bounded queue. Errors are logged and never affect the
//! files themselves.

mod file_versions;
mod locks;
mod program;
mod repack;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::disk::{self, Disk};
pub use file_versions::{FileVersion, version, versions};
use locks::StartupLocks;
pub use locks::{GitLock, find_locks};
use program::Program;
use repack::Repacker;
pub(crate) use repack::is_temporary_pack;
use worker::{Maintenance, RETRY_INTERVAL};

/// The maximum number of queued commits.
const QUEUE_LENGTH: usize = 256;

/// The ignored files: everything in `state/` except the session history, and temporary files.
const IGNORE_RULES: &str = "/state/*\n!/state/session_history.jsonl\n*.tmp\n";

/// The file with these rules.
pub const IGNORE_FILE: &str = ".gitignore";

/// State of the repository of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// It was created now. The user is notified.
    Created,
    /// It existed before.
    Existing,
    /// There is none, because git is missing or fails. Everything else works.
    Absent,
}

/// A file change to commit.
#[derive(Debug)]
struct CommitTask {
    path: PathBuf,
    message: String,
    change: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeKind {
    Written,
    Removed,
}

/// Handle of the git thread.
pub struct Git {
    queue: Option<SyncSender<CommitTask>>,
    thread: Option<JoinHandle<()>>,
}

/// Creates a repository in `data` if there is none, and the ignore file.
pub fn ensure_repository(disk: &dyn Disk, data: &Path, program: &str) -> Tracking {
    let ignored = data.join(IGNORE_FILE);
    if let Ok(None) = disk.file_kind(&ignored)
        && let Err(error) = disk::replace(disk, &ignored, IGNORE_RULES.as_bytes())
    {
        tracing::warn!(path = %ignored.display(), "cannot say what git should leave out: {error}");
    }
    if program::is_repository(data) {
        return Tracking::Existing;
    }
    match Program::new(program).run(data, &["init", "--quiet"]) {
        Ok(()) => Tracking::Created,
        Err(problem) => {
            tracing::warn!(path = %data.display(), "the files have no history: {problem}");
            Tracking::Absent
        }
    }
}

impl Git {
    /// Starts the thread. `program` is the git executable, usually `git`.
    pub fn start(program: &str) -> Self {
        Self::start_with(program, || None)
    }

    /// Starts the thread, which first creates a repository in `data` if there is none, and compacts
    /// it over time. Only for the process that holds the lock of `data`.
    pub fn start_tracking(disk: Arc<dyn Disk>, data: PathBuf, program: &'static str, now: Timestamp) -> Self {
        Self::start_with(program, move || {
            let mut locks = StartupLocks::find(Arc::clone(&disk), &data, now);
            locks.remove_stale();
            repack::remove_temporary_packs(&*disk, &data, now);
            if ensure_repository(&*disk, &data, program) == Tracking::Created {
                tracing::info!(path = %data.display(), "The history of the files is kept by git from now on.");
            }
            Some(Maintenance { packing: Repacker::new(data), locks })
        })
    }

    /// Without a history.
    pub fn disabled() -> Self {
        Self { queue: None, thread: None }
    }

    /// Returns whether a history is written.
    pub fn is_enabled(&self) -> bool {
        self.queue.is_some()
    }

    fn start_with(program: &str, first: impl FnOnce() -> Option<Maintenance> + Send + 'static) -> Self {
        let (queue, tasks) = sync_channel(QUEUE_LENGTH);
        let program = Program::new(program);
        let thread = std::thread::Builder::new().name("git".to_owned());
        let work = move || {
            let upkeep = first();
            worker::run(&program, &tasks, upkeep, RETRY_INTERVAL);
        };
        match thread.spawn(work) {
            Ok(thread) => Self { queue: Some(queue), thread: Some(thread) },
            Err(error) => {
                tracing::warn!("the files have no history: no thread for git ({error})");
                Self::disabled()
            }
        }
    }

    /// Queues a commit of a written file. Does not wait.
    pub fn commit(&self, path: &Path, message: String) {
        self.send(CommitTask { path: path.to_owned(), message, change: ChangeKind::Written });
    }

    /// Queues a commit of a removed file. Does not wait.
    pub fn commit_removal(&self, path: &Path, message: String) {
        self.send(CommitTask { path: path.to_owned(), message, change: ChangeKind::Removed });
    }

    /// Waits until all queued commits are done.
    pub fn finish(self) {
        drop(self);
    }

    fn send(&self, task: CommitTask) {
        let Some(queue) = &self.queue else { return };
        match queue.try_send(task) {
            Ok(()) => {}
            Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) => {
                let path = task.path.display();
                tracing::warn!(%path, "git is too slow; the file is safe and is committed the next time it changes");
            }
        }
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread for git broke; the files are safe, their history may lack its end");
        }
    }
}
