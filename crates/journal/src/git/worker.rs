//! The thread that speaks to git, one commit after the other.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::mem::{Discriminant, discriminant};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::packing::Packing;
use super::program::{Problem, Program, repository};
use super::{FileChange, Task};

/// The most commits that wait for somebody else to let go of git.
const POSTPONED: usize = 256;

/// How soon to look again whether a packing has ended.
const SOON: Duration = Duration::from_secs(1);

/// Works until nobody can ask for anything any more.
pub(super) fn work(program: &Program, tasks: &Receiver<Task>, packing: Option<Packing>) {
    let mut postponed: VecDeque<Task> = VecDeque::new();
    let mut told = HashSet::new();
    let mut packing = packing;
    if let Some(packing) = &mut packing {
        packing.look(program);
    }
    while let Some(task) = next(program, tasks, packing.as_mut()) {
        postponed.push_back(task);
        if postponed.len() > POSTPONED {
            // The file itself is safe, and the next commit of it brings this change along.
            postponed.pop_front();
        }
        drain(program, &mut postponed, &mut told, packing.as_mut());
    }
    drain(program, &mut postponed, &mut told, packing.as_mut());
}

/// The next task. Commits go on while git packs; that it has ended is noticed also while nobody asks for anything.
fn next(program: &Program, tasks: &Receiver<Task>, packing: Option<&mut Packing>) -> Option<Task> {
    let Some(packing) = packing else { return tasks.recv().ok() };
    while packing.goes_on(program) {
        match tasks.recv_timeout(SOON) {
            Ok(task) => return Some(task),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    tasks.recv().ok()
}

/// Makes the commits that wait, until somebody else holds git.
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
        // Git says nothing on stderr when the file is as it was.
        Err(Problem::Refused(said)) if said.is_empty() => Ok(()),
        other => other,
    }
}

fn words(words: &[&str], path: &Path) -> Vec<OsString> {
    words.iter().map(OsString::from).chain([path.as_os_str().to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{self, RealDisk};

    /// DD-17: what cannot be committed now is committed with the next change, in order.
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
        let (mut postponed, mut told) = (VecDeque::from([task]), HashSet::new());
        drain(&program, &mut postponed, &mut told, None);
        drain(&program, &mut postponed, &mut told, None);
        assert_eq!((postponed.len(), told.len()), (1, 1));

        disk::remove(&RealDisk, &lock).unwrap();
        drain(&program, &mut postponed, &mut told, None);
        assert!(postponed.is_empty());
        assert!(program.run(dir.path(), &["rev-parse", "HEAD"]).is_ok());
    }
}
