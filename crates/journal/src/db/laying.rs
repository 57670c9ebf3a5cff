//! Laying a journal in the place of another, which is kept aside.
//!
//! The new one lies beside first, whole, under a name that says what the other one is and since when. With that name it
//! is decided: whoever is ended from then on finds it at the next start, and `finish` does again what is left to do.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Unopened, untold};
use crate::disk::Disk;

/// What stands in the name of a journal that is to take the place of another.
const INSTEAD: &str = ".instead-";

/// What belongs to a database. One that stays behind would be read into the next one.
pub const PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// What the journal is that is kept aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// It is damaged.
    Damaged,
    /// Only a newer program can read it.
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

/// A journal that was laid in the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laid {
    /// What the other one is.
    pub was: Aside,
    /// Where the other one is kept; nothing, if there was none.
    pub aside: Option<PathBuf>,
}

impl Laid {
    /// What the human hears when it was begun by somebody who was ended before it could be told.
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

/// Where the journal at `path` is kept if another one is laid in its place at `now`.
pub fn aside_of(path: &Path, was: Aside, now: Timestamp) -> PathBuf {
    with_end(path, &format!(".{}", named(was, now)))
}

/// Lays the journal at `made` in the place of the one at `path`, and gives where that one is kept. What is made must need
/// no other file beside it. Of a damaged one the human hears what `tell` says.
pub fn lay(
    made: &Path,
    path: &Path,
    was: Aside,
    now: Timestamp,
    tell: &dyn Fn(&Laid) -> String,
    disk: &dyn Disk,
) -> Result<Option<PathBuf>, Unopened> {
    let decide = || {
        // Whoever made it may not have brought it to the disk.
        disk.append(made, b"")?;
        disk.rename(made, &with_end(path, &format!("{INSTEAD}{}", named(was, now))))?;
        disk.sync_dir(directory(path)?)
    };
    decide().map_err(Unopened::of_disk)?;
    Ok(finish_telling(path, tell, disk)?.and_then(|laid| laid.aside))
}

/// Ends what was decided about the journal at `path`, if anything was. It can be done as often as one likes.
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
        // Of a newer one whoever goes back tells.
        if was == Aside::Damaged {
            untold::keep(path, &name, &tell(&laid), disk)?;
        }
        // What is kept has its name for good before the new one takes the place.
        disk.sync_dir(dir)?;
        disk.rename(&instead, path)?;
        disk.sync_dir(dir).inspect_err(|_| {
            // It is still to be done by whoever comes next.
            let _ = disk.rename(path, &instead);
        })?;
        Ok(laid)
    };
    put().map(Some).map_err(Unopened::of_disk)
}

/// Whether another journal is to take the place of the one at `path`. Where nobody can tell, it may be so.
pub fn is_decided(path: &Path, disk: &dyn Disk) -> bool {
    !matches!(decided(path, disk), Ok(None))
}

/// What is to take the place of the journal at `path`, what that one is, and what it is to be called.
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

/// `path` with another end.
pub fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The directory that `path` is in.
pub fn directory(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other(format!("{} is not inside a directory", path.display())))
}
