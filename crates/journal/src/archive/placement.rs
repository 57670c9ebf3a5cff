//! Replaces a data directory by an unpacked archive atomically, and keeps the old one.
//!
//! The two directories are exchanged, so for a moment the old one has the temporary name of the new
//! one. That name contains the inode number of the new one: after a crash, the next import can tell
//! them apart and removes only what can be unpacked again.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::disk::{Disk, FileEntry, FileKind, ensure_dir};
use crate::lock::{Lock, LockError};
use crate::paths::Paths;

/// Suffix of a staging directory, followed by the process id.
const STAGING_SUFFIX: &str = ".importing-";

/// Suffix during the exchange, followed by the inode number of the unpacked directory.
const EXCHANGE_SUFFIX: &str = ".exchanging-";

/// A staging directory next to a data directory.
#[derive(Debug)]
pub struct StagingDir {
    root: PathBuf,
    path: PathBuf,
    target: TargetState,
    /// Prevents a start in the data directory meanwhile.
    _lock: Option<Lock>,
}

/// State of the target directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetState {
    Empty,
    Occupied,
}

/// An error from replacing the data directory.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A daemon uses it.
    #[error("{0}")]
    Running(String),
    /// It is not empty.
    #[error(
        "{0} is not empty. import into an empty directory (--data-dir), or say --replace: what is there now is kept \
         beside it. nothing was changed."
    )]
    NotEmpty(String),
    /// It cannot be used as a data directory.
    #[error("{0}")]
    Unusable(String),
}

/// Result of the replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub root: PathBuf,
    /// The new path of the old directory, if there was one.
    pub replaced: Option<PathBuf>,
}

impl StagingDir {
    /// Prepares a staging directory for `paths` and the process `pid`, without creating it.
    pub fn prepare(paths: &Paths, disk: &dyn Disk, replace: bool, pid: u32) -> Result<Self, PlaceError> {
        let root =
            match disk.file_kind(paths.root()).map_err(|error| unusable_target(paths.root(), &error))? {
                Some(_) => {
                    disk.canonicalize(paths.root()).map_err(|error| unusable_target(paths.root(), &error))?
                }
                None => paths.root().to_owned(),
            };
        let standing = target_state(disk, &root)?;
        if standing == TargetState::Occupied && !replace {
            return Err(PlaceError::NotEmpty(root.display().to_string()));
        }
        let state = root.join("state");
        let lock = match (standing, disk.file_kind(&state)) {
            (TargetState::Occupied, Ok(Some(FileKind::Directory))) => Some(take_lock(&root, &state, pid)?),
            _ => None,
        };
        let above = root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure_dir(disk, above).map_err(|error| unusable_target(above, &error))?;
        Ok(Self {
            path: with_suffix(&root, &format!("{STAGING_SUFFIX}{pid}")),
            root,
            target: standing,
            _lock: lock,
        })
    }

    /// The path of the staging directory, which does not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leftover staging directories of interrupted imports.
    pub fn leftovers(&self, disk: &dyn Disk) -> Vec<PathBuf> {
        let exchanging =
            self.siblings(disk, EXCHANGE_SUFFIX).filter(|(listed, number)| is_unpacked(listed, number));
        self.siblings(disk, STAGING_SUFFIX).chain(exchanging).map(|(listed, _)| listed.path).collect()
    }

