//! Removal of stale git lock files, which a process killed during a commit leaves behind and which
//! block all commits.
//!
//! Git never removes a lock, because it cannot know whether the owner is alive. A commit takes less
//! than a second, so a lock is stale after some minutes. Its age is that at the start by the clock
//! plus the time elapsed since, so that a change of the clock has no effect and a lock from the
//! future becomes stale too.
//!
//! Only locks that existed at the start are removed, because they may be from our killed process.
//! The user may have `git commit -a` open in an editor all day; that commit then fails and can be
//! repeated.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::disk::{Disk, Stamp};

/// The age at which a lock is stale.
const STALE_AGE: SignedDuration = SignedDuration::from_mins(10);

/// A lock that blocks commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLock {
    pub path: PathBuf,
    stamp: Stamp,
}

impl GitLock {
    /// The age of the lock; zero for a lock from the future.
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.stamp.changed).max(SignedDuration::ZERO)
    }

    /// Returns whether the lock is so old that its owner cannot be active.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.age(now) >= STALE_AGE
    }
}

/// Returns the locks that block commits in `data`.
pub fn find_locks(disk: &dyn Disk, data: &Path) -> Vec<GitLock> {
    let dir = data.join(".git");
    let named = [Some(dir.join("index.lock")), Some(dir.join("HEAD.lock")), branch_lock(disk, &dir)];
    let found = |path: PathBuf| {
        let stamp = disk.stamp(&path).ok().flatten()?;
        Some(GitLock { path, stamp })
    };
    named.into_iter().flatten().filter_map(found).collect()
}

/// The locks that existed when the program started.
pub(super) struct StartupLocks {
    disk: Arc<dyn Disk>,
    found: Vec<GitLock>,
    start: Timestamp,
    since: Instant,
}

impl StartupLocks {
    /// Finds the locks in `data`. Call this at the start of the program.
    pub fn find(disk: Arc<dyn Disk>, data: &Path, now: Timestamp) -> Self {
        let found = find_locks(&*disk, data);
        Self { disk, found, start: now, since: Instant::now() }
    }

    /// Removes the locks that are stale by now.
    pub fn remove_stale(&mut self) {
        self.remove_stale_after(
            SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX),
        );
    }

    /// Removes the locks that are stale when `passed` has elapsed since the start.
    fn remove_stale_after(&mut self, passed: SignedDuration) {
        let Self { disk, found, start, .. } = self;
        // A lock that was released and taken again has another owner.
        found.retain(|lock| disk.stamp(&lock.path).ok().flatten() == Some(lock.stamp));
        found.retain(|lock| {
            let path = lock.path.display();
            if lock.age(*start).saturating_add(passed) < STALE_AGE {
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

/// The lock of the current branch.
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

    /// B13: a lock that was recent at the start is removed once it is stale, unless it was
    /// replaced. A later lock is kept.
    #[test]
    fn a_lock_from_before_the_start_is_removed_once_it_is_stale() {
        let dir = tempfile::tempdir().unwrap();
        let [index, head] = ["index.lock", "HEAD.lock"].map(|name| dir.path().join(".git").join(name));
        let place = |path: &Path| disk::replace(&RealDisk, path, b"").unwrap();
        place(&index);
        let made = find_locks(&RealDisk, dir.path())[0].stamp.changed;
        let mut at_start = StartupLocks::find(Arc::new(RealDisk), dir.path(), made);
        place(&head);
        at_start.remove_stale_after(SignedDuration::from_mins(9));
        assert!(index.exists());
        at_start.remove_stale_after(SignedDuration::from_mins(11));
        assert!(!index.exists() && head.exists());

        let mut at_start = StartupLocks::find(Arc::new(RealDisk), dir.path(), made);
        // The new file has another inode number, even within one tick of the clock.
        place(&head);
        at_start.remove_stale_after(SignedDuration::from_mins(30));
        assert!(head.exists());
    }

    /// A clock that was behind at the start does not keep a lock for ever.
    #[test]
    fn a_lock_from_the_future_is_removed_once_enough_time_has_passed() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join(".git/index.lock");
        disk::replace(&RealDisk, &index, b"").unwrap();
        let made = find_locks(&RealDisk, dir.path())[0].stamp.changed;
        let behind = made - SignedDuration::from_hours(24);
        let mut at_start = StartupLocks::find(Arc::new(RealDisk), dir.path(), behind);
        at_start.remove_stale_after(SignedDuration::from_mins(9));
        assert!(index.exists());
        at_start.remove_stale_after(SignedDuration::from_mins(10));
        assert!(!index.exists());
    }
}
