//! Replacement of a journal by another one; the old one is set aside.
//!
//! The new journal is first written whole under a name that says why and when the old one is
//! replaced. That rename is the commit point: after a crash, `finish_replacement` completes the replacement at
//! the next start.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{DatabaseError, rescue_notices};
use crate::disk::Disk;

/// Part of the file name of a journal that is about to replace another.
const PENDING_INFIX: &str = ".instead-";

/// Suffixes of the files of a database. A leftover file would be read into the next database.
pub const FILE_SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Why a journal is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceReason {
    Damaged,
    /// Only a newer version can read it.
    Newer,
}

impl ReplaceReason {
    fn word(self) -> &'static str {
        match self {
            Self::Damaged => "corrupt",
            Self::Newer => "newer",
        }
    }
}

/// A completed replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Why the old journal was replaced.
    pub reason: ReplaceReason,
    /// The new path of the old journal; `None` if there was none.
    pub old_path: Option<PathBuf>,
}

impl Replacement {
    /// The notice for the user when a crash interrupted the replacement before it was reported.
    pub fn notice(&self) -> String {
        let kept = self.old_path.as_ref().map_or_else(
            || "there was none any more".to_owned(),
            |aside| format!("it is kept as {}", aside.display()),
        );
        match self.reason {
            ReplaceReason::Damaged => format!(
                "the journal was damaged: {kept}. i go on from what was laid in its place before i was ended; what is \
                 missing here may still be found in the damaged file."
            ),
            ReplaceReason::Newer => format!(
                "a newer version had changed the journal: {kept}. i go on from the copy from before; what was said \
                 since is in the kept one."
            ),
        }
    }
}

/// The path to which the journal at `path` is moved if it is replaced at `now`.
pub fn old_path_for(path: &Path, was: ReplaceReason, now: Timestamp) -> PathBuf {
    with_suffix(path, &format!(".{}", old_name(was, now)))
}

/// Replaces the journal at `path` by the one at `new` and returns where the old one was moved. The
/// new one must be a single file. `notice` forms the notice for the user about a damaged journal.
pub fn replace_journal(
    new: &Path,
    path: &Path,
    reason: ReplaceReason,
    now: Timestamp,
    notice: &dyn Fn(&Replacement) -> String,
    disk: &dyn Disk,
) -> Result<Option<PathBuf>, DatabaseError> {
    let decide = || {
        // The creator of the file may not have synced it.
        disk.append(new, b"")?;
        disk.rename(new, &with_suffix(path, &format!("{PENDING_INFIX}{}", old_name(reason, now))))?;
        disk.sync_dir(parent_dir(path)?)
    };
    decide().map_err(DatabaseError::from_io)?;
    Ok(finish_with_notice(path, notice, disk)?.and_then(|laid| laid.old_path))
}

/// Completes a replacement that was begun for the journal at `path`, if any. Idempotent.
pub fn finish_replacement(path: &Path, disk: &dyn Disk) -> Result<Option<Replacement>, DatabaseError> {
    finish_with_notice(path, &Replacement::notice, disk)
}

fn finish_with_notice(
    path: &Path,
    notice: &dyn Fn(&Replacement) -> String,
    disk: &dyn Disk,
) -> Result<Option<Replacement>, DatabaseError> {
    let Some((instead, was, name)) = pending_replacement(path, disk).map_err(DatabaseError::from_io)? else {
        return Ok(None);
    };
    let aside = with_suffix(path, &format!(".{name}"));
    for part in FILE_SUFFIXES {
        let from = with_suffix(path, part);
        match disk.rename(&from, &with_suffix(&aside, part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let text = format!("{} cannot be moved aside: {error}", from.display());
                return Err(DatabaseError::from_io(io::Error::new(error.kind(), text)));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let put = || {
        let dir = parent_dir(path)?;
        let laid = Replacement { reason: was, old_path: disk.file_kind(&aside)?.map(|_| aside) };
        // A downgrade reports a newer journal itself.
        if was == ReplaceReason::Damaged {
            rescue_notices::save_notice(path, &name, &notice(&laid), disk)?;
        }
        // The old journal's new name is durable before the new one takes its place.
        disk.sync_dir(dir)?;
        disk.rename(&instead, path)?;
        disk.sync_dir(dir).inspect_err(|_| {
            // The next start has to finish it.
            let _ = disk.rename(path, &instead);
        })?;
        Ok(laid)
    };
    put().map(Some).map_err(DatabaseError::from_io)
}

/// Returns whether a replacement of the journal at `path` is pending. True if that cannot be
/// determined.
pub fn is_replacement_pending(path: &Path, disk: &dyn Disk) -> bool {
    !matches!(pending_replacement(path, disk), Ok(None))
}

/// The pending replacement of the journal at `path`: its file, the reason, and the name for the old
/// journal.
fn pending_replacement(path: &Path, disk: &dyn Disk) -> io::Result<Option<(PathBuf, ReplaceReason, String)>> {
    let start = with_suffix(path, PENDING_INFIX);
    let listed = match disk.list(parent_dir(path)?) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        listed => listed?,
    };
    let read = |instead: &Path| {
        let name = instead.to_str()?.strip_prefix(start.to_str()?)?.to_owned();
        let word = name.split('-').next()?;
        let was =
            [ReplaceReason::Damaged, ReplaceReason::Newer].into_iter().find(|was| was.word() == word)?;
        Some((instead.to_owned(), was, name))
    };
    Ok(listed.iter().filter(|listed| listed.is_file()).find_map(|listed| read(&listed.path)))
}

fn old_name(was: ReplaceReason, now: Timestamp) -> String {
    format!("{}-{}", was.word(), now.strftime("%Y%m%dT%H%M%S%fZ"))
}

/// Appends `suffix` to the file name of `path`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub fn parent_dir(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other(format!("{} is not inside a directory", path.display())))
}
