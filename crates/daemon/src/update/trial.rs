//! A temporary copy of all data, on which a new program is checked.
//!
//! The directory is private and removed at the end of the update. Leftovers of killed updates are
//! recognized by their process id and removed by the next update.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use journal::Paths;
use journal::archive::{GitHistory, PackRequest, Secrets, UnpackLimits, pack, unpack};
use journal::disk::{Disk, RealDisk};
use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

/// The prefix of the directory's name; the process id follows.
const DIRECTORY_PREFIX: &str = "ollim-update-";

/// A copy of all data.
pub struct Trial {
    place: TempDir,
}

impl Trial {
    /// Copies the data at `paths` on the blocking pool.
    pub async fn create(paths: &Paths, disk: &Arc<dyn Disk>, now: Timestamp) -> Result<Self, String> {
        let paths = paths.clone();
        let disk = Arc::clone(disk);
        let copied = tokio::task::spawn_blocking(move || {
            remove_leftovers(&std::env::temp_dir());
            let place = tempfile::Builder::new()
                .prefix(&format!("{DIRECTORY_PREFIX}{}-", std::process::id()))
                .permissions(Permissions::from_mode(0o700))
                .tempdir();
            let trial = Self { place: place.map_err(|error| error.to_string())? };
            copy(&paths, &*disk, &trial.data(), now).map(|()| trial)
        });
        copied.await.unwrap_or_else(|broken| Err(broken.to_string()))
    }

    /// The directory in which the new program may work.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }
}

/// The git history can be larger than all other files, and a start does not need it.
fn copy(paths: &Paths, disk: &dyn Disk, to: &Path, now: Timestamp) -> Result<(), String> {
    let secrets = Secrets::Include;
    let history = GitHistory::Exclude;
    let order = PackRequest { paths, disk, secrets, history, now, program: "an update" };
    let mut archive = tempfile::tempfile().map_err(|error| error.to_string())?;
    pack(&order, &mut archive, &mut |_| {}).map_err(|error| error.to_string())?;
    std::io::Seek::rewind(&mut archive).map_err(|error| error.to_string())?;
    let bounds = UnpackLimits::for_free_space(u64::MAX);
    unpack(archive, (&RealDisk, to), bounds, &mut |_| {}).map(drop).map_err(|error| error.to_string())
}

/// Removes copies in `dir` whose processes are gone, or that this process made before.
fn remove_leftovers(dir: &Path) {
    for left in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = left.file_name();
        let made_by = name
            .to_str()
            .and_then(|name| name.strip_prefix(DIRECTORY_PREFIX)?.split('-').next()?.parse().ok());
        if made_by.is_some_and(|pid: i32| !is_in_use(pid))
            && let Err(error) = std::fs::remove_dir_all(left.path())
        {
            tracing::warn!(%error, path = %left.path().display(), "What an update left stays.");
        }
    }
}

fn is_in_use(pid: i32) -> bool {
    let ours = u32::try_from(pid) == Ok(std::process::id());
    !ours && Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn data() -> (TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        for (name, text) in
            [("routines/mail.md", "Mail."), (".git/HEAD", "ref: x"), (".git/objects/ab/cd", "y")]
        {
            let path = dir.path().join(name);
            RealDisk.create_dir(path.parent().unwrap()).unwrap();
            RealDisk.create(&path, text.as_bytes()).unwrap();
        }
        (dir, paths)
    }

    /// L2, H2: Other tasks run while the copy is made, which has no git history and is private.
    #[tokio::test]
    async fn other_tasks_run_while_the_copy_is_made() {
        let (_dir, paths) = data();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let copied = Cell::new(false);
        let went_on = Cell::new(false);
        let copying = async {
            let trial = Trial::create(&paths, &disk, Timestamp::UNIX_EPOCH).await;
            copied.set(true);
            trial
        };
        let (trial, ()) = tokio::join!(copying, async { went_on.set(!copied.get()) });
        assert!(went_on.get(), "nothing else came to its turn");
        let trial = trial.unwrap();
        assert!(trial.data().join("routines/mail.md").exists());
        assert!(!trial.data().join(".git").exists());
        let mode = std::fs::metadata(trial.place()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let place = trial.place().to_owned();
        drop(trial);
        assert!(!place.exists());
    }

    /// Copies of dead processes and of this process are removed; those of running processes stay.
    #[test]
    fn leftovers_of_killed_updates_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        // No process has this id.
        let dead = i32::MAX;
        let ours = std::process::id();
        let at_work = format!("{DIRECTORY_PREFIX}1-a");
        let other = "ollim-updates".to_owned();
        for name in [
            &format!("{DIRECTORY_PREFIX}{dead}-a/data"),
            &format!("{DIRECTORY_PREFIX}{ours}-a"),
            &at_work,
            &other,
        ] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        remove_leftovers(dir.path());
        let mut names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [at_work, other]);
    }
}
