//! Errors and damage of files, in texts for the user.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error from reading or writing a file. The previous content is preserved.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file exists and cannot be read.
    #[error("cannot read {} ({source}); nothing was changed. make it readable for this account", path.display())]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    #[error(
        "cannot write {} ({source}); what was there before is kept. free some space, or make its directory \
         writable for this account",
        path.display()
    )]
    Unwritable {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The requested change is not possible.
    #[error("cannot change {}: {reason}", path.display())]
    Refused {
        path: PathBuf,
        /// The reason, and what to do instead.
        reason: String,
    },
}

impl FileError {
    pub(crate) fn on_read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }

    pub(crate) fn on_write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unwritable { path, source }
    }

    pub(crate) fn refused(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// A damaged file. The user must be notified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub path: PathBuf,
    /// The copy of the damaged content.
    pub kept_as: PathBuf,
    /// The problem, and the lost content.
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kept_as, reason } = self;
        write!(f, "{} was damaged: {reason}. it is kept as {}", path.display(), kept_as.display())
    }
}
