//! Opens files beneath the data directory through directory descriptors.
//!
//! Every step opens one name in an open directory and refuses links, so concurrent moves cannot
//! lead outside. Each directory is also compared with the closed ones by identity, because some
//! file systems accept several spellings of a name.

use domain::permission::OUTSIDE;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, open, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::place::{HISTORY, Inside, STATE, closed, is_closed};

/// The maximum number of attempts of a step that collides with concurrent moves.
const TRIES: usize = 16;
/// The maximum number of program files compared with one file.
const LOOKED: usize = 20_000;

/// Files and folders are accessible to their owner only.
const FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER: Mode = Mode::RWXU;

/// Device and inode.
type Identity = (u64, u64);

/// An open data directory.
pub struct Root {
    dir: OwnedFd,
    /// The closed directories when the root was opened.
    closed: Vec<Identity>,
    made: AtomicU32,
}

/// The reason why a file cannot be opened or written.
#[derive(Debug)]
pub enum Trouble {
    Missing,
    /// It is a link, or the path contains one.
    Link,
    Closed,
    /// It is not a regular file.
    Strange(&'static str),
    /// It changed after it was read.
    Changed,
    Disk(io::Error),
}

impl Trouble {
    /// The message for the model about `path`.
    pub fn told(&self, inside: &Inside) -> String {
        match self {
            Self::Missing => {
                format!("there is no `{inside}` in the data directory. look for it with `Glob`.")
            }
            Self::Link => format!("`{inside}` is a link, or leads through one. name the file itself."),
            Self::Closed => closed(&inside.shown()),
            Self::Strange(what) => format!("`{inside}` is {what}, not a file with text in it."),
            Self::Changed => format!("`{inside}` was changed by somebody else meanwhile. read it again."),
            Self::Disk(error) => format!("`{inside}`: {error}."),
        }
    }
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP | Errno::XDEV => Self::Link,
            Errno::NOTDIR => Self::Strange("beneath a file or a link"),
            // Opening a socket fails with `ENXIO`.
            Errno::NXIO => Self::Strange("a device or a socket"),
            other => Self::Disk(other.into()),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Root {
    /// Opens the data directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let dir = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let closed = identities(&dir);
        Ok(Self { dir, closed, made: AtomicU32::new(0) })
    }

