//! Locks that are left: who is killed in the middle of a commit leaves one, and with it nobody commits there any more.
//!
//! Git itself never takes one away, since it cannot know who made it. We can tell by its age: a commit takes less than
//! a second. Somebody may sit before `git commit -a` in an editor all day, so ours are taken away at a start only, where
//! the last of us may have been killed; their commit then says that it could not be written, and can be made again.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use crate::disk::Disk;

/// How old a lock is when it is taken for left.
const LEFT: SignedDuration = SignedDuration::from_mins(10);

/// The locks that keep everybody from committing in `data`, and were left. A time that is still to come says nothing.
pub fn left_locks(disk: &dyn Disk, data: &Path, now: Timestamp) -> Vec<PathBuf> {
    let dir = data.join(".git");
    let named = [Some(dir.join("index.lock")), Some(dir.join("HEAD.lock")), branch_lock(disk, &dir)];
    let left = |path: &PathBuf| {
        let stamp = disk.stamp(path).ok().flatten();
        stamp.is_some_and(|stamp| now.duration_since(stamp.changed) >= LEFT)
    };
    named.into_iter().flatten().filter(left).collect()
}

/// Takes those locks away, and says so in the log.
pub(super) fn take_away(disk: &dyn Disk, data: &Path, now: Timestamp) {
    for lock in left_locks(disk, data, now) {
        let path = lock.display();
        match disk.remove(&lock) {
            Ok(()) => tracing::warn!(%path, "A lock of git that was left there is taken away."),
            Err(error) => tracing::warn!(%path, %error, "A lock of git that was left there stays."),
        }
    }
}

/// The lock of the branch that a commit would go to.
fn branch_lock(disk: &dyn Disk, dir: &Path) -> Option<PathBuf> {
    let head = String::from_utf8(disk.read(&dir.join("HEAD")).ok()?).ok()?;
    let branch = head.strip_prefix("ref: ")?.trim_end();
    let ours = branch.starts_with("refs/heads/") && !branch.contains("..");
    ours.then(|| dir.join(format!("{branch}.lock")))
}
