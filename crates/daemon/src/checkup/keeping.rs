//! What is kept of before: the history of the files.

use jiff::Timestamp;
use journal::disk::{Disk, Seen};
use journal::{Paths, git};

use super::{Finding, State};

/// The history of the files.
pub fn history(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Finding {
    let (what, root) = ("history", paths.root());
    if !matches!(disk.look(&root.join(".git")), Ok(Some(Seen::Directory))) {
        return Finding::absent(what, "git keeps no history of your files yet");
    }
    match git::left_locks(disk, root, now).as_slice() {
        [] => Finding::fine(what, "git keeps what your files said before"),
        [lock, ..] => {
            let text = format!("{} lies there, so nothing new comes into it", lock.display());
            let fix = format!("close whatever uses git there; then restart me, or rm {}", lock.display());
            Finding::new(what, State::Warning, text).fixed_by(fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use journal::disk::{RealDisk, replace};

    use super::*;

    /// B13: a lock that keeps everybody from committing is named, with the way out; one of somebody at work is not.
    #[test]
    fn the_doctor_names_a_lock_of_git_that_was_left() {
        let dir = tempfile::tempdir().unwrap();
        let (paths, lock) = (Paths::new(dir.path()), dir.path().join(".git/index.lock"));
        let look = |now| history(&paths, &RealDisk, now);
        assert_eq!(look(Timestamp::MAX).state, State::Absent);
        replace(&RealDisk, &lock, b"").unwrap();
        let made = RealDisk.stamp(&lock).unwrap().unwrap().changed;
        assert_eq!(look(made + SignedDuration::from_mins(1)).state, State::Fine);
        let told = look(made + SignedDuration::from_hours(1)).told();
        let named = lock.display();
        let expected = format!(
            "! history  {named} lies there, so nothing new comes into it\n    \
             fix: close whatever uses git there; then restart me, or rm {named}\n"
        );
        assert_eq!(told, expected);
    }
}
