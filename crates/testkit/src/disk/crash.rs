//! A disk that records all operations, to compute the states that a power cut could leave.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use journal::disk::{Disk, Listed, Seen, Stamp};

use super::memory::MemoryDisk;
use super::power_cut::{AfterCut, after_cuts};

/// A single operation on the disk.
#[derive(Clone, Debug)]
pub(super) enum Step {
    MakeDirectory(PathBuf),
    /// A new, empty file was created under a name.
    Name(PathBuf, FileId),
    /// Bytes were appended to a file.
    Write(FileId, Vec<u8>),
    /// A file was synced.
    SyncFile(FileId),
    Rename(PathBuf, PathBuf, FileId),
    Remove(PathBuf),
    /// A directory was synced.
    SyncDirectory(PathBuf),
    /// The writer declared all earlier operations durable.
    Acknowledge,
}

/// Identifies a file independently of its name.
pub(super) type FileId = usize;

/// A disk in memory that records the operations on it.
#[derive(Default)]
pub struct CrashDisk {
    memory: MemoryDisk,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    steps: Vec<Step>,
    named: BTreeMap<PathBuf, FileId>,
    files: usize,
}

impl Log {
    fn file(&mut self, path: &Path) -> FileId {
        if let Some(file) = self.named.get(path) {
            return *file;
        }
        let file = self.files;
        self.files += 1;
        self.named.insert(path.to_owned(), file);
        self.steps.push(Step::Name(path.to_owned(), file));
        file
    }
}

impl CrashDisk {
    /// Records that everything done so far was promised to be durable.
    pub fn acknowledge(&self) {
        self.log().steps.push(Step::Acknowledge);
    }

    /// Returns a copy of the current content.
    pub fn copied(&self) -> MemoryDisk {
        self.memory.copied()
    }

    /// Writes a new file without syncing it, to test the detection of missing syncs.
    pub fn create_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.memory.create(path, bytes)?;
        let mut log = self.log();
        let file = log.file(path);
        log.steps.push(Step::Write(file, bytes.to_vec()));
        Ok(())
    }

    /// Calls `visit` once for every distinct state that a power cut could have left.
    pub fn after_cuts(&self, seen: impl FnMut(AfterCut)) {
        after_cuts(&self.log().steps, seen);
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for CrashDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.memory.read(path)
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.memory.read_part(path, from, most)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.memory.look(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.memory.stamp(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Listed>> {
        self.memory.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let new: Vec<PathBuf> = dir
            .ancestors()
            .filter(|above| matches!(self.memory.look(above), Ok(None)))
            .map(Path::to_owned)
            .collect();
        self.memory.create_dir(dir)?;
        self.log().steps.extend(new.into_iter().rev().map(Step::MakeDirectory));
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_unsynced(path, bytes)?;
        let mut log = self.log();
        let file = log.file(path);
        log.steps.push(Step::SyncFile(file));
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.memory.append(path, bytes)?;
        let mut log = self.log();
        let file = log.file(path);
        log.steps.push(Step::Write(file, bytes.to_vec()));
        log.steps.push(Step::SyncFile(file));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.memory.rename(from, to)?;
        let mut log = self.log();
        let file = log.file(from);
        log.named.remove(from);
        log.named.insert(to.to_owned(), file);
        log.steps.push(Step::Rename(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn name(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.memory.look(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.memory.remove(path)?;
        let mut log = self.log();
        log.named.remove(path);
        log.steps.push(Step::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.memory.sync_dir(dir)?;
        self.log().steps.push(Step::SyncDirectory(dir.to_owned()));
        Ok(())
    }
}
