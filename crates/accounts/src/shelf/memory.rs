//! A file store in memory for tests, with simulated concurrent writes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{Exchange, Shelf};

#[derive(Default)]
pub(crate) struct Memory {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    /// Concurrent writes just before our next replacements, the last one first.
    pub(crate) others: Mutex<Vec<Vec<u8>>>,
}

impl Memory {
    /// Creates a store with one file.
    pub(crate) fn with(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
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

impl Shelf for Memory {
    fn read(&self, path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
        let found = self.files.lock().unwrap().get(path).cloned();
        match found {
            Some(bytes) if bytes.len() > most => Err(io::ErrorKind::FileTooLarge.into()),
            other => Ok(other),
        }
    }

    fn exchange(&self, path: &Path, was: Option<&[u8]>, bytes: &[u8]) -> io::Result<Exchange> {
        let mut files = self.files.lock().unwrap();
        if let Some(other) = self.others.lock().unwrap().pop() {
            files.insert(path.into(), other);
        }
        if files.get(path).map(Vec::as_slice) != was {
            return Ok(Exchange::Late);
        }
        files.insert(path.into(), bytes.to_vec());
        Ok(Exchange::Done)
    }
}
