//! Where local files stand: read, and exchanged only while they are still what was read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::Trouble;

/// Reads and exchanges whole files.
pub trait Shelf: Send + Sync {
    /// The whole file, of at most `most` bytes; nothing, if there is none. A bigger one is `FileTooLarge`.
    fn read(&self, path: &Path, most: usize) -> io::Result<Option<Vec<u8>>>;

    /// Puts `bytes` there whole and for good, if what is there is still `was`.
    fn exchange(&self, path: &Path, was: Option<&[u8]>, bytes: &[u8]) -> io::Result<Exchange>;
}

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// It is done.
    Done,
    /// Something else is there by now, or somebody is just writing.
    Late,
}

/// How often a change is made anew on what somebody else has written meanwhile, and how long we wait in between.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// One file on a shelf.
#[derive(Clone)]
pub(crate) struct Sheet {
    shelf: Arc<dyn Shelf>,
    path: PathBuf,
    most: usize,
}

/// What a change makes of a file: its new bytes, unless nothing is new, and what to tell.
pub(crate) type Changed<T> = (Option<Vec<u8>>, T);

impl Sheet {
    /// The file at `path`, of at most `most` bytes.
    pub(crate) fn new(shelf: Arc<dyn Shelf>, path: PathBuf, most: usize) -> Self {
        Self { shelf, path, most }
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// What is in it; nothing, if there is none.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, Trouble> {
        self.shelf.read(&self.path, self.most).map_err(|error| self.unreadable(&error))
    }

    /// Makes a change, as often as it takes until nobody came in between: nothing that another one wrote is lost.
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
