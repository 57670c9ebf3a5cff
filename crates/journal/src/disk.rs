//! The disk: this crate's interface to the file system, which tests replace.
//!
//! All file access goes through the trait `Disk`, so that a test can fail the n-th call or
//! enumerate every state that a power cut could leave. Exceptions are the database, git and the
//! lock, which have their own tests.

mod protocol;
mod real;

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use protocol::{
    append_line, belongs_to_live_process, create_new, ensure_dir, is_temporary, remove, remove_leftovers,
    remove_leftovers_of, replace, replace_all, replace_if, save_damaged_copy, set_aside,
};
pub use real::RealDisk;

/// The file system calls of this crate.
pub trait Disk: Send + Sync {
    /// Reads the whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Reads at most `most` bytes of a file from offset `from`; fewer at its end.
    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>>;
    /// Resolves the links of `path`. A disk without links returns it unchanged.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// The kind of file at `path`, following links. `None` if it does not exist.
    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>>;
    /// The change stamp of `path`. `None` if it does not exist.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>>;
    /// Lists a directory, in no particular order.
    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>>;
    /// Creates a directory and its parents, readable by the owner only.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Creates a new file with `bytes`, readable by the owner only, and syncs it.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Appends `bytes` to a file, created if missing, and syncs it.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Renames `from` to `to`, replacing it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Swaps two existing files atomically.
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Returns whether a file is executable. Always false on a disk without such a permission.
    fn is_executable(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }
    /// Makes a file executable for its owner.
    fn make_executable(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Renames `from` to `to`; fails if `to` exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Syncs a directory, so that its names are durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file of this size.
    File(u64),
    Directory,
    /// A pipe, socket or device.
    Other,
}

/// Identifies one state of a file, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its kind after following links; `None` if they are broken.
    pub kind: Option<FileKind>,
    /// The inode number.
    pub inode: u64,
    /// The last change of its content or permissions.
    pub changed: Timestamp,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The full path.
    pub path: PathBuf,
    pub stamp: Stamp,
}

impl FileEntry {
    /// Returns whether it is a regular file or a link to one.
    pub fn is_file(&self) -> bool {
        matches!(self.stamp.kind, Some(FileKind::File(_)))
    }
}
