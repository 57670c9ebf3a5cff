//! Replaces a data directory by an unpacked archive atomically, and keeps the old one.
//!
//! The two directories are exchanged, so for a moment the old one has the temporary name of the new
//! one. That name contains the inode number of the new one: after a crash, the next import can tell
//! them apart and removes only what can be unpacked again.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::disk::{Disk, Listed, Seen, ensure_dir};
use crate::lock::{Lock, NotLocked};
use crate::paths::Paths;

/// Suffix of a staging directory, followed by the process id.
const LAYING: &str = ".importing-";

/// Suffix during the exchange, followed by the inode number of the unpacked directory.
const EXCHANGING: &str = ".exchanging-";

/// A staging directory next to a data directory.
#[derive(Debug)]
pub struct Stage {
    root: PathBuf,
    stage: PathBuf,
    standing: Standing,
    /// Prevents a start in the data directory meanwhile.
    _lock: Option<Lock>,
}

/// State of the target directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Free,
    Taken,
}

/// An error from replacing the data directory.
#[derive(Debug, thiserror::Error)]
pub enum NotPlaced {
    /// A daemon uses it.
    #[error("{0}")]
    Running(String),
    /// It is not empty.
    #[error(
        "{0} is not empty. import into an empty directory (--data-dir), or say --replace: what is there now is kept \
         beside it. nothing was changed."
    )]
    Taken(String),
    /// It cannot be used as a data directory.
    #[error("{0}")]
    Unusable(String),
}

/// Result of the replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub root: PathBuf,
    /// The new path of the old directory, if there was one.
    pub kept: Option<PathBuf>,
}

impl Stage {
    /// Prepares a staging directory for `paths` and the process `pid`, without creating it.
    pub fn beside(paths: &Paths, disk: &dyn Disk, replace: bool, pid: u32) -> Result<Self, NotPlaced> {
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
        Ok(Self { stage: with_end(&root, &format!("{LAYING}{pid}")), root, standing, _lock: lock })
    }

    /// The path of the staging directory, which does not exist yet.
    pub fn path(&self) -> &Path {
        &self.stage
    }

    /// Leftover staging directories of interrupted imports.
    pub fn leftovers(&self, disk: &dyn Disk) -> Vec<PathBuf> {
        let exchanging = self.called(disk, EXCHANGING).filter(|(listed, number)| is_laid_out(listed, number));
        self.called(disk, LAYING).chain(exchanging).map(|(listed, _)| listed.path).collect()
    }

    /// Gives replaced directories of interrupted imports their final names.
    pub fn keep_replaced(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<Vec<PathBuf>> {
        let replaced = self.called(disk, EXCHANGING).filter(|(listed, number)| !is_laid_out(listed, number));
        let named = |(listed, _): (Listed, String)| {
            let kept = self.kept_name(disk, now)?;
            disk.rename(&listed.path, &kept).map(|()| kept)
        };
        replaced.map(named).collect()
    }

    /// The siblings of the data directory whose names consist of its name, `end` and a rest, which
    /// is returned too.
    fn called(&self, disk: &dyn Disk, end: &str) -> impl Iterator<Item = (Listed, String)> {
        let begins = with_end(&self.root, end).to_string_lossy().into_owned();
        let listed = disk.list(self.above()).unwrap_or_default().into_iter();
        listed.filter_map(move |it| {
            let more = it.path.to_string_lossy().strip_prefix(&begins)?.to_owned();
            Some((it, more))
        })
    }

    /// Moves the unpacked directory to its final place.
    pub fn put_in_place(self, disk: &dyn Disk, now: Timestamp) -> Result<Placed, NotPlaced> {
        let failed = |error: io::Error| unusable(&self.root, &error);
        sync(disk, &self.stage).map_err(failed)?;
        let kept = match self.standing {
            Standing::Free => {
                disk.rename(&self.stage, &self.root).map_err(failed)?;
                None
            }
            Standing::Taken => Some(self.change_places(disk, now).map_err(failed)?),
        };
        let placed = Placed { root: self.root.clone(), kept };
        disk.sync_dir(self.above()).map_err(|error| unsure(&placed, &error))?;
        Ok(placed)
    }

    /// Exchanges the unpacked directory and the old one. Returns the new path of the old one.
    fn change_places(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<PathBuf> {
        // Fails before anything is moved.
        let kept = self.kept_name(disk, now)?;
        let laid = disk.stamp(&self.stage)?.ok_or(ErrorKind::NotFound)?.number;
        let between = with_end(&self.root, &format!("{EXCHANGING}{laid}"));
        disk.rename(&self.stage, &between)?;
        if let Err(error) = disk.sync_dir(self.above()).and_then(|()| disk.exchange(&between, &self.root)) {
            // If this fails too, the next import identifies the directory by its inode number.
            let _ = disk.rename(&between, &self.stage);
            return Err(error);
        }
        match disk.rename(&between, &kept) {
            Ok(()) => Ok(kept),
            Err(error) => {
                tracing::warn!(%error, "What was replaced could not be given its lasting name.");
                Ok(between)
            }
        }
    }

    fn above(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
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

/// Returns whether it is the unpacked directory with this inode number, not the replaced one.
fn is_laid_out(listed: &Listed, number: &str) -> bool {
    number.parse() == Ok(listed.stamp.number)
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
        NotLocked::Running(who) => {
            let pid = who.pid().map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            let root = root.display();
            NotPlaced::Running(format!(
                "an assistant runs in {root}{pid}. stop it first; nothing was changed."
            ))
        }
        NotLocked::Disk(error) => unusable(root, &error),
    })
}

/// Syncs `dir` and its subdirectories; the files are synced already.
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

fn unsure(Placed { root, kept }: &Placed, error: &io::Error) -> NotPlaced {
    let kept = kept.as_ref().map(|kept| format!(", and what was there before is kept: {}", kept.display()));
    NotPlaced::Unusable(format!(
        "{} is what the archive held{}. but the disk does not say that this outlasts a power cut: {error}.",
        root.display(),
        kept.unwrap_or_default()
    ))
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
