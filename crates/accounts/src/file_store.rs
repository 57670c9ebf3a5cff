//! Local files: read whole, and replaced only if unchanged since then.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::AccountError;

/// Reads and atomically replaces whole files.
pub trait FileStore: Send + Sync {
    /// Returns the content, or `None` if there is no file. Content of more than `max` bytes is a
    /// `FileTooLarge` error.
    fn read(&self, path: &Path, max: usize) -> io::Result<Option<Vec<u8>>>;

    /// Atomically and durably writes `bytes` if the content is still `was`.
    fn replace_if_unchanged(
        &self,
        path: &Path,
        was: Option<&[u8]>,
        bytes: &[u8],
    ) -> io::Result<ReplaceOutcome>;
}

/// The outcome of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceOutcome {
    Replaced,
    /// The content has changed, or another process is writing.
    Conflict,
}

/// The number of attempts of a change with conflicts, and the pause between them.
const MAX_ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// One file in a store.
#[derive(Clone)]
pub(crate) struct StoredFile {
    store: Arc<dyn FileStore>,
    path: PathBuf,
    max_bytes: usize,
}

/// The result of a change: the new bytes, unless unchanged, and a value for the caller.
pub(crate) type FileChange<T> = (Option<Vec<u8>>, T);

impl StoredFile {
    /// Creates a handle for the file at `path` with at most `max_bytes` bytes.
    pub(crate) fn new(store: Arc<dyn FileStore>, path: PathBuf, max_bytes: usize) -> Self {
        Self { store, path, max_bytes }
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Returns the content, or `None` if there is no file.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, AccountError> {
        self.store.read(&self.path, self.max_bytes).map_err(|error| self.read_error(&error))
    }

    /// Applies a change, again after each conflict, so that no concurrent change is lost.
    pub(crate) async fn change<T>(
        &self,
        make: impl Fn(Option<&[u8]>) -> Result<FileChange<T>, AccountError>,
    ) -> Result<T, AccountError> {
        for _ in 0..MAX_ATTEMPTS {
            let was = self.read()?;
            let (bytes, value) = make(was.as_deref())?;
            let Some(bytes) = bytes else { return Ok(value) };
            if bytes.len() > self.max_bytes {
                return Err(self.too_large_error());
            }
            match self.store.replace_if_unchanged(&self.path, was.as_deref(), &bytes) {
                Ok(ReplaceOutcome::Replaced) => return Ok(value),
                Ok(ReplaceOutcome::Conflict) => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    return Err(AccountError::Unavailable(format!(
                        "{} cannot be written: {error}.",
                        self.name()
                    )));
                }
            }
        }
        Err(AccountError::Unavailable(format!(
            "somebody else keeps writing {}. try again later.",
            self.name()
        )))
    }

    fn read_error(&self, error: &io::Error) -> AccountError {
        if error.kind() == io::ErrorKind::FileTooLarge {
            return self.too_large_error();
        }
        AccountError::Unreadable(format!("{} cannot be read: {error}.", self.name()))
    }

    fn too_large_error(&self) -> AccountError {
        let name = self.name();
        let most = self.max_bytes / 1_000_000;
        AccountError::Unreadable(format!(
            "{name} would be bigger than {most} MB, which is more than i read. move old things out of it."
        ))
    }
}

#[cfg(test)]
pub(crate) mod memory;
