//! The git thread, which makes one commit after another.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::mem::{Discriminant, discriminant};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::locks::LocksAtStart;
use super::packing::Packing;
use super::program::{Problem, Program, repository};
use super::{FileChange, Task};

/// The most commits that wait for another process to release git.
const POSTPONED: usize = 256;

/// The interval at which a running repack is polled.
const SOON: Duration = Duration::from_secs(1);

/// Delay before commits that found git locked are tried again.
pub(super) const RETRY: Duration = Duration::from_secs(30);

/// Maintenance of the repository, for the process that holds the data directory.
pub(super) struct Upkeep {
    pub packing: Packing,
    pub locks: LocksAtStart,
}

/// The next step of the thread.
enum Next {
    Commit(Task),
    Retry,
    End,
}

/// Runs until all senders are dropped. Commits that found git locked are tried again after `retry`.
/// Stale locks are removed at the same interval, however many commits arrive.
pub(super) fn work(program: &Program, tasks: &Receiver<Task>, upkeep: Option<Upkeep>, retry: Duration) {
    let mut postponed: VecDeque<Task> = VecDeque::new();
    let mut told = HashSet::new();
    let (mut packing, mut locks) = match upkeep {
        Some(Upkeep { packing, locks }) => (Some(packing), Some(locks)),
        None => (None, None),
    };
    if let Some(packing) = &mut packing {
        packing.look(program);
    }
    let mut looked = Instant::now();
    loop {
        let wait = (!postponed.is_empty()).then_some(retry);
        match next(program, tasks, packing.as_mut(), wait) {
            Next::Commit(task) => postponed.push_back(task),
            Next::Retry => {}
            Next::End => break,
        }
        if looked.elapsed() >= retry {
            looked = Instant::now();
            if let Some(locks) = &mut locks {
                locks.remove_left();
            }
        }
        if postponed.len() > POSTPONED {
            // The file is safe, and its next commit includes this change.
            postponed.pop_front();
        }
        drain(program, &mut postponed, &mut told, packing.as_mut());
    }
    drain(program, &mut postponed, &mut told, packing.as_mut());
}

/// Waits for the next task, or until postponed commits are due. Also polls a running repack.
/// Commits continue during a repack.
fn next(
    program: &Program,
    tasks: &Receiver<Task>,
    packing: Option<&mut Packing>,
    retry: Option<Duration>,
) -> Next {
    let received = |task: Result<Task, RecvTimeoutError>, after: Next| match task {
        Ok(task) => Next::Commit(task),
        Err(RecvTimeoutError::Timeout) => after,
        Err(RecvTimeoutError::Disconnected) => Next::End,
    };
    if let Some(retry) = retry {
        return received(tasks.recv_timeout(retry), Next::Retry);
    }
    if let Some(packing) = packing {
        while packing.goes_on(program) {
            match tasks.recv_timeout(SOON) {
                Err(RecvTimeoutError::Timeout) => {}
                task => return received(task, Next::Retry),
            }
        }
    }
    tasks.recv().map_or(Next::End, Next::Commit)
}

/// Makes the postponed commits until another process locks git.
pub(super) fn drain(
    program: &Program,
    postponed: &mut VecDeque<Task>,
    told: &mut HashSet<Discriminant<Problem>>,
    mut packing: Option<&mut Packing>,
) {
    while let Some(task) = postponed.pop_front() {
        let Err(problem) = perform(program, &task) else {
            if let Some(packing) = &mut packing {
                packing.committed(program);
            }
            continue;
        };
        if told.insert(discriminant(&problem)) {
            tracing::warn!(path = %task.path.display(), "not in the history: {problem}");
        }
        if matches!(problem, Problem::Locked) {
            postponed.push_front(task);
            return;
        }
    }
}

