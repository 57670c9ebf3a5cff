//! Placing: what was unpacked becomes the data directory in one step, and what was there is kept.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::disk::{Disk, Seen, ensure_dir};
use crate::lock::{Lock, NotLocked};
use crate::paths::Paths;

/// A place beside a data directory, where an archive is laid out.
#[derive(Debug)]
pub struct Stage {
    root: PathBuf,
    stage: PathBuf,
    standing: Standing,
    /// Nobody begins to use the directory meanwhile.
    _lock: Option<Lock>,
}

/// What is where the data directory is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Free,
    Taken,
}

/// Why nothing is put there.
#[derive(Debug, thiserror::Error)]
pub enum NotPlaced {
    /// An assistant uses it.
    #[error("{0}")]
    Running(String),
    /// Something is there.
    #[error(
        "{0} is not empty. import into an empty directory (--data-dir), or say --replace: what is there now is kept \
         beside it. nothing was changed."
    )]
    Taken(String),
    /// It is no place for a directory.
    #[error("{0}")]
    Unusable(String),
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The data directory.
    pub root: PathBuf,
    /// Where the one is that was there before.
    pub kept: Option<PathBuf>,
}

impl Stage {
    /// A place beside `paths`, for the process `pid`.
    pub fn beside(paths: &Paths, disk: &dyn Disk, (replace, pid): (bool, u32)) -> Result<Self, NotPlaced> {
        let root = match disk.look(paths.root()).map_err(|error| unusable(paths.root(), &error))? {
            Some(_) => disk.real(paths.root()).map_err(|error| unusable(paths.root(), &error))?,
            None => paths.root().to_owned(),
        };
        let standing = standing(disk, &root)?;
        if standing == Standing::Taken && !replace {
            return Err(NotPlaced::Taken(root.display().to_string()));
        }
        let state = root.join("state");
        let lock = match (standing, disk.look(&state)) {
            (Standing::Taken, Ok(Some(Seen::Directory))) => Some(lock(&root, &state, pid)?),
            _ => None,
        };
        let above = root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure_dir(disk, above).map_err(|error| unusable(above, &error))?;
        Ok(Self { stage: with_end(&root, &format!(".importing-{pid}")), root, standing, _lock: lock })
    }

    /// The place. Nothing is there yet.
    pub fn path(&self) -> &Path {
        &self.stage
    }

    /// What others left that ended in the middle.
    pub fn leftovers(&self, disk: &dyn Disk) -> Vec<PathBuf> {
        let begins = with_end(&self.root, ".importing-");
        let begins = begins.to_string_lossy().into_owned();
        let above = self.root.parent().unwrap_or(&self.root);
        let listed = disk.list(above).unwrap_or_default();
        listed
            .into_iter()
            .map(|it| it.path)
            .filter(|path| path.to_string_lossy().starts_with(&begins))
            .collect()
    }

    /// Puts what lies here in its place.
    pub fn put_in_place(self, disk: &dyn Disk, now: Timestamp) -> Result<Placed, NotPlaced> {
        let failed = |error: &io::Error| unusable(&self.root, error);
        sync(disk, &self.stage).map_err(|error| failed(&error))?;
        let above = self.root.parent().unwrap_or(&self.root);
        let kept = match self.standing {
            Standing::Free => {
                disk.rename(&self.stage, &self.root).map_err(|error| failed(&error))?;
                None
            }
            Standing::Taken => {
                disk.exchange(&self.stage, &self.root).map_err(|error| failed(&error))?;
                let kept = self.kept_name(disk, now).map_err(|error| failed(&error))?;
                disk.rename(&self.stage, &kept).map_err(|error| failed(&error))?;
                Some(kept)
            }
        };
        disk.sync_dir(above).map_err(|error| failed(&error))?;
        Ok(Placed { root: self.root, kept })
    }

    fn kept_name(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<PathBuf> {
        let stamp = now.strftime("%Y%m%dT%H%M%SZ");
        let names = (1..100).map(|n| match n {
            1 => with_end(&self.root, &format!(".before-import-{stamp}")),
            n => with_end(&self.root, &format!(".before-import-{stamp}-{n}")),
        });
        for name in names {
            if disk.look(&name)?.is_none() {
                return Ok(name);
            }
        }
        Err(io::Error::other("too many directories were kept in this second; move them away"))
    }
}

fn standing(disk: &dyn Disk, root: &Path) -> Result<Standing, NotPlaced> {
    match disk.look(root).map_err(|error| unusable(root, &error))? {
        None => Ok(Standing::Free),
        Some(Seen::Directory) => {
            let names = disk.list(root).map_err(|error| unusable(root, &error))?;
            Ok(if names.is_empty() { Standing::Free } else { Standing::Taken })
        }
        Some(Seen::File(_) | Seen::Strange) => Err(NotPlaced::Unusable(format!(
            "{} is not a directory. choose another with --data-dir.",
            root.display()
        ))),
    }
}

fn lock(root: &Path, state: &Path, pid: u32) -> Result<Lock, NotPlaced> {
    Lock::take(state, pid).map_err(|error| match error {
        NotLocked::Running(Some(pid)) => NotPlaced::Running(format!(
            "an assistant runs in {} (pid {pid}). stop it first; nothing was changed.",
            root.display()
        )),
        NotLocked::Running(None) => NotPlaced::Running(format!(
            "an assistant runs in {}. stop it first; nothing was changed.",
            root.display()
        )),
        NotLocked::Disk(error) => unusable(root, &error),
    })
}

/// Brings every name in `dir` and below it to the disk; the files are there already.
fn sync(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for listed in disk.list(dir)? {
        if listed.stamp.seen == Some(Seen::Directory) {
            sync(disk, &listed.path)?;
        }
    }
    disk.sync_dir(dir)
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn unusable(root: &Path, error: &io::Error) -> NotPlaced {
    let root = root.display();
    let kind = error.kind();
    NotPlaced::Unusable(if matches!(kind, ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) {
        format!(
            "{root} is a disk of its own, which cannot be exchanged as a whole. import into a directory in it \
             (--data-dir {root}/ollim). nothing was changed."
        )
    } else if kind == ErrorKind::DirectoryNotEmpty {
        format!("{root} was used while i unpacked; stop what uses it and try again. nothing was changed.")
    } else {
        format!("{root} cannot be used: {error}. choose another with --data-dir.")
    })
}
