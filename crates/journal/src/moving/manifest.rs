//! The list of what is in an archive, and of what is not.

use serde::{Deserialize, Serialize};

use super::choosing::Why;

/// The format of archives that this program makes.
pub const FORMAT: u32 = 1;

/// What an archive says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What this is, for whoever finds it.
    pub about: String,
    /// The format of the archive.
    pub format: u32,
    /// The program that made it.
    pub program: String,
    /// When.
    pub made: String,
    /// The format of the journal in it.
    pub journal_format: Option<i64>,
    /// Every file in it.
    pub inside: Vec<Inside>,
    /// What was in the data directory and is not in here.
    pub left_out: Vec<LeftOut>,
}

impl Manifest {
    /// How many bytes the files have.
    pub fn bytes(&self) -> u64 {
        self.inside.iter().map(|file| file.bytes).sum()
    }

    /// What was left out because it is secret.
    pub fn secrets(&self) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter().filter(|left| left.why == Why::Secret)
    }
}

/// One file in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// Its name in the data directory.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// Something that is not in an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name in the data directory, or what it is.
    pub path: String,
    /// Why.
    pub why: Why,
}
