//! The manifest of an archive: its files and the excluded ones.

use serde::{Deserialize, Serialize};

use super::selection::ExclusionReason;

/// The archive format that this version writes.
pub const ARCHIVE_FORMAT: u32 = 1;

/// Content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// A description for readers of the archive.
    pub about: String,
    pub format: u32,
    /// The program that wrote the archive, with its version.
    pub program: String,
    /// The time of the export.
    pub made: String,
    /// The format of the database in it.
    pub journal_format: Option<i64>,
    /// All files in the archive.
    pub inside: Vec<ArchivedFile>,
    /// The files of the data directory that are not in the archive.
    pub left_out: Vec<ExcludedFile>,
}

impl Manifest {
    /// The total size of the files.
    pub fn bytes(&self) -> u64 {
        self.inside.iter().map(|file| file.bytes).sum()
    }

    /// The files that were excluded because they are secret.
    pub fn excluded_secrets(&self) -> impl Iterator<Item = &ExcludedFile> {
        self.left_out.iter().filter(|left| left.why == ExclusionReason::Secret)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedFile {
    /// Its path in the data directory.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedFile {
    /// Its path in the data directory, or a description.
    pub path: String,
    pub why: ExclusionReason,
}