fn perform(program: &Program, task: &Task) -> Result<(), Problem> {
    let Some(dir) = repository(&task.path) else { return Ok(()) };
    let Ok(path) = task.path.strip_prefix(dir) else { return Ok(()) };
    let staged = match task.change {
        FileChange::Written => program.run(dir, &words(&["add", "--"], path)),
        FileChange::Removed => {
            program.run(dir, &words(&["rm", "-f", "--cached", "--ignore-unmatch", "--quiet", "--"], path))
        }
    };
    staged?;
    let commit = [program.identity(dir), &["commit", "--quiet", "-m", &task.message, "--"]].concat();
    match program.run(dir, &words(&commit, path)) {
        // Git prints nothing on stderr if the file is unchanged.
        Err(Problem::Refused(said)) if said.is_empty() => Ok(()),
        other => other,
    }
}

fn words(words: &[&str], path: &Path) -> Vec<OsString> {
    words.iter().map(OsString::from).chain([path.as_os_str().to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::disk::{self, RealDisk};

    /// Waits until `holds`, with a limit that suffices on a busy machine.
    fn wait_until(what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(150), "{what}");
            std::thread::yield_now();
        }
    }

    /// DD-17: a commit that found git locked is made once the lock is gone, even if no other file
    /// changes.
    #[test]
    fn a_commit_is_tried_again_without_another_change() {
        let dir = tempfile::tempdir().unwrap();
        let [path, tried, script] = ["mail.md", "tried", "git.sh"].map(|name| dir.path().join(name));
        let git = Program::new("git");
        git.run(dir.path(), &["init", "--quiet"]).unwrap();
        let lock = dir.path().join(".git/index.lock");
        disk::replace(&RealDisk, &path, b"x").unwrap();
        disk::replace(&RealDisk, &lock, b"").unwrap();
        let text = format!("#!/bin/sh\ngit \"$@\"\ncode=$?\ntouch {}\nexit $code\n", tried.display());
        disk::replace(&RealDisk, &script, text.as_bytes()).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();

        let (sender, tasks) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let program = Program::new(&script.display().to_string());
            scope.spawn(move || work(&program, &tasks, None, Duration::from_millis(1)));
            let task = Task { path, message: "first".to_owned(), change: FileChange::Written };
            sender.send(task).unwrap();
            wait_until("git is never called", || tried.exists());
            disk::remove(&RealDisk, &lock).unwrap();
            wait_until("the commit is never made", || git.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
            drop(sender);
        });
    }

    /// A stale lock is removed even while commits arrive faster than the retry interval.
    #[test]
    fn a_lock_is_removed_while_commits_keep_coming() {
        let dir = tempfile::tempdir().unwrap();
        let git = Program::new("git");
        git.run(dir.path(), &["init", "--quiet"]).unwrap();
        let path = dir.path().join("mail.md");
        disk::replace(&RealDisk, &path, b"x").unwrap();
        disk::replace(&RealDisk, &dir.path().join(".git/index.lock"), b"").unwrap();
        let locks = LocksAtStart::find(Arc::new(RealDisk), dir.path(), Timestamp::MAX);
        let upkeep = Upkeep { packing: Packing::of(dir.path().to_owned()), locks };

        let (sender, tasks) = std::sync::mpsc::channel();
        sender.send(Task { path, message: "first".to_owned(), change: FileChange::Written }).unwrap();
        drop(sender);
        work(&git, &tasks, Some(upkeep), Duration::ZERO);
        assert!(git.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
    }

    /// DD-17: a commit that fails now is made with the next change, in order.
    #[test]
    fn a_commit_is_kept_while_somebody_else_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let program = Program::new("git");
        program.run(dir.path(), &["init", "--quiet"]).unwrap();
        let path = dir.path().join("mail.md");
        let lock = dir.path().join(".git/index.lock");
        disk::replace(&RealDisk, &path, b"x").unwrap();
        disk::replace(&RealDisk, &lock, b"").unwrap();

        let task = Task { path, message: "first".to_owned(), change: FileChange::Written };
        let mut postponed = VecDeque::from([task]);
        let mut told = HashSet::new();
        drain(&program, &mut postponed, &mut told, None);
        drain(&program, &mut postponed, &mut told, None);
        assert_eq!((postponed.len(), told.len()), (1, 1));

        disk::remove(&RealDisk, &lock).unwrap();
        drain(&program, &mut postponed, &mut told, None);
        assert!(postponed.is_empty());
        assert!(program.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
    }
}
