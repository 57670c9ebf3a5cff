//! Reads transcripts of the Claude Code program, which contain one JSON line per event, as journal
//! entries.
//!
//! The lines form a tree, linked by `uuid` and `parentUuid`. The conversation is the path from the
//! newest message back to the first, without side chains (subagents). The file is untrusted: sizes
//! are bounded, unknown or broken lines are skipped, and links only lead backwards.

mod builder;
mod parser;

use std::path::{Path, PathBuf};

use domain::conversation::{EntryContent, SessionId};
use jiff::Timestamp;

use crate::disk::{Disk, FileKind};
use builder::build_entries;
use parser::LineParser;

/// The maximum size of a transcript in bytes.
const MAX_SIZE: u64 = 1 << 30;

/// Bytes read at a time.
const CHUNK_SIZE: usize = 1 << 20;

/// The maximum length of a session id.
const MAX_ID_LENGTH: usize = 80;

/// The most folders that are searched.
const MAX_FOLDERS: usize = 10_000;

/// An entry of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptEntry {
    /// The uuid of its first line.
    pub uuid: String,
    pub at: Option<Timestamp>,
    pub said: EntryContent,
}

/// An error from reading a transcript. The text says where it was searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    #[error("there is no file {session}.jsonl in the folders of {projects}")]
    Missing { session: String, projects: String },
    /// The id cannot be a file name.
    #[error("the id is not the name of a transcript file")]
    BadName,
    /// A disk error, or not a regular file of an acceptable size.
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{path} holds no messages that can be read")]
    Empty { path: String },
}

/// Finds the transcript of `session` in the folders of `projects`. Searches all folders, because
/// each is named after the unknown working directory of the program.
pub fn find(disk: &dyn Disk, projects: &Path, session: &SessionId) -> Result<PathBuf, TranscriptError> {
    let id = session.as_str();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if id.len() > MAX_ID_LENGTH || !id.chars().all(fits) {
        return Err(TranscriptError::BadName);
    }
    let folders = disk.list(projects).unwrap_or_default();
    let folders = folders.iter().filter(|listed| listed.stamp.kind == Some(FileKind::Directory));
    let mut found: Vec<(u64, PathBuf)> = folders
        .take(MAX_FOLDERS)
        .filter_map(|folder| {
            let path = folder.path.join(format!("{id}.jsonl"));
            match disk.file_kind(&path) {
                Ok(Some(FileKind::File(size))) => Some((size, path)),
                Ok(Some(FileKind::Directory | FileKind::Other) | None) | Err(_) => None,
            }
        })
        .collect();
    found.sort();
    // If two folders contain the session, the longer file is the newer one.
    let missing =
        || TranscriptError::Missing { session: id.to_owned(), projects: projects.display().to_string() };
    found.pop().map(|(_, path)| path).ok_or_else(missing)
}

pub fn read(disk: &dyn Disk, path: &Path) -> Result<Vec<TranscriptEntry>, TranscriptError> {
    let unreadable =
        |reason: String| TranscriptError::Unreadable { path: path.display().to_string(), reason };
    let size = match disk.file_kind(path).map_err(|error| unreadable(error.to_string()))? {
        Some(FileKind::File(size)) if size <= MAX_SIZE => size,
        Some(FileKind::File(_)) => {
            return Err(unreadable(format!("it is larger than {} MB", MAX_SIZE >> 20)));
        }
        Some(FileKind::Directory | FileKind::Other) | None => {
            return Err(unreadable("it is not a plain file".to_owned()));
        }
    };
    let mut lines = LineParser::default();
    let mut from = 0;
    while from < size {
        let bytes = disk.read_part(path, from, CHUNK_SIZE).map_err(|error| unreadable(error.to_string()))?;
        if bytes.is_empty() {
            break;
        }
        from += bytes.len() as u64;
        lines.feed(&bytes);
    }
    let items = build_entries(lines.finish());
    if items.is_empty() {
        return Err(TranscriptError::Empty { path: path.display().to_string() });
    }
    Ok(items)
}