    /// Opens the folder `parts`, which must exist.
    pub fn folder(&self, parts: &[String]) -> Result<OwnedFd, Trouble> {
        self.walk(parts, |dir, name| Ok(step(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?))
    }

    /// Opens the folder `parts` and creates missing ones.
    fn folder_made(&self, parts: &[String]) -> Result<OwnedFd, Trouble> {
        self.walk(parts, |dir, name| {
            match mkdirat(dir, name, FOLDER) {
                Ok(()) => fsync(dir)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(step(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?)
        })
    }

    fn walk(
        &self,
        parts: &[String],
        open: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Trouble>,
    ) -> Result<OwnedFd, Trouble> {
        let closed = self.closed_now();
        let here = step(self.dir.as_fd(), ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        parts.iter().try_fold(here, |dir, name| {
            let next = open(dir.as_fd(), name)?;
            admitted(&fstat(&next)?, &closed)?;
            Ok(next)
        })
    }

    /// Opens the folder `name` in `dir` unless it is closed.
    pub fn folder_in(&self, dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Trouble> {
        let folder = step(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        admitted(&fstat(&folder)?, &self.closed_now())?;
        Ok(folder)
    }

    /// Opens the file `path` for reading.
    pub fn file(&self, inside: &Inside) -> Result<(File, Stat), Trouble> {
        let Some((folder, name)) = inside.file() else { return Err(Trouble::Strange("the data directory")) };
        self.file_in(self.folder(folder)?.as_fd(), name)
    }

    /// Opens the file `name` in `dir` for reading.
    pub fn file_in(&self, dir: BorrowedFd<'_>, name: &str) -> Result<(File, Stat), Trouble> {
        // Checked before opening, because opening a device may have side effects.
        is_file(&statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(step(dir, name, flags, Mode::empty())?);
        let stat = fstat(&file)?;
        is_file(&stat)?;
        self.not_ours(&stat)?;
        Ok((file, stat))
    }

    /// Atomically and durably replaces `path` by a file with `bytes`. If `read` is given, the
    /// file must be unchanged since then.
    pub fn replace(&self, inside: &Inside, bytes: &[u8], read: Option<&Stat>) -> Result<Fate, Trouble> {
        let Some((folder, name)) = inside.file() else { return Err(Trouble::Strange("the data directory")) };
        let dir = self.folder_made(folder)?;
        let fate = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                is_file(&stat)?;
                self.not_ours(&stat)?;
                Fate::Replaced
            }
            Err(Errno::NOENT) => Fate::Made,
            Err(error) => return Err(error.into()),
        };
        let draft = self.draft(dir.as_fd(), name, bytes)?;
        let moved = same(dir.as_fd(), name, read)
            .and_then(|()| renameat(&dir, draft.as_str(), &dir, name).map_err(Trouble::from));
        if let Err(trouble) = moved {
            // A failure is ignored: the suffix marks the file as temporary.
            let _ = unlinkat(&dir, draft.as_str(), AtFlags::empty());
            return Err(trouble);
        }
        fsync(&dir)?;
        Ok(fate)
    }

    /// Writes `bytes` into a new file beside `name` and returns its name.
    fn draft(&self, dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<String, Trouble> {
        for _ in 0..TRIES {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let draft = format!("{name}.{}{number:06}.tmp", std::process::id());
            let file = match step(dir, &draft, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, FILE) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut file = File::from(file);
            if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
                let _ = unlinkat(dir, draft.as_str(), AtFlags::empty());
                return Err(error.into());
            }
            return Ok(draft);
        }
        Err(Trouble::Changed)
    }

    /// Refuses a file with several hard links if one of them is a file of the program.
    fn not_ours(&self, stat: &Stat) -> Result<(), Trouble> {
        if stat.st_nlink <= 1 {
            return Ok(());
        }
        let mut left = LOOKED;
        let holds = |name: &str| match step(
            self.dir.as_fd(),
            name,
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        ) {
            Ok(folder) => holds(folder, identity(stat), &mut left),
            Err(Errno::NOENT) => false,
            Err(_) => true,
        };
        if [STATE, HISTORY].into_iter().any(holds) { Err(Trouble::Closed) } else { Ok(()) }
    }

    /// The directories that are closed now or were when the root was opened.
    fn closed_now(&self) -> Vec<Identity> {
        [identities(&self.dir), self.closed.clone()].concat()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Made,
    Replaced,
}

/// Opens one name in `dir`, never through a link.
fn step(dir: BorrowedFd<'_>, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        for _ in 0..TRIES {
            match openat2(dir, name, flags, mode, how) {
                Err(Errno::AGAIN) => {}
                // Old kernel: a single name that is not a link cannot escape.
                Err(Errno::NOSYS) => break,
                done => return done,
            }
        }
    }
    openat(dir, name, flags, mode)
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

fn identities(dir: &OwnedFd) -> Vec<Identity> {
    let looked = [STATE, HISTORY].map(|name| statat(dir, name, AtFlags::empty()));
    looked.into_iter().flatten().map(|stat| identity(&stat)).collect()
}

fn admitted(stat: &Stat, closed: &[Identity]) -> Result<(), Trouble> {
    if closed.contains(&identity(stat)) { Err(Trouble::Closed) } else { Ok(()) }
}

fn is_file(stat: &Stat) -> Result<(), Trouble> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(Trouble::Link),
        FileType::Directory => Err(Trouble::Strange("a folder")),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(Trouble::Strange("a device, a pipe or a socket")),
    }
}

/// Fails if `name` changed since it was read.
fn same(dir: BorrowedFd<'_>, name: &str, read: Option<&Stat>) -> Result<(), Trouble> {
    let Some(read) = read else { return Ok(()) };
    let now = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let print = |stat: &Stat| (identity(stat), stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if print(&now) == print(read) { Ok(()) } else { Err(Trouble::Changed) }
}

/// Returns whether `wanted` is in `folder` or below. An incomplete search counts as yes.
fn holds(folder: OwnedFd, wanted: Identity, left: &mut usize) -> bool {
    let Ok(names) = Dir::read_from(&folder) else { return true };
    for entry in names {
        let Ok(entry) = entry else { return true };
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { return true };
        *left = fewer;
        let Ok(stat) = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let below = || {
            if is_folder {
                step(folder.as_fd(), &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
            } else {
                Err(Errno::NOTDIR)
            }
        };
        if identity(&stat) == wanted || below().is_ok_and(|below| holds(below, wanted, left)) {
            return true;
        }
    }
    false
}

/// Returns whether a name at this depth may be listed.
pub fn may_list(depth: usize, name: &str) -> bool {
    // Text from outside is only read when it is named explicitly.
    let outside = depth == 0 && name.eq_ignore_ascii_case(OUTSIDE);
    name != "." && name != ".." && !is_closed(depth, name) && !outside
}
