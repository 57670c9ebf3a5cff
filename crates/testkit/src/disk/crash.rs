//! A disk that writes down what is done to it, so that one can ask what a power cut would have left.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use journal::disk::{Disk, Listed, Seen, Stamp};

use super::memory::MemoryDisk;
use super::power_cut::{AfterCut, after_cuts};

/// One thing that was done, as small as the disk knows it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A directory was made.
    MakeDirectory(PathBuf),
    /// A name was given to a new, empty file.
    Name(PathBuf, FileId),
    /// Bytes were written to the end of a file.
    Write(FileId, Vec<u8>),
    /// A file was brought to the disk.
    SyncFile(FileId),
    /// A name was moved.
    Rename(PathBuf, PathBuf, FileId),
    /// A name was removed.
    Remove(PathBuf),
    /// The names in a directory were brought to the disk.
    SyncDirectory(PathBuf),
    /// The writer said that all it did so far is safe.
    Acknowledge,
}

/// A file, whatever it is called.
pub(super) type FileId = usize;

/// A disk in memory that keeps a log of what is done to it.
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
    /// Says that everything done so far was promised to last.
    pub fn acknowledge(&self) {
        self.log().steps.push(Step::Acknowledge);
    }

    /// What is on the disk while the power is on, on another disk.
    pub fn copied(&self) -> MemoryDisk {
        self.memory.copied()
    }

    /// Writes a new file and does not bring it to the disk: what a careless program does.
    pub fn create_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.memory.create(path, bytes)?;
        let mut log = self.log();
        let file = log.file(path);
        log.steps.push(Step::Write(file, bytes.to_vec()));
        Ok(())
    }

    /// Shows every state that a power cut at any moment could have left, each once.
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
