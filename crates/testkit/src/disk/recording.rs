//! A disk that records all operations, to compute the states that a power cut could leave.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use journal::disk::{Disk, FileEntry, FileKind, Stamp};

use super::memory::MemoryDisk;
use super::power_cut::{PowerCutState, for_each_state};

/// A single operation on the disk.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    MakeDirectory(PathBuf),
    /// A new, empty file was created under a name.
    CreateFile(PathBuf, FileId),
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
pub struct RecordingDisk {
    memory: MemoryDisk,
    log: Mutex<OperationLog>,
}

#[derive(Default)]
struct OperationLog {
    operations: Vec<Operation>,
    names: BTreeMap<PathBuf, FileId>,
    file_count: usize,
}

impl OperationLog {
    fn file_id(&mut self, path: &Path) -> FileId {
        if let Some(file) = self.names.get(path) {
            return *file;
        }
        let file = self.file_count;
        self.file_count += 1;
        self.names.insert(path.to_owned(), file);
        self.operations.push(Operation::CreateFile(path.to_owned(), file));
        file
    }
}

impl RecordingDisk {
    /// Records that everything done so far was promised to be durable.
    pub fn acknowledge(&self) {
        self.log().operations.push(Operation::Acknowledge);
    }

    /// Returns a copy of the current content.
    pub fn snapshot(&self) -> MemoryDisk {
        self.memory.snapshot()
    }

    /// Writes a new file without syncing it, to test the detection of missing syncs.
    pub fn create_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.memory.create(path, bytes)?;
        let mut log = self.log();
        let file = log.file_id(path);
        log.operations.push(Operation::Write(file, bytes.to_vec()));
        Ok(())
    }

    /// Calls `visit` once for every distinct state that a power cut could have left.
    pub fn for_each_power_cut(&self, visit: impl FnMut(PowerCutState)) {
        for_each_state(&self.log().operations, visit);
    }

    fn log(&self) -> MutexGuard<'_, OperationLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for RecordingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.memory.read(path)
    }

    fn read_part(&self, path: &Path, from: u64, most: usize) -> io::Result<Vec<u8>> {
        self.memory.read_part(path, from, most)
    }

    fn file_kind(&self, path: &Path) -> io::Result<Option<FileKind>> {
        self.memory.file_kind(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.memory.stamp(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<FileEntry>> {
        self.memory.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let new: Vec<PathBuf> = dir
            .ancestors()
            .filter(|above| matches!(self.memory.file_kind(above), Ok(None)))
            .map(Path::to_owned)
            .collect();
        self.memory.create_dir(dir)?;
        self.log().operations.extend(new.into_iter().rev().map(Operation::MakeDirectory));
        Ok(())
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_unsynced(path, bytes)?;
        let mut log = self.log();
        let file = log.file_id(path);
        log.operations.push(Operation::SyncFile(file));
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.memory.append(path, bytes)?;
        let mut log = self.log();
        let file = log.file_id(path);
        log.operations.push(Operation::Write(file, bytes.to_vec()));
        log.operations.push(Operation::SyncFile(file));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.memory.rename(from, to)?;
        let mut log = self.log();
        let file = log.file_id(from);
        log.names.remove(from);
        log.names.insert(to.to_owned(), file);
        log.operations.push(Operation::Rename(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.memory.file_kind(to)? {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => self.rename(from, to),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.memory.remove(path)?;
        let mut log = self.log();
        log.names.remove(path);
        log.operations.push(Operation::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.memory.sync_dir(dir)?;
        self.log().operations.push(Operation::SyncDirectory(dir.to_owned()));
        Ok(())
    }
}
