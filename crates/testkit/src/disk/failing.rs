//! A disk that returns an error once, or from some call on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use journal::disk::{Disk, FileEntry, FileKind, Stamp};

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    Full,
    /// The disk has I/O errors.
    Broken,
    /// The file system is read-only.
    ReadOnly,
    /// The disk quota is exceeded.
    OverQuota,
}

impl DiskFault {
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
    fn writes_half(self) -> bool {
        match self {
            Self::Full | Self::Broken | Self::OverQuota => true,
            Self::ReadOnly => false,
        }
    }
}

/// The duration of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultDuration {
    Once,
    /// All further calls.
    Forever,
}

/// A disk whose calls fail from the n-th on, counted from zero.
pub struct FailingDisk {
    inner: Arc<dyn Disk>,
    calls: AtomicUsize,
    first_failure: usize,
    fault: DiskFault,
    duration: FaultDuration,
}

impl FailingDisk {
    /// Makes call number `at` to `inner` fail.
    pub fn new(inner: Arc<dyn Disk>, at: usize, fault: DiskFault, lasting: FaultDuration) -> Self {
        Self { inner, calls: AtomicUsize::new(0), first_failure: at, fault, duration: lasting }
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn fails(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.duration {
            FaultDuration::Once => call == self.first_failure,
            FaultDuration::Forever => call >= self.first_failure,
        }
    }

    fn run<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.fails() { Err(self.fault.error()) } else { call() }
    }

    fn write(&self, bytes: &[u8], call: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if !self.fails() {
            return call(bytes);
        }
        if self.fault.writes_half() {
            call(&bytes[..bytes.len() / 2])?;
        }
        Err(self.fault.error())
    }
}

impl Disk for FailingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.run(|| self.inner.read(path))
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.run(|| self.inner.read_part(path, from, most))
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        self.run(|| self.inner.file_kind(path))
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.run(|| self.inner.stamp(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        self.run(|| self.inner.list(dir))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.run(|| self.inner.create_dir(dir))
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, |bytes| self.inner.create(path, bytes))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes, |bytes| self.inner.append(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(|| self.inner.rename(from, to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.run(|| self.inner.exchange(one, other))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(|| self.inner.rename_new(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run(|| self.inner.remove(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.run(|| self.inner.sync_dir(dir))
    }
}
