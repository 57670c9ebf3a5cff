//! Where things are in a data directory.

use std::path::{Path, PathBuf};

/// A data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths(PathBuf);

impl Paths {
    /// The data directory at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// What only the program writes.
    pub fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The log.
    pub fn database(&self) -> PathBuf {
        self.state().join("journal.db")
    }

    /// Copies of the log.
    pub fn backups(&self) -> PathBuf {
        self.state().join("backups")
    }

    /// Journals as they were before their format changed.
    pub fn before_migration(&self) -> PathBuf {
        self.state().join("before-migration")
    }

    /// The folder that is watched for the file that changes when the user accepts something.
    pub fn marks(&self) -> PathBuf {
        self.state().join("marks")
    }

    /// The file that changes when the user accepts something.
    pub fn accepted_mark(&self) -> PathBuf {
        self.marks().join("accepted")
    }

    /// Where the running assistant listens to our own commands.
    pub fn socket(&self) -> PathBuf {
        self.state().join("control.sock")
    }
}
