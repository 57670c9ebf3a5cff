//! What can go wrong with a file, in words for the human.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file could not be read or written. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It is there and cannot be read.
    #[error("cannot read {} ({source}); nothing was changed. make it readable for this account", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be written.
    #[error(
        "cannot write {} ({source}); what was there before is kept. free some space, or make its directory \
         writable for this account",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be changed the way it was asked.
    #[error("cannot change {}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what would be right.
        reason: String,
    },
}

impl Trouble {
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }

    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unwritable { path, source }
    }

    pub(crate) fn refused(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// A file was damaged. The human should hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where its damaged content is kept.
    pub kept_as: PathBuf,
    /// What was wrong, and what of it is lost from view.
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kept_as, reason } = self;
        write!(f, "{} was damaged: {reason}. it is kept as {}", path.display(), kept_as.display())
    }
}
