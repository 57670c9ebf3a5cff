//! Access to the task list and calendar files through the journal's disk.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::file_store::{FileStore, ReplaceOutcome};
use journal::Paths;
use journal::disk::{Disk, FileKind, ensure_dir, replace};

/// Files of the data directory. An exchange holds a file lock, so concurrent programs do not lose
/// each other's changes; the system releases it when a program dies.
pub(super) struct DataFileStore {
    disk: Arc<dyn Disk>,
    lock: PathBuf,
}

impl DataFileStore {
    pub(super) fn new(disk: Arc<dyn Disk>, paths: &Paths) -> Self {
        Self { disk, lock: paths.state().join("accounts.lock") }
    }

    fn try_lock(&self) -> io::Result<Option<File>> {
        if let Some(dir) = self.lock.parent() {
            ensure_dir(self.disk.as_ref(), dir)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(&self.lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl FileStore for DataFileStore {
    fn read(&self, path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
        match self.disk.file_kind(path)? {
            None => Ok(None),
            Some(FileKind::File(_)) => {
                let bytes = self.disk.read_part(path, 0, most + 1)?;
                if bytes.len() > most { Err(ErrorKind::FileTooLarge.into()) } else { Ok(Some(bytes)) }
            }
            Some(FileKind::Directory) => Err(ErrorKind::IsADirectory.into()),
            Some(FileKind::Other) => Err(io::Error::other("it is no file")),
        }
    }

    fn replace_if_unchanged(
        &self,
        path: &Path,
        was: Option<&[u8]>,
        bytes: &[u8],
    ) -> io::Result<ReplaceOutcome> {
        let Some(_held) = self.try_lock()? else { return Ok(ReplaceOutcome::Conflict) };
        let there = self.read(path, was.map_or(0, <[u8]>::len));
        match there {
            Ok(there) if there.as_deref() == was => {}
            Ok(_) => return Ok(ReplaceOutcome::Conflict),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Ok(ReplaceOutcome::Conflict),
            Err(error) => return Err(error),
        }
        // If the file is a symlink, its target is replaced.
        let place = if was.is_some() { std::fs::canonicalize(path)? } else { path.to_owned() };
        replace(self.disk.as_ref(), &place, bytes)?;
        Ok(ReplaceOutcome::Replaced)
    }
}
