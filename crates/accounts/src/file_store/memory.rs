//! A file store in memory for tests, with simulated concurrent writes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{FileStore, ReplaceOutcome};

#[derive(Default)]
pub(crate) struct MemoryFileStore {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    /// Concurrent writes just before our next replacements, the last one first.
    pub(crate) concurrent_writes: Mutex<Vec<Vec<u8>>>,
}

impl MemoryFileStore {
    /// Creates a store with one file.
    pub(crate) fn with_file(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let memory = Self::default();
        memory.files.lock().unwrap().insert(path.into(), bytes.into());
        memory
    }

    /// Returns a file as text.
    pub(crate) fn text(&self, path: &str) -> String {
        let files = self.files.lock().unwrap();
        String::from_utf8(files.get(Path::new(path)).cloned().unwrap_or_default()).unwrap()
    }
}

impl FileStore for MemoryFileStore {
    fn read(&self, path: &Path, max: usize) -> io::Result<Option<Vec<u8>>> {
        let found = self.files.lock().unwrap().get(path).cloned();
        match found {
            Some(bytes) if bytes.len() > max => Err(io::ErrorKind::FileTooLarge.into()),
            other => Ok(other),
        }
    }

    fn replace_if_unchanged(
        &self,
        path: &Path,
        was: Option<&[u8]>,
        bytes: &[u8],
    ) -> io::Result<ReplaceOutcome> {
        let mut files = self.files.lock().unwrap();
        if let Some(other) = self.concurrent_writes.lock().unwrap().pop() {
            files.insert(path.into(), other);
        }
        if files.get(path).map(Vec::as_slice) != was {
            return Ok(ReplaceOutcome::Conflict);
        }
        files.insert(path.into(), bytes.to_vec());
        Ok(ReplaceOutcome::Replaced)
    }
}
