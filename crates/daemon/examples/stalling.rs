//! The program on a disk that blocks on file creation while a file `stall` exists in the home
//! directory. Only for tests.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::{Disk, FileEntry, FileKind, RealDisk, Stamp};

/// A disk that can hang.
struct StallingDisk(PathBuf);

impl StallingDisk {
    #[expect(clippy::disallowed_methods, reason = "simulates a disk that hangs")]
    fn wait(&self) {
        while self.0.exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Disk for StallingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(path)
    }
    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        RealDisk.read_part(path, from, most)
    }
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        RealDisk.canonicalize(path)
    }
    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        RealDisk.file_kind(path)
    }
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        RealDisk.stamp(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        RealDisk.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.create_dir(dir)
    }
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.wait();
        RealDisk.create(path, bytes)
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(path, bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename_new(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no other way to pass the path to a process")]
fn main() -> ExitCode {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    daemon::main_on(Arc::new(StallingDisk(home.join("stall"))))
}
