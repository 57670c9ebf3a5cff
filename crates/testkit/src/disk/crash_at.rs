//! The real disk, with an abort of the process at a numbered point.
//!
//! Every call has two points: before it, and in the middle of it. In the middle of a write, half of
//! the bytes are written; in the middle of any other call, the operation is complete but has not
//! returned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use journal::disk::{Disk, Listed, RealDisk, Seen, Stamp};

/// A disk that aborts the process at a given point.
#[derive(Debug)]
pub struct CrashAt {
    point: usize,
    calls: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    GoOn,
    Midway,
}

impl CrashAt {
    /// Creates a disk that aborts at `point`, counted from zero.
    pub fn new(point: usize) -> Self {
        Self { point, calls: AtomicUsize::new(0) }
    }

    fn before(&self) -> Now {
        let first = 2 * self.calls.fetch_add(1, Ordering::SeqCst);
        match self.point.checked_sub(first) {
            Some(0) => std::process::abort(),
            Some(1) => Now::Midway,
            Some(_) | None => Now::GoOn,
        }
    }

    fn around<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let now = self.before();
        let done = call();
        match now {
            Now::Midway => std::process::abort(),
            Now::GoOn => done,
        }
    }

    fn writing(&self, bytes: &[u8], call: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self.before() {
            Now::GoOn => call(bytes),
            Now::Midway => {
                let _ = call(&bytes[..bytes.len() / 2]);
                std::process::abort()
            }
        }
    }
}

impl Disk for CrashAt {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.around(|| RealDisk.read(path))
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.around(|| RealDisk.read_part(path, from, most))
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.around(|| RealDisk.look(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.around(|| RealDisk.stamp(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Listed>> {
        self.around(|| RealDisk.list(dir))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.around(|| RealDisk.create_dir(dir))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.writing(bytes, |bytes| RealDisk.create(path, bytes))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.writing(bytes, |bytes| RealDisk.append(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.around(|| RealDisk.rename(from, to))
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        RealDisk.real(path)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.around(|| RealDisk.exchange(one, other))
    }

    fn may_run(&self, path: &Path) -> io::Result<bool> {
        RealDisk.may_run(path)
    }

    fn let_run(&self, path: &Path) -> io::Result<()> {
        self.around(|| RealDisk.let_run(path))
    }

    fn name(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.around(|| RealDisk.name(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.around(|| RealDisk.remove(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.around(|| RealDisk.sync_dir(dir))
    }
}
