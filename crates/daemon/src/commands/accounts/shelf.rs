//! Access to the task list and calendar files through the journal's disk.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::shelf::{Exchange, Shelf};
use journal::Paths;
use journal::disk::{Disk, Seen, ensure_dir, replace};

/// Files of the data directory. An exchange holds a file lock, so concurrent programs do not lose
/// each other's changes; the system releases it when a program dies.
pub(super) struct DataShelf {
    disk: Arc<dyn Disk>,
    lock: PathBuf,
}

impl DataShelf {
    pub(super) fn new(disk: Arc<dyn Disk>, paths: &Paths) -> Self {
        Self { disk, lock: paths.state().join("accounts.lock") }
    }

    fn locked(&self) -> io::Result<Option<File>> {
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

impl Shelf for DataShelf {
    fn read(&self, path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
        match self.disk.look(path)? {
            None => Ok(None),
            Some(Seen::File(_)) => {
                let bytes = self.disk.read_part(path, 0, most + 1)?;
                if bytes.len() > most { Err(ErrorKind::FileTooLarge.into()) } else { Ok(Some(bytes)) }
            }
            Some(Seen::Directory) => Err(ErrorKind::IsADirectory.into()),
            Some(Seen::Strange) => Err(io::Error::other("it is no file")),
        }
    }

    fn exchange(&self, path: &Path, was: Option<&[u8]>, bytes: &[u8]) -> io::Result<Exchange> {
        let Some(_held) = self.locked()? else { return Ok(Exchange::Late) };
        let there = self.read(path, was.map_or(0, <[u8]>::len));
        match there {
            Ok(there) if there.as_deref() == was => {}
            Ok(_) => return Ok(Exchange::Late),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Ok(Exchange::Late),
            Err(error) => return Err(error),
        }
        // If the file is a symlink, its target is replaced.
        let place = if was.is_some() { std::fs::canonicalize(path)? } else { path.to_owned() };
        replace(self.disk.as_ref(), &place, bytes)?;
        Ok(Exchange::Done)
    }
}
