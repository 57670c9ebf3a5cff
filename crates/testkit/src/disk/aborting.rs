//! The real disk, with an abort of the process at a numbered point.
//!
//! Every call has two points: before it, and in the middle of it. In the middle of a write, half of
//! the bytes are written; in the middle of any other call, the operation is complete but has not
//! returned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use journal::disk::{Disk, FileEntry, FileKind, RealDisk, Stamp};

/// A disk that aborts the process at a given point.
#[derive(Debug)]
pub struct AbortingDisk {
    point: usize,
    calls: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AbortTiming {
    Never,
    Midway,
}

impl AbortingDisk {
    /// Creates a disk that aborts at `point`, counted from zero.
    pub fn new(point: usize) -> Self {
        Self { point, calls: AtomicUsize::new(0) }
    }

    fn next_call(&self) -> AbortTiming {
        let first = 2 * self.calls.fetch_add(1, Ordering::SeqCst);
        match self.point.checked_sub(first) {
            Some(0) => std::process::abort(),
            Some(1) => AbortTiming::Midway,
            Some(_) | None => AbortTiming::Never,
        }
    }

    fn run<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let timing = self.next_call();
        let result = call();
        match timing {
            AbortTiming::Midway => std::process::abort(),
            AbortTiming::Never => result,
        }
    }

    fn write(&self, bytes: &[u8], call: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self.next_call() {
            AbortTiming::Never => call(bytes),
            AbortTiming::Midway => {
                let _ = call(&bytes[..bytes.len() / 2]);
                std::process::abort()
            }
        }
    }
}

impl Disk for AbortingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.run(|| RealDisk.read(path))
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.run(|| RealDisk.read_part(path, from, most))
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        self.run(|| RealDisk.file_kind(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.run(|| RealDisk.stamp(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        self.run(|| RealDisk.list(dir))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.run(|| RealDisk.create_dir(dir))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, |bytes| RealDisk.create(path, bytes))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, |bytes| RealDisk.append(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(|| RealDisk.rename(from, to))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        RealDisk.canonicalize(path)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.run(|| RealDisk.exchange(one, other))
    }

    fn is_executable(&self, path: &Path) -> io::Result<bool> {
        RealDisk.is_executable(path)
    }

    fn make_executable(&self, path: &Path) -> io::Result<()> {
        self.run(|| RealDisk.make_executable(path))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(|| RealDisk.rename_new(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run(|| RealDisk.remove(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.run(|| RealDisk.sync_dir(dir))
    }
}
