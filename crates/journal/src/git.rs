//! Version history of the user's files, in a git repository.
//!
//! Commits run on a separate thread with a bounded queue. Errors are logged and never affect the
//! files themselves.

mod locks;
mod packing;
mod past;
mod program;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use jiff::Timestamp;

use crate::disk::{self, Disk};
use locks::LocksAtStart;
pub use locks::{Lock, locks};
use packing::Packing;
pub(crate) use packing::is_half_packed;
pub use past::{Committed, version, versions};
use program::Program;
use worker::{RETRY, Upkeep};

/// The maximum number of queued commits.
const WAITING: usize = 256;

/// The ignored files: everything in `state/` except the session history, and temporary files.
const IGNORED: &str = "/state/*\n!/state/session_history.jsonl\n*.tmp\n";

/// The file with these rules.
pub const IGNORE_FILE: &str = ".gitignore";

/// State of the repository of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// It was created now. The user is notified.
    Begun,
    /// It existed before.
    Kept,
    /// There is none, because git is missing or fails. Everything else works.
    Absent,
}

/// A file change to commit.
#[derive(Debug)]
struct Task {
    path: PathBuf,
    message: String,
    change: FileChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileChange {
    Written,
    Removed,
}

/// Handle of the git thread.
pub struct Git {
    queue: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// Creates a repository in `data` if there is none, and the ignore file.
pub fn track(disk: &dyn Disk, data: &Path, program: &str) -> Tracking {
    let ignored = data.join(IGNORE_FILE);
    if let Ok(None) = disk.look(&ignored)
        && let Err(error) = disk::replace(disk, &ignored, IGNORED.as_bytes())
    {
        tracing::warn!(path = %ignored.display(), "cannot say what git should leave out: {error}");
    }
    if program::is_repository(data) {
        return Tracking::Kept;
    }
    match Program::new(program).run(data, &["init", "--quiet"]) {
        Ok(()) => Tracking::Begun,
        Err(problem) => {
            tracing::warn!(path = %data.display(), "the files have no history: {problem}");
            Tracking::Absent
        }
    }
}

impl Git {
    /// Starts the thread. `program` is the git executable, usually `git`.
    pub fn start(program: &str) -> Self {
        Self::start_after(program, || None)
    }

    /// Starts the thread, which first creates a repository in `data` if there is none, and compacts
    /// it over time. Only for the process that holds the lock of `data`.
    pub fn start_tracking(disk: Arc<dyn Disk>, data: PathBuf, program: &'static str, now: Timestamp) -> Self {
        Self::start_after(program, move || {
            let mut locks = LocksAtStart::find(Arc::clone(&disk), &data, now);
            locks.remove_left();
            packing::sweep(&*disk, &data, now);
            if track(&*disk, &data, program) == Tracking::Begun {
                tracing::info!(path = %data.display(), "The history of the files is kept by git from now on.");
            }
            Some(Upkeep { packing: Packing::of(data), locks })
        })
    }

    /// Without a history.
    pub fn none() -> Self {
        Self { queue: None, thread: None }
    }

    /// Returns whether a history is written.
    pub fn keeps(&self) -> bool {
        self.queue.is_some()
    }

    fn start_after(program: &str, first: impl FnOnce() -> Option<Upkeep> + Send + 'static) -> Self {
        let (queue, tasks) = sync_channel(WAITING);
        let program = Program::new(program);
        let thread = std::thread::Builder::new().name("git".to_owned());
        let work = move || {
            let upkeep = first();
            worker::work(&program, &tasks, upkeep, RETRY);
        };
        match thread.spawn(work) {
            Ok(thread) => Self { queue: Some(queue), thread: Some(thread) },
            Err(error) => {
                tracing::warn!("the files have no history: no thread for git ({error})");
                Self::none()
            }
        }
    }

    /// Queues a commit of a written file. Does not wait.
    pub fn commit(&self, path: &Path, message: String) {
        self.send(Task { path: path.to_owned(), message, change: FileChange::Written });
    }

    /// Queues a commit of a removed file. Does not wait.
    pub fn commit_removal(&self, path: &Path, message: String) {
        self.send(Task { path: path.to_owned(), message, change: FileChange::Removed });
    }

    /// Waits until all queued commits are done.
    pub fn finish(self) {
        drop(self);
    }

    fn send(&self, task: Task) {
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
