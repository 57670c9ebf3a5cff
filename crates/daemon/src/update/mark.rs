//! The persistent state of an update, for a start after an interruption.

use std::path::{Path, PathBuf};

use journal::disk::{Disk, remove, replace};
use serde::{Deserialize, Serialize};

use super::with_suffix;

/// The state of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum UpdateMark {
    /// The source is being updated from this commit; the program is still that of the commit.
    Pulling { from: String },
    /// A new program is installed and has not yet run for a minute.
    Unproven(UnprovenUpdate),
    /// The previous program is being restored; the next start completes that.
    GoingBack(PendingRollback),
    /// The new program failed to start, and the previous one is back.
    WentBack {
        why: String,
        /// The path of the journal that only the new program can read, if there is one.
        #[serde(default)]
        aside: Option<PathBuf>,
        /// The commit of the restored program.
        #[serde(default)]
        from: Option<String>,
    },
    /// The rollback was reported. The source is at a version that failed to start; the program is
    /// that of this commit.
    Refused { from: String },
    /// The new program failed to start and stays, because the previous one has no journal to
    /// continue with.
    Stayed {
        why: String,
        /// The path of the newer journal, if it was already replaced.
        #[serde(default)]
        aside: Option<PathBuf>,
    },
}

/// A new program on probation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnprovenUpdate {
    /// The commit of the previous program.
    pub from: String,
    /// The new commits.
    pub commits: Vec<String>,
    /// The file that was replaced.
    pub program: PathBuf,
    /// The number of starts of the new program.
    pub starts: u32,
    /// The newest journal format that the previous program can read.
    pub journal: Option<i64>,
    /// The time of installation, in seconds. Journal copies from before that are too old for a
    /// rollback.
    #[serde(default)]
    pub at: Option<i64>,
}

/// A rollback in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRollback {
    /// The reason.
    pub why: String,
    /// The path for the journal that only the new program can read, if there is one.
    pub aside: Option<PathBuf>,
    /// The update that is rolled back.
    pub unproven: UnprovenUpdate,
}

impl UpdateMark {
    /// Returns the commit of the installed program, if the source is at another one.
    pub fn program_commit(&self) -> Option<&str> {
        match self {
            Self::Pulling { from } | Self::Refused { from } => Some(from),
            Self::WentBack { from, .. } => from.as_deref(),
            Self::Unproven(_) | Self::GoingBack(_) | Self::Stayed { .. } => None,
        }
    }

    /// Returns whether the version of the source failed to start.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::WentBack { .. } | Self::Refused { .. })
    }
}

/// Reads the mark in `state`; an unreadable one counts as missing. If the new program is still next
/// to the old one, the update was interrupted before the replacement.
pub fn read(disk: &dyn Disk, state: &Path) -> Option<UpdateMark> {
    let mark = serde_json::from_slice(&disk.read(&path(state)).ok()?).ok()?;
    if let UpdateMark::Unproven(UnprovenUpdate { from, program, .. }) = &mark
        && matches!(disk.file_kind(&new_program_path(program)), Ok(Some(_)))
    {
        return Some(UpdateMark::Pulling { from: from.clone() });
    }
    Some(mark)
}

/// Returns the path of a new program before it replaces `program`.
pub fn new_program_path(program: &Path) -> PathBuf {
    with_suffix(program, ".new")
}

pub fn write(disk: &dyn Disk, state: &Path, mark: &UpdateMark) -> std::io::Result<()> {
    let text = serde_json::to_vec(mark).map_err(std::io::Error::other)?;
    replace(disk, &path(state), &text)
}

pub fn clear(disk: &dyn Disk, state: &Path) {
    if let Err(error) = remove(disk, &path(state)) {
        tracing::warn!(%error, "The mark of an update stays.");
    }
}

fn path(state: &Path) -> PathBuf {
    state.join("update.json")
}
