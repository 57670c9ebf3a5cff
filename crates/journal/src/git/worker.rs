//! The git thread, which makes one commit after another.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::mem::{Discriminant, discriminant};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::locks::StartupLocks;
use super::program::{GitError, Program, find_repository};
use super::repack::Repacker;
use super::{ChangeKind, CommitTask};

/// The most commits that wait for another process to release git.
const MAX_POSTPONED: usize = 256;

/// The interval at which a running repack is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Delay before commits that found git locked are tried again.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Maintenance of the repository, for the process that holds the data directory.
pub(super) struct Maintenance {
    pub packing: Repacker,
    pub locks: StartupLocks,
}

/// The next step of the thread.
enum NextStep {
    Commit(CommitTask),
    Retry,
    End,
}

/// Runs until all senders are dropped. Commits that found git locked are tried again after `retry`.
/// Stale locks are removed at the same interval, however many commits arrive.
pub(super) fn run(
    program: &Program,
    tasks: &Receiver<CommitTask>,
    upkeep: Option<Maintenance>,
    retry: Duration,
) {
    let mut postponed: VecDeque<CommitTask> = VecDeque::new();
    let mut reported = HashSet::new();
    let (mut packing, mut locks) = match upkeep {
        Some(Maintenance { packing, locks }) => (Some(packing), Some(locks)),
        None => (None, None),
    };
    if let Some(packing) = &mut packing {
        packing.start_if_needed(program);
    }
    let mut looked = Instant::now();
    loop {
        let wait = (!postponed.is_empty()).then_some(retry);
        match next(program, tasks, packing.as_mut(), wait) {
            NextStep::Commit(task) => postponed.push_back(task),
            NextStep::Retry => {}
            NextStep::End => break,
        }
        if looked.elapsed() >= retry {
            looked = Instant::now();
            if let Some(locks) = &mut locks {
                locks.remove_stale();
            }
        }
        if postponed.len() > MAX_POSTPONED {
            // The file is safe, and its next commit includes this change.
            postponed.pop_front();
        }
        commit_postponed(program, &mut postponed, &mut reported, packing.as_mut());
    }
    commit_postponed(program, &mut postponed, &mut reported, packing.as_mut());
}

/// Waits for the next task, or until postponed commits are due. Also polls a running repack.
/// Commits continue during a repack.
fn next(
    program: &Program,
    tasks: &Receiver<CommitTask>,
    packing: Option<&mut Repacker>,
    retry: Option<Duration>,
) -> NextStep {
    let received = |task: Result<CommitTask, RecvTimeoutError>, after: NextStep| match task {
        Ok(task) => NextStep::Commit(task),
        Err(RecvTimeoutError::Timeout) => after,
        Err(RecvTimeoutError::Disconnected) => NextStep::End,
    };
    if let Some(retry) = retry {
        return received(tasks.recv_timeout(retry), NextStep::Retry);
    }
    if let Some(packing) = packing {
        while packing.is_running(program) {
            match tasks.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                task => return received(task, NextStep::Retry),
            }
        }
    }
    tasks.recv().map_or(NextStep::End, NextStep::Commit)
}

/// Makes the postponed commits until another process locks git.
pub(super) fn commit_postponed(
    program: &Program,
    postponed: &mut VecDeque<CommitTask>,
    reported: &mut HashSet<Discriminant<GitError>>,
    mut packing: Option<&mut Repacker>,
) {
    while let Some(task) = postponed.pop_front() {
        let Err(problem) = commit(program, &task) else {
            if let Some(packing) = &mut packing {
                packing.on_commit(program);
            }
            continue;
        };
        if reported.insert(discriminant(&problem)) {
            tracing::warn!(path = %task.path.display(), "not in the history: {problem}");
        }
        if matches!(problem, GitError::Locked) {
            postponed.push_front(task);
            return;
        }
    }
}

fn commit(program: &Program, task: &CommitTask) -> Result<(), GitError> {
    let Some(dir) = find_repository(&task.path) else { return Ok(()) };
    let Ok(path) = task.path.strip_prefix(dir) else { return Ok(()) };
    let staged = match task.change {
        ChangeKind::Written => program.run(dir, &arguments_with_path(&["add", "--"], path)),
        ChangeKind::Removed => program.run(
            dir,
            &arguments_with_path(&["rm", "-f", "--cached", "--ignore-unmatch", "--quiet", "--"], path),
        ),
    };
    staged?;
    let commit = [program.identity_options(dir), &["commit", "--quiet", "-m", &task.message, "--"]].concat();
    match program.run(dir, &arguments_with_path(&commit, path)) {
        // Git prints nothing on stderr if the file is unchanged.
        Err(GitError::Refused(said)) if said.is_empty() => Ok(()),
        other => other,
    }
}

fn arguments_with_path(words: &[&str], path: &Path) -> Vec<OsString> {
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
    fn a_commit_is_retried_without_another_change() {
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
            scope.spawn(move || run(&program, &tasks, None, Duration::from_millis(1)));
            let task = CommitTask { path, message: "first".to_owned(), change: ChangeKind::Written };
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
        let locks = StartupLocks::find(Arc::new(RealDisk), dir.path(), Timestamp::MAX);
        let upkeep = Maintenance { packing: Repacker::new(dir.path().to_owned()), locks };

        let (sender, tasks) = std::sync::mpsc::channel();
        sender.send(CommitTask { path, message: "first".to_owned(), change: ChangeKind::Written }).unwrap();
        drop(sender);
        run(&git, &tasks, Some(upkeep), Duration::ZERO);
        assert!(git.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
    }

    /// DD-17: a commit that fails now is made with the next change, in order.
    #[test]
    fn a_commit_is_postponed_while_another_process_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let program = Program::new("git");
        program.run(dir.path(), &["init", "--quiet"]).unwrap();
        let path = dir.path().join("mail.md");
        let lock = dir.path().join(".git/index.lock");
        disk::replace(&RealDisk, &path, b"x").unwrap();
        disk::replace(&RealDisk, &lock, b"").unwrap();

        let task = CommitTask { path, message: "first".to_owned(), change: ChangeKind::Written };
        let mut postponed = VecDeque::from([task]);
        let mut told = HashSet::new();
        commit_postponed(&program, &mut postponed, &mut told, None);
        commit_postponed(&program, &mut postponed, &mut told, None);
        assert_eq!((postponed.len(), told.len()), (1, 1));

        disk::remove(&RealDisk, &lock).unwrap();
        commit_postponed(&program, &mut postponed, &mut told, None);
        assert!(postponed.is_empty());
        assert!(program.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
    }
}
