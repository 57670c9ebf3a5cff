//! The disk: the one door to the file system, so that tests can stand in it.
//!
//! All our files are read and written through these calls, and only through these: a test can fail the
//! n-th one, or list every state that a power cut could leave behind. The database is the exception; it has
//! its own way to the disk and its own tests.

mod protocol;
mod real;

use std::io;
use std::path::{Path, PathBuf};

pub use protocol::{append_line, ensure_dir, keep_copy, remove, replace, set_aside, sweep, sweep_beside};
pub use real::RealDisk;

/// The calls we make.
pub trait Disk: Send + Sync {
    /// The whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// At most `most` bytes of a file, starting at `from`: fewer where it ends.
    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>>;
    /// What is at `path`, at the end of its links: nothing, if they lead nowhere.
    fn look(&self, path: &Path) -> io::Result<Option<Seen>>;
    /// The names in a directory, with whether each is a plain file, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<Listed>>;
    /// Makes a directory and its parents, readable by the owner alone.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes a new file with `bytes`, readable by the owner alone, and brings it to the disk.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Adds `bytes` to the end of a file, made if missing, and brings them to the disk.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Puts `from` in the place of `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Brings the names in a directory to the disk.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// What can be at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A plain file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A pipe, a socket, a device: nothing to read.
    Strange,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The whole path.
    pub path: PathBuf,
    /// Whether it is (or leads to) a plain file.
    pub file: bool,
}
