//! Replacement of a journal by another one; the old one is set aside.
//!
//! The new journal is first written whole under a name that says why and when the old one is
//! replaced. That rename is the commit point: after a crash, `finish_replacement` completes the replacement at
//! the next start.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Unopened, untold};
use crate::disk::Disk;

/// Part of the file name of a journal that is about to replace another.
const INSTEAD: &str = ".instead-";

/// Suffixes of the files of a database. A leftover file would be read into the next database.
pub const PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Why a journal is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    Damaged,
    /// Only a newer version can read it.
    Newer,
}

impl Aside {
    fn word(self) -> &'static str {
        match self {
            Self::Damaged => "corrupt",
            Self::Newer => "newer",
        }
    }
}

/// A completed replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laid {
    /// Why the old journal was replaced.
    pub was: Aside,
    /// The new path of the old journal; `None` if there was none.
    pub aside: Option<PathBuf>,
}

impl Laid {
    /// The notice for the user when a crash interrupted the replacement before it was reported.
    pub fn told(&self) -> String {
        let kept = self.aside.as_ref().map_or_else(
            || "there was none any more".to_owned(),
            |aside| format!("it is kept as {}", aside.display()),
        );
        match self.was {
            Aside::Damaged => format!(
                "the journal was damaged: {kept}. i go on from what was laid in its place before i was ended; what is \
                 missing here may still be found in the damaged file."
            ),
            Aside::Newer => format!(
                "a newer version had changed the journal: {kept}. i go on from the copy from before; what was said \
                 since is in the kept one."
            ),
        }
    }
}

/// The path to which the journal at `path` is moved if it is replaced at `now`.
pub fn aside_of(path: &Path, was: Aside, now: Timestamp) -> PathBuf {
    with_end(path, &format!(".{}", named(was, now)))
}

/// Replaces the journal at `path` by the one at `new` and returns where the old one was moved. The
/// new one must be a single file. `notice` forms the notice for the user about a damaged journal.
pub fn lay(
    made: &Path,
    path: &Path,
    was: Aside,
    now: Timestamp,
    tell: &dyn Fn(&Laid) -> String,
    disk: &dyn Disk,
) -> Result<Option<PathBuf>, Unopened> {
    let decide = || {
        // The creator of the file may not have synced it.
        disk.append(made, b"")?;
        disk.rename(made, &with_end(path, &format!("{INSTEAD}{}", named(was, now))))?;
        disk.sync_dir(directory(path)?)
    };
    decide().map_err(Unopened::of_disk)?;
    Ok(finish_telling(path, tell, disk)?.and_then(|laid| laid.aside))
}

/// Completes a replacement that was begun for the journal at `path`, if any. Idempotent.
pub fn finish(path: &Path, disk: &dyn Disk) -> Result<Option<Laid>, Unopened> {
    finish_telling(path, &Laid::told, disk)
}

fn finish_telling(
    path: &Path,
    tell: &dyn Fn(&Laid) -> String,
    disk: &dyn Disk,
) -> Result<Option<Laid>, Unopened> {
    let Some((instead, was, name)) = decided(path, disk).map_err(Unopened::of_disk)? else { return Ok(None) };
    let aside = with_end(path, &format!(".{name}"));
    for part in PARTS {
        let from = with_end(path, part);
        match disk.rename(&from, &with_end(&aside, part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let text = format!("{} cannot be moved aside: {error}", from.display());
                return Err(Unopened::of_disk(io::Error::new(error.kind(), text)));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let put = || {
        let dir = directory(path)?;
        let laid = Laid { was, aside: disk.look(&aside)?.map(|_| aside) };
        // A downgrade reports a newer journal itself.
        if was == Aside::Damaged {
            untold::keep(path, &name, &tell(&laid), disk)?;
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
    put().map(Some).map_err(Unopened::of_disk)
}

/// Returns whether a replacement of the journal at `path` is pending. True if that cannot be
/// determined.
pub fn is_decided(path: &Path, disk: &dyn Disk) -> bool {
    !matches!(decided(path, disk), Ok(None))
}

/// The pending replacement of the journal at `path`: its file, the reason, and the name for the old
/// journal.
fn decided(path: &Path, disk: &dyn Disk) -> io::Result<Option<(PathBuf, Aside, String)>> {
    let start = with_end(path, INSTEAD);
    let listed = match disk.list(directory(path)?) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        listed => listed?,
    };
    let read = |instead: &Path| {
        let name = instead.to_str()?.strip_prefix(start.to_str()?)?.to_owned();
        let word = name.split('-').next()?;
        let was = [Aside::Damaged, Aside::Newer].into_iter().find(|was| was.word() == word)?;
        Some((instead.to_owned(), was, name))
    };
    Ok(listed.iter().filter(|listed| listed.is_file()).find_map(|listed| read(&listed.path)))
}

fn named(was: Aside, now: Timestamp) -> String {
    format!("{}-{}", was.word(), now.strftime("%Y%m%dT%H%M%S%fZ"))
}

/// Appends `suffix` to the file name of `path`.
pub fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

pub fn directory(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other(format!("{} is not inside a directory", path.display())))
}
