//! Opens files beneath the data directory through directory descriptors.
//!
//! Every step opens one name in an open directory and refuses links, so concurrent moves cannot
//! lead outside. Each directory is also compared with the closed ones by identity, because some
//! file systems accept several spellings of a name.

use domain::permission::OUTSIDE_DIR;
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

use super::data_path::{DataPath, GIT_DIR, STATE_DIR, closed_text, is_closed};

/// The maximum number of attempts of a step that collides with concurrent moves.
const MAX_ATTEMPTS: usize = 16;
/// The maximum number of program files compared with one file.
const MAX_COMPARED_FILES: usize = 20_000;

/// Files and folders are accessible to their owner only.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER_MODE: Mode = Mode::RWXU;

/// Device and inode.
type FileIdentity = (u64, u64);

/// An open data directory.
pub struct DataRoot {
    dir: OwnedFd,
    /// The closed directories when the root was opened.
    closed: Vec<FileIdentity>,
    draft_count: AtomicU32,
}

/// The reason why a file cannot be opened or written.
#[derive(Debug)]
pub enum FileError {
    Missing,
    /// It is a link, or the path contains one.
    Link,
    Closed,
    /// It is not a regular file.
    NotAFile(&'static str),
    /// It changed after it was read.
    Changed,
    Io(io::Error),
}

impl FileError {
    /// The message for the model about `path`.
    pub fn text(&self, path: &DataPath) -> String {
        match self {
            Self::Missing => {
                format!("there is no `{path}` in the data directory. look for it with `Glob`.")
            }
            Self::Link => format!("`{path}` is a link, or leads through one. name the file itself."),
            Self::Closed => closed_text(&path.display()),
            Self::NotAFile(what) => format!("`{path}` is {what}, not a file with text in it."),
            Self::Changed => format!("`{path}` was changed by somebody else meanwhile. read it again."),
            Self::Io(error) => format!("`{path}`: {error}."),
        }
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP | Errno::XDEV => Self::Link,
            Errno::NOTDIR => Self::NotAFile("beneath a file or a link"),
            // Opening a socket fails with `ENXIO`.
            Errno::NXIO => Self::NotAFile("a device or a socket"),
            other => Self::Io(other.into()),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Debug for DataRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl DataRoot {
    /// Opens the data directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let dir = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let closed = closed_identities(&dir);
        Ok(Self { dir, closed, draft_count: AtomicU32::new(0) })
    }

    /// Opens the folder `parts`, which must exist.
    pub fn open_folder(&self, parts: &[String]) -> Result<OwnedFd, FileError> {
        self.walk(parts, |dir, name| {
            Ok(open_name(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?)
        })
    }

    /// Opens the folder `parts` and creates missing ones.
    fn create_folder(&self, parts: &[String]) -> Result<OwnedFd, FileError> {
        self.walk(parts, |dir, name| {
            match mkdirat(dir, name, FOLDER_MODE) {
                Ok(()) => fsync(dir)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(open_name(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?)
        })
    }

    fn walk(
        &self,
        parts: &[String],
        open: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, FileError>,
    ) -> Result<OwnedFd, FileError> {
        let closed = self.closed_directories();
        let here = open_name(self.dir.as_fd(), ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        parts.iter().try_fold(here, |dir, name| {
            let next = open(dir.as_fd(), name)?;
            check_admitted(&fstat(&next)?, &closed)?;
            Ok(next)
        })
    }

    /// Opens the folder `name` in `dir` unless it is closed.
    pub fn open_folder_in(&self, dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, FileError> {
        let folder = open_name(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        check_admitted(&fstat(&folder)?, &self.closed_directories())?;
        Ok(folder)
    }

    /// Opens the file `path` for reading.
    pub fn open_file(&self, path: &DataPath) -> Result<(File, Stat), FileError> {
        let Some((folder, name)) = path.split_file() else {
            return Err(FileError::NotAFile("the data directory"));
        };
        self.open_file_in(self.open_folder(folder)?.as_fd(), name)
    }

    /// Opens the file `name` in `dir` for reading.
    pub fn open_file_in(&self, dir: BorrowedFd<'_>, name: &str) -> Result<(File, Stat), FileError> {
        // Checked before opening, because opening a device may have side effects.
        check_is_file(&statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(open_name(dir, name, flags, Mode::empty())?);
        let stat = fstat(&file)?;
        check_is_file(&stat)?;
        self.refuse_program_file(&stat)?;
        Ok((file, stat))
    }

    /// Atomically and durably replaces `path` by a file with `bytes`. If `read` is given, the
    /// file must be unchanged since then.
    pub fn replace(
        &self,
        path: &DataPath,
        bytes: &[u8],
        read: Option<&Stat>,
    ) -> Result<WriteOutcome, FileError> {
        let Some((folder, name)) = path.split_file() else {
            return Err(FileError::NotAFile("the data directory"));
        };
        let dir = self.create_folder(folder)?;
        let fate = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                check_is_file(&stat)?;
                self.refuse_program_file(&stat)?;
                WriteOutcome::Replaced
            }
            Err(Errno::NOENT) => WriteOutcome::Created,
            Err(error) => return Err(error.into()),
        };
        let draft = self.write_draft(dir.as_fd(), name, bytes)?;
        let moved = check_unchanged(dir.as_fd(), name, read)
            .and_then(|()| renameat(&dir, draft.as_str(), &dir, name).map_err(FileError::from));
        if let Err(trouble) = moved {
            // A failure is ignored: the suffix marks the file as temporary.
            let _ = unlinkat(&dir, draft.as_str(), AtFlags::empty());
            return Err(trouble);
        }
        fsync(&dir)?;
        Ok(fate)
    }

    /// Writes `bytes` into a new file beside `name` and returns its name.
    fn write_draft(&self, dir: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<String, FileError> {
        for _ in 0..MAX_ATTEMPTS {
            let number = self.draft_count.fetch_add(1, Ordering::Relaxed);
            let draft = format!("{name}.{}{number:06}.tmp", std::process::id());
            let file = match open_name(dir, &draft, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, FILE_MODE)
            {
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
        Err(FileError::Changed)
    }

    /// Refuses a file with several hard links if one of them is a file of the program.
    fn refuse_program_file(&self, stat: &Stat) -> Result<(), FileError> {
        if stat.st_nlink <= 1 {
            return Ok(());
        }
        let mut remaining = MAX_COMPARED_FILES;
        let holds = |name: &str| match open_name(
            self.dir.as_fd(),
            name,
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        ) {
            Ok(folder) => contains_file(folder, identity(stat), &mut remaining),
            Err(Errno::NOENT) => false,
            Err(_) => true,
        };
        if [STATE_DIR, GIT_DIR].into_iter().any(holds) { Err(FileError::Closed) } else { Ok(()) }
    }

    /// The directories that are closed now or were when the root was opened.
    fn closed_directories(&self) -> Vec<FileIdentity> {
        [closed_identities(&self.dir), self.closed.clone()].concat()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    Created,
    Replaced,
}

/// Opens one name in `dir`, never through a link.
fn open_name(dir: BorrowedFd<'_>, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        for _ in 0..MAX_ATTEMPTS {
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

fn identity(stat: &Stat) -> FileIdentity {
    (stat.st_dev, stat.st_ino)
}

fn closed_identities(dir: &OwnedFd) -> Vec<FileIdentity> {
    let looked = [STATE_DIR, GIT_DIR].map(|name| statat(dir, name, AtFlags::empty()));
    looked.into_iter().flatten().map(|stat| identity(&stat)).collect()
}

fn check_admitted(stat: &Stat, closed: &[FileIdentity]) -> Result<(), FileError> {
    if closed.contains(&identity(stat)) { Err(FileError::Closed) } else { Ok(()) }
}

fn check_is_file(stat: &Stat) -> Result<(), FileError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(FileError::Link),
        FileType::Directory => Err(FileError::NotAFile("a folder")),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(FileError::NotAFile("a device, a pipe or a socket")),
    }
}

/// Fails if `name` changed since it was read.
fn check_unchanged(dir: BorrowedFd<'_>, name: &str, read: Option<&Stat>) -> Result<(), FileError> {
    let Some(read) = read else { return Ok(()) };
    let now = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let print = |stat: &Stat| (identity(stat), stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if print(&now) == print(read) { Ok(()) } else { Err(FileError::Changed) }
}

/// Returns whether `wanted` is in `folder` or below. An incomplete search counts as yes.
fn contains_file(folder: OwnedFd, wanted: FileIdentity, remaining: &mut usize) -> bool {
    let Ok(names) = Dir::read_from(&folder) else { return true };
    for entry in names {
        let Ok(entry) = entry else { return true };
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let Some(fewer) = remaining.checked_sub(1) else { return true };
        *remaining = fewer;
        let Ok(stat) = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let below = || {
            if is_folder {
                open_name(folder.as_fd(), &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
            } else {
                Err(Errno::NOTDIR)
            }
        };
        if identity(&stat) == wanted || below().is_ok_and(|below| contains_file(below, wanted, remaining)) {
            return true;
        }
    }
    false
}

/// Returns whether a name at this depth may be listed.
pub fn may_list(depth: usize, name: &str) -> bool {
    // Text from outside is only read when it is named explicitly.
    let outside = depth == 0 && name.eq_ignore_ascii_case(OUTSIDE_DIR);
    name != "." && name != ".." && !is_closed(depth, name) && !outside
}
