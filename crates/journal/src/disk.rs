//! The disk: the one door of this crate to the file system, so that tests can stand in it.
//!
//! This crate reads and writes its files through these calls, and only through these: a test can fail the
//! n-th one, or list every state that a power cut could leave behind. The database, git and the lock are the
//! exceptions; they have their own ways to the disk, and their own tests.

mod protocol;
mod real;

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use protocol::{
    add, append_line, ensure_dir, is_half_written, is_of_another, keep_copy, remove, replace, replace_all,
    replace_if, set_aside, sweep, sweep_beside,
};
pub use real::RealDisk;

/// The calls we make.
pub trait Disk: Send + Sync {
    /// The whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// At most `most` bytes of a file, starting at `from`: fewer where it ends.
    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>>;
    /// Where `path` is, at the end of its links. A disk without links has nothing to follow.
    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// What is at `path`, at the end of its links: nothing, if they lead nowhere.
    fn look(&self, path: &Path) -> io::Result<Option<Seen>>;
    /// What tells the thing at `path` from what was there before: nothing, if nothing is there.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>>;
    /// The names in a directory, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<Listed>>;
    /// Makes a directory and its parents, readable by the owner alone.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes a new file with `bytes`, readable by the owner alone, and brings it to the disk.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Adds `bytes` to the end of a file, made if missing, and brings them to the disk.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Puts `from` in the place of `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Puts each of two things, which are there, in the place of the other, at once.
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether a file may be run as a program. A disk without such marks has none.
    fn may_run(&self, _path: &Path) -> io::Result<bool> {
        Ok(false)
    }
    /// Lets a file be run as a program by its owner.
    fn let_run(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Gives `from` the name `to`, unless something has it already.
    fn name(&self, from: &Path, to: &Path) -> io::Result<()>;
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

/// What tells one state of a thing on the disk from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// What it is, at the end of its links: nothing, if they lead nowhere.
    pub seen: Option<Seen>,
    /// The number by which the disk knows it, whatever its name.
    pub number: u64,
    /// When what is in it, or who may read it, last changed.
    pub changed: Timestamp,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The whole path.
    pub path: PathBuf,
    /// What is there.
    pub stamp: Stamp,
}

impl Listed {
    /// Whether it is (or leads to) a plain file.
    pub fn is_file(&self) -> bool {
        matches!(self.stamp.seen, Some(Seen::File(_)))
    }
}
