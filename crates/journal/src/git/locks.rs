//! Git's lock files: a process that is killed in the middle of a commit leaves one, and then no commit can be made.
//!
//! Git never removes a lock, since it cannot know whether its owner still lives. We tell by its age: a commit takes less
//! than a second. The age is what the lock had at the start by the clock, plus the time that has passed since, so that a
//! clock that is set meanwhile changes nothing, and a lock from the future gets old too. The user may sit before `git commit -a` in an editor all day, so only locks that were there when the
//! program started are removed: the process that was killed may have been ours. The user's commit then says that it could
//! not be written, and can be made again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::disk::{Disk, Stamp};

/// How old a lock is when it counts as left.
const LEFT: SignedDuration = SignedDuration::from_mins(10);

/// A lock that keeps everybody from committing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    pub path: PathBuf,
    stamp: Stamp,
}

impl Lock {
    /// Returns how long it has been there. A lock from the future has no age: the clock was ahead when it was made.
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.stamp.changed).max(SignedDuration::ZERO)
    }

    /// Whether it is so old that its owner cannot be at work any more.
    pub fn is_left(&self, now: Timestamp) -> bool {
        self.age(now) >= LEFT
    }
}

/// Returns the locks that keep everybody from committing in `data`.
pub fn locks(disk: &dyn Disk, data: &Path) -> Vec<Lock> {
    let dir = data.join(".git");
    let named = [Some(dir.join("index.lock")), Some(dir.join("HEAD.lock")), branch_lock(disk, &dir)];
    let found = |path: PathBuf| {
        let stamp = disk.stamp(&path).ok().flatten()?;
        Some(Lock { path, stamp })
    };
    named.into_iter().flatten().filter_map(found).collect()
}

/// The locks that were there when the program started.
pub(super) struct LocksAtStart {
    disk: Arc<dyn Disk>,
    found: Vec<Lock>,
    start: Timestamp,
    since: Instant,
}

impl LocksAtStart {
    /// Looks for locks in `data` at the start of the program.
    pub fn find(disk: Arc<dyn Disk>, data: &Path, now: Timestamp) -> Self {
        let found = locks(&*disk, data);
        Self { disk, found, start: now, since: Instant::now() }
    }

    /// Removes those that count as left by now.
    pub fn remove_left(&mut self) {
        self.remove_left_after(SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX));
    }

    /// Removes those that count as left when `passed` has passed since the start.
    fn remove_left_after(&mut self, passed: SignedDuration) {
        let Self { disk, found, start, .. } = self;
        // One that was released and taken again since has another owner.
        found.retain(|lock| disk.stamp(&lock.path).ok().flatten() == Some(lock.stamp));
        found.retain(|lock| {
            let path = lock.path.display();
            if lock.age(*start).saturating_add(passed) < LEFT {
                return true;
            }
            match disk.remove(&lock.path) {
                Ok(()) => tracing::warn!(%path, "Removed a lock of git that was left behind."),
                Err(error) => {
                    tracing::warn!(%path, %error, "A lock of git that was left behind cannot be removed.")
                }
            }
            false
        });
    }
}

/// The lock of the branch that a commit would go to.
fn branch_lock(disk: &dyn Disk, dir: &Path) -> Option<PathBuf> {
    let head = String::from_utf8(disk.read(&dir.join("HEAD")).ok()?).ok()?;
    let branch = head.strip_prefix("ref: ")?.trim_end();
    let ours = branch.starts_with("refs/heads/") && !branch.contains("..");
    ours.then(|| dir.join(format!("{branch}.lock")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{self, RealDisk};

    /// B13: a lock that was young at the start is removed once it is old, unless its owner changed meanwhile. A lock that
    /// came later belongs to somebody at work.
    #[test]
    fn a_lock_from_before_the_start_is_removed_once_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let [index, head] = ["index.lock", "HEAD.lock"].map(|name| dir.path().join(".git").join(name));
        let place = |path: &Path| disk::replace(&RealDisk, path, b"").unwrap();
        place(&index);
        let made = locks(&RealDisk, dir.path())[0].stamp.changed;
        let mut at_start = LocksAtStart::find(Arc::new(RealDisk), dir.path(), made);
        place(&head);
        at_start.remove_left_after(SignedDuration::from_mins(9));
        assert!(index.exists());
        at_start.remove_left_after(SignedDuration::from_mins(11));
        assert!(!index.exists() && head.exists());

        let mut at_start = LocksAtStart::find(Arc::new(RealDisk), dir.path(), made);
        // The file that replaces it has another number, also within one tick of the clock.
        place(&head);
        at_start.remove_left_after(SignedDuration::from_mins(30));
        assert!(head.exists());
    }

    /// A clock that was behind at the start, as on a machine without a battery, keeps no lock for ever.
    #[test]
    fn a_lock_from_the_future_is_removed_once_it_was_seen_long_enough() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join(".git/index.lock");
        disk::replace(&RealDisk, &index, b"").unwrap();
        let made = locks(&RealDisk, dir.path())[0].stamp.changed;
        let behind = made - SignedDuration::from_hours(24);
        let mut at_start = LocksAtStart::find(Arc::new(RealDisk), dir.path(), behind);
        at_start.remove_left_after(SignedDuration::from_mins(9));
        assert!(index.exists());
        at_start.remove_left_after(SignedDuration::from_mins(10));
        assert!(!index.exists());
    }
}
