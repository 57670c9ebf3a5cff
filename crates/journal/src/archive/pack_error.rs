//! Errors of an export, with advice for the user.

use std::io;
use std::path::Path;

use crate::db::DatabaseError;
use crate::error_class::ErrorClass;

/// An error of an export.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The data directory does not exist.
    #[error("{0} is not there, so there is nothing to export. name another with --data-dir.")]
    NoDataDirectory(String),
    #[error(
        "{0}. start ollim-bot once: it keeps a damaged journal aside and goes on from a good copy. then export again."
    )]
    Damaged(String),
    #[error("{0}")]
    Newer(String),
    #[error("{0}")]
    CopyFailed(String),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] UnreadableFile),
    /// A file was written during the export.
    #[error("{0} was written while i read it. try again.")]
    Changed(String),
    /// The archive cannot be written.
    #[error("the archive could not be written: {0}.")]
    Disk(#[from] io::Error),
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` cannot be read: {error}. make it readable or move it away, and try again.")]
pub struct UnreadableFile {
    name: String,
    error: io::Error,
}

impl UnreadableFile {
    /// The error for the file called `name`.
    pub fn named(name: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { name: name.to_owned(), error }
    }

    /// The error for the file at `path`, which is `root` or inside of it.
    pub fn at_path(root: &Path, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            let inside = path.strip_prefix(root).ok().filter(|name| !name.as_os_str().is_empty());
            Self { name: inside.unwrap_or(path).to_string_lossy().into_owned(), error }
        }
    }

    /// Returns whether the file was removed concurrently.
    pub fn is_not_found(&self) -> bool {
        self.error.kind() == io::ErrorKind::NotFound
    }
}

/// The error for a journal in `dir` that cannot be copied.
pub fn copy_error(dir: &Path, error: DatabaseError) -> PackError {
    let text = error.to_string();
    let dir = dir.display();
    match error {
        DatabaseError::Damaged(_) => PackError::Damaged(text),
        DatabaseError::Newer { .. } => PackError::Newer(text),
        DatabaseError::Temporary(why, ErrorClass::DiskFull) => PackError::CopyFailed(format!(
            "there is no room left in {dir} for a copy of the journal ({why}). make some, and try again."
        )),
        DatabaseError::Temporary(why, _) | DatabaseError::Disk(why) => PackError::CopyFailed(format!(
            "the journal in {dir} cannot be copied ({why}). look after the disk, and try again."
        )),
    }
}
