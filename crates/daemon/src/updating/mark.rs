//! The mark: how far an update came, for whoever starts after it was cut short.

use std::path::{Path, PathBuf};

use journal::disk::{Disk, remove, replace};
use serde::{Deserialize, Serialize};

use super::beside;

/// How far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Mark {
    /// The source goes on from this commit; the program is still the one of that commit.
    Pulling {
        /// The commit.
        from: String,
    },
    /// A new program is in its place and has not yet gone on for a minute.
    Unproven(Unproven),
    /// The one before is being put back. Whoever finds this does it to the end.
    GoingBack(GoingBack),
    /// The new one did not start, and the one before is back.
    WentBack {
        /// Why.
        why: String,
        /// Where the journal is that only the new one can read, if there is one.
        #[serde(default)]
        aside: Option<PathBuf>,
        /// The commit of the one that is back.
        #[serde(default)]
        from: Option<String>,
    },
    /// That was told. The source stands at a version that did not start; the program is the one of this commit.
    Refused {
        /// The commit.
        from: String,
    },
    /// The new one did not start, and stays: there is nothing that the one before could go on from.
    Stayed {
        /// Why.
        why: String,
        /// Where the journal is that was already taken back, if it was.
        #[serde(default)]
        aside: Option<PathBuf>,
    },
}

/// A new program that owes its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproven {
    /// The commit of the one before.
    pub from: String,
    /// What is new.
    pub commits: Vec<String>,
    /// The file that was replaced.
    pub program: PathBuf,
    /// How often the new one was started.
    pub starts: u32,
    /// The newest format of the journal that the one before reads.
    pub journal: Option<i64>,
    /// When it took its place, in seconds. What was kept before that is no journal of the one before.
    #[serde(default)]
    pub at: Option<i64>,
}

/// A new program that gives its place back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoingBack {
    /// Why.
    pub why: String,
    /// Where the journal will be that only the new one can read, if there is one.
    pub aside: Option<PathBuf>,
    /// What it owed.
    pub unproven: Unproven,
}

impl Mark {
    /// The commit of the program that is there, if the source stands at another one.
    pub fn stands_at(&self) -> Option<&str> {
        match self {
            Self::Pulling { from } | Self::Refused { from } => Some(from),
            Self::WentBack { from, .. } => from.as_deref(),
            Self::Unproven(_) | Self::GoingBack(_) | Self::Stayed { .. } => None,
        }
    }

    /// Whether the version at which the source stands did not start.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::WentBack { .. } | Self::Refused { .. })
    }
}

/// The mark in the directory `state`; one that cannot be read is none. If the new program still lies beside the old one,
/// whoever left the mark ended before it took its place.
pub fn read(disk: &dyn Disk, state: &Path) -> Option<Mark> {
    let mark = serde_json::from_slice(&disk.read(&path(state)).ok()?).ok()?;
    if let Mark::Unproven(Unproven { from, program, .. }) = &mark
        && matches!(disk.look(&laid(program)), Ok(Some(_)))
    {
        return Some(Mark::Pulling { from: from.clone() });
    }
    Some(mark)
}

/// Where a new program lies until it takes the place of `program`.
pub fn laid(program: &Path) -> PathBuf {
    beside(program, ".new")
}

/// Leaves `mark`.
pub fn write(disk: &dyn Disk, state: &Path, mark: &Mark) -> std::io::Result<()> {
    let text = serde_json::to_vec(mark).map_err(std::io::Error::other)?;
    replace(disk, &path(state), &text)
}

/// Takes it away.
pub fn clear(disk: &dyn Disk, state: &Path) {
    if let Err(error) = remove(disk, &path(state)) {
        tracing::warn!(%error, "The mark of an update stays.");
    }
}

fn path(state: &Path) -> PathBuf {
    state.join("update.json")
}
