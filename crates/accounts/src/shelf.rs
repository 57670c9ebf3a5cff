//! Local files: read whole, and replaced only if unchanged since then.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::Trouble;

/// Reads and atomically replaces whole files.
pub trait Shelf: Send + Sync {
    /// Returns the content, or `None` if there is no file. Content of more than `max` bytes is a
    /// `FileTooLarge` error.
    fn read(&self, path: &Path, most: usize) -> io::Result<Option<Vec<u8>>>;

    /// Atomically and durably writes `bytes` if the content is still `was`.
    fn exchange(&self, path: &Path, was: Option<&[u8]>, bytes: &[u8]) -> io::Result<Exchange>;
}

/// The outcome of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    Done,
    /// The content has changed, or another process is writing.
    Late,
}

/// The number of attempts of a change with conflicts, and the pause between them.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// One file in a store.
#[derive(Clone)]
pub(crate) struct Sheet {
    shelf: Arc<dyn Shelf>,
    path: PathBuf,
    most: usize,
}

/// The result of a change: the new bytes, unless unchanged, and a value for the caller.
pub(crate) type Changed<T> = (Option<Vec<u8>>, T);

impl Sheet {
    /// Creates a handle for the file at `path` with at most `max_bytes` bytes.
    pub(crate) fn new(shelf: Arc<dyn Shelf>, path: PathBuf, most: usize) -> Self {
        Self { shelf, path, most }
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Returns the content, or `None` if there is no file.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, Trouble> {
        self.shelf.read(&self.path, self.most).map_err(|error| self.unreadable(&error))
    }

    /// Applies a change, again after each conflict, so that no concurrent change is lost.
    pub(crate) async fn change<T>(
        &self,
        make: impl Fn(Option<&[u8]>) -> Result<Changed<T>, Trouble>,
    ) -> Result<T, Trouble> {
        for _ in 0..TRIES {
            let was = self.read()?;
            let (bytes, told) = make(was.as_deref())?;
            let Some(bytes) = bytes else { return Ok(told) };
            if bytes.len() > self.most {
                return Err(self.too_big());
            }
            match self.shelf.exchange(&self.path, was.as_deref(), &bytes) {
                Ok(Exchange::Done) => return Ok(told),
                Ok(Exchange::Late) => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    return Err(Trouble::Away(format!("{} cannot be written: {error}.", self.name())));
                }
            }
        }
        Err(Trouble::Away(format!("somebody else keeps writing {}. try again later.", self.name())))
    }

    fn unreadable(&self, error: &io::Error) -> Trouble {
        if error.kind() == io::ErrorKind::FileTooLarge {
            return self.too_big();
        }
        Trouble::Garbled(format!("{} cannot be read: {error}.", self.name()))
    }

    fn too_big(&self) -> Trouble {
        let name = self.name();
        let most = self.most / 1_000_000;
        Trouble::Garbled(format!(
            "{name} would be bigger than {most} MB, which is more than i read. move old things out of it."
        ))
    }
}

#[cfg(test)]
pub(crate) mod memory;
