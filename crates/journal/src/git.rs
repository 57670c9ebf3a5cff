//! The history of the files people read, kept by git.
//!
//! It is a convenience and never in the way: it has a thread of its own and a queue of bounded length, and
//! whatever goes wrong in there, the files are already safe.

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

/// The most commits that wait.
const WAITING: usize = 256;

/// What stays out of the history: all of `state/` but the life of the sessions, and unfinished writes.
const IGNORED: &str = "/state/*\n!/state/session_history.jsonl\n*.tmp\n";

/// Where that is said.
pub const IGNORE_FILE: &str = ".gitignore";

/// Whether a data directory had a history before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// It was given one now. The human is told.
    Begun,
    /// It had one.
    Kept,
    /// It has none, because git is missing or refuses. Everything else works.
    Absent,
}

/// Something to be written into the history.
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

/// The door to the thread that speaks to git.
pub struct Git {
    queue: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// Gives `data` a history if it has none, and says what stays out of it.
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
    /// Starts the thread. `program` is how git is called, usually `git`.
    pub fn start(program: &str) -> Self {
        Self::start_after(program, || None)
    }

    /// Starts the thread, which first gives `data` a history if it has none, and keeps it small. Only for the one
    /// process that holds the lock of `data`.
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

    /// Nobody keeps a history.
    pub fn none() -> Self {
        Self { queue: None, thread: None }
    }

    /// Whether anybody keeps one.
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

    /// Commits one file that was written. Returns at once.
    pub fn commit(&self, path: &Path, message: String) {
        self.send(Task { path: path.to_owned(), message, change: FileChange::Written });
    }

    /// Commits that one file was removed. Returns at once.
    pub fn commit_removal(&self, path: &Path, message: String) {
        self.send(Task { path: path.to_owned(), message, change: FileChange::Removed });
    }

    /// Waits until all that was asked for is done.
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