    /// Gives replaced directories of interrupted imports their final names.
    pub fn name_replaced(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<Vec<PathBuf>> {
        let replaced =
            self.siblings(disk, EXCHANGE_SUFFIX).filter(|(listed, number)| !is_unpacked(listed, number));
        let named = |(listed, _): (FileEntry, String)| {
            let kept = self.free_name(disk, now)?;
            disk.rename(&listed.path, &kept).map(|()| kept)
        };
        replaced.map(named).collect()
    }

    /// The siblings of the data directory whose names consist of its name, `end` and a rest, which
    /// is returned too.
    fn siblings(&self, disk: &dyn Disk, end: &str) -> impl Iterator<Item = (FileEntry, String)> {
        let begins = with_suffix(&self.root, end).to_string_lossy().into_owned();
        let listed = disk.list(self.parent()).unwrap_or_default().into_iter();
        listed.filter_map(move |it| {
            let more = it.path.to_string_lossy().strip_prefix(&begins)?.to_owned();
            Some((it, more))
        })
    }

    /// Moves the unpacked directory to its final place.
    pub fn put_in_place(self, disk: &dyn Disk, now: Timestamp) -> Result<Placement, PlaceError> {
        let failed = |error: io::Error| unusable_target(&self.root, &error);
        sync_tree(disk, &self.path).map_err(failed)?;
        let kept = match self.target {
            TargetState::Empty => {
                disk.rename(&self.path, &self.root).map_err(failed)?;
                None
            }
            TargetState::Occupied => Some(self.exchange(disk, now).map_err(failed)?),
        };
        let placed = Placement { root: self.root.clone(), replaced: kept };
        disk.sync_dir(self.parent()).map_err(|error| not_durable(&placed, &error))?;
        Ok(placed)
    }

    /// Exchanges the unpacked directory and the old one. Returns the new path of the old one.
    fn exchange(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<PathBuf> {
        // Fails before anything is moved.
        let kept = self.free_name(disk, now)?;
        let laid = disk.stamp(&self.path)?.ok_or(ErrorKind::NotFound)?.inode;
        let between = with_suffix(&self.root, &format!("{EXCHANGE_SUFFIX}{laid}"));
        disk.rename(&self.path, &between)?;
        if let Err(error) = disk.sync_dir(self.parent()).and_then(|()| disk.exchange(&between, &self.root)) {
            // If this fails too, the next import identifies the directory by its inode number.
            let _ = disk.rename(&between, &self.path);
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

    fn parent(&self) -> &Path {
        self.root.parent().unwrap_or(&self.root)
    }

    fn free_name(&self, disk: &dyn Disk, now: Timestamp) -> io::Result<PathBuf> {
        let stamp = now.strftime("%Y%m%dT%H%M%SZ");
        let names = (1..100).map(|n| match n {
            1 => with_suffix(&self.root, &format!(".before-import-{stamp}")),
            n => with_suffix(&self.root, &format!(".before-import-{stamp}-{n}")),
        });
        for name in names {
            if disk.file_kind(&name)?.is_none() {
                return Ok(name);
            }
        }
        Err(io::Error::other("too many directories were kept in this second; move them away"))
    }
}

/// Returns whether it is the unpacked directory with this inode number, not the replaced one.
fn is_unpacked(listed: &FileEntry, number: &str) -> bool {
    number.parse() == Ok(listed.stamp.inode)
}

fn target_state(disk: &dyn Disk, root: &Path) -> Result<TargetState, PlaceError> {
    match disk.file_kind(root).map_err(|error| unusable_target(root, &error))? {
        None => Ok(TargetState::Empty),
        Some(FileKind::Directory) => {
            let names = disk.list(root).map_err(|error| unusable_target(root, &error))?;
            Ok(if names.is_empty() { TargetState::Empty } else { TargetState::Occupied })
        }
        Some(FileKind::File(_) | FileKind::Other) => Err(PlaceError::Unusable(format!(
            "{} is not a directory. choose another with --data-dir.",
            root.display()
        ))),
    }
}

fn take_lock(root: &Path, state: &Path, pid: u32) -> Result<Lock, PlaceError> {
    Lock::take(state, pid).map_err(|error| match error {
        LockError::Running(who) => {
            let pid = who.pid().map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            let root = root.display();
            PlaceError::Running(format!(
                "an assistant runs in {root}{pid}. stop it first; nothing was changed."
            ))
        }
        LockError::Disk(error) => unusable_target(root, &error),
    })
}

/// Syncs `dir` and its subdirectories; the files are synced already.
fn sync_tree(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for listed in disk.list(dir)? {
        if listed.stamp.kind == Some(FileKind::Directory) {
            sync_tree(disk, &listed.path)?;
        }
    }
    disk.sync_dir(dir)
}

fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn not_durable(Placement { root, replaced: kept }: &Placement, error: &io::Error) -> PlaceError {
    let kept = kept.as_ref().map(|kept| format!(", and what was there before is kept: {}", kept.display()));
    PlaceError::Unusable(format!(
        "{} is what the archive held{}. but the disk does not say that this outlasts a power cut: {error}.",
        root.display(),
        kept.unwrap_or_default()
    ))
}

fn unusable_target(root: &Path, error: &io::Error) -> PlaceError {
    let root = root.display();
    let kind = error.kind();
    PlaceError::Unusable(if matches!(kind, ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) {
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
