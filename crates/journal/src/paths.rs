//! The layout of a data directory.

use std::path::{Path, PathBuf};

/// The paths of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths(PathBuf);

impl Paths {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    /// The directory of files that only the program writes.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The SQLite database.
    pub fn database(&self) -> PathBuf {
        self.state().join("journal.db")
    }

    /// The directory of backups.
    pub fn backups(&self) -> PathBuf {
        self.state().join("backups")
    }

    /// The directory of copies made before migrations.
    pub fn before_migration(&self) -> PathBuf {
        self.state().join("before-migration")
    }

    /// The watched directory of `accepted_mark`.
    pub fn marks(&self) -> PathBuf {
        self.state().join("marks")
    }

    /// The file that changes when the user accepts something.
    pub fn accepted_mark(&self) -> PathBuf {
        self.marks().join("accepted")
    }

    /// The control socket of the running daemon.
    pub fn socket(&self) -> PathBuf {
        self.state().join("control.sock")
    }
}
