//! A disk that returns an error once, or from some call on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use journal::disk::{Disk, Listed, Seen, Stamp};

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Full,
    /// The disk has I/O errors.
    Broken,
    /// The file system is read-only.
    ReadOnly,
    /// The disk quota is exceeded.
    OverQuota,
}

impl Fault {
    pub const ALL: [Self; 4] = [Self::Full, Self::Broken, Self::ReadOnly, Self::OverQuota];

    /// Returns the error of the operating system.
    pub fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Self::Full => 28,
            Self::Broken => 5,
            Self::ReadOnly => 30,
            Self::OverQuota => 122,
        })
    }

    /// Returns true if half of a write reaches the disk before it fails.
    fn comes_halfway(self) -> bool {
        match self {
            Self::Full | Self::Broken | Self::OverQuota => true,
            Self::ReadOnly => false,
        }
    }
}

/// The duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    Once,
    /// All further calls.
    Forever,
}

/// A disk whose calls fail from the n-th on, counted from zero.
pub struct FailingDisk {
    inner: Arc<dyn Disk>,
    calls: AtomicUsize,
    at: usize,
    fault: Fault,
    lasting: Lasting,
}

impl FailingDisk {
    /// Makes call number `at` to `inner` fail.
    pub fn new(inner: Arc<dyn Disk>, at: usize, fault: Fault, lasting: Lasting) -> Self {
        Self { inner, calls: AtomicUsize::new(0), at, fault, lasting }
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn fails(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.lasting {
            Lasting::Once => call == self.at,
            Lasting::Forever => call >= self.at,
        }
    }

    fn guarded<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.fails() { Err(self.fault.error()) } else { call() }
    }

    fn writing(&self, bytes: &[u8], call: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if !self.fails() {
            return call(bytes);
        }
        if self.fault.comes_halfway() {
            call(&bytes[..bytes.len() / 2])?;
        }
        Err(self.fault.error())
    }
}

impl Disk for FailingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.guarded(|| self.inner.read(path))
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.guarded(|| self.inner.read_part(path, from, most))
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.guarded(|| self.inner.look(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.guarded(|| self.inner.stamp(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Listed>> {
        self.guarded(|| self.inner.list(dir))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.create_dir(dir))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.writing(bytes, |bytes| self.inner.create(path, bytes))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.writing(bytes, |bytes| self.inner.append(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.rename(from, to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.exchange(one, other))
    }

    fn name(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.name(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.remove(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.guarded(|| self.inner.sync_dir(dir))
    }
}
