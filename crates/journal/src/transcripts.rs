//! Reads transcripts of the Claude Code program, which contain one JSON line per event, as journal
//! entries.
//!
//! The lines form a tree, linked by `uuid` and `parentUuid`. The conversation is the path from the
//! newest message back to the first, without side chains (subagents). The file is untrusted: sizes
//! are bounded, unknown or broken lines are skipped, and links only lead backwards.

mod building;
mod parsing;

use std::path::{Path, PathBuf};

use domain::conversation::{Said, SessionId};
use jiff::Timestamp;

use crate::disk::{Disk, Seen};
use building::items;
use parsing::Lines;

/// The maximum size of a transcript in bytes.
const LARGEST: u64 = 1 << 30;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// The maximum length of a session id.
const LONGEST_ID: usize = 80;

/// The most folders that are searched.
const FOLDERS: usize = 10_000;

/// An entry of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The uuid of its first line.
    pub uuid: String,
    pub at: Option<Timestamp>,
    pub said: Said,
}

/// An error from reading a transcript. The text says where it was searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
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
pub fn find(disk: &dyn Disk, projects: &Path, session: &SessionId) -> Result<PathBuf, NotRead> {
    let id = session.as_str();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if id.len() > LONGEST_ID || !id.chars().all(fits) {
        return Err(NotRead::BadName);
    }
    let folders = disk.list(projects).unwrap_or_default();
    let folders = folders.iter().filter(|listed| listed.stamp.seen == Some(Seen::Directory));
    let mut found: Vec<(u64, PathBuf)> = folders
        .take(FOLDERS)
        .filter_map(|folder| {
            let path = folder.path.join(format!("{id}.jsonl"));
            match disk.look(&path) {
                Ok(Some(Seen::File(size))) => Some((size, path)),
                Ok(Some(Seen::Directory | Seen::Strange) | None) | Err(_) => None,
            }
        })
        .collect();
    found.sort();
    // If two folders contain the session, the longer file is the newer one.
    let missing = || NotRead::Missing { session: id.to_owned(), projects: projects.display().to_string() };
    found.pop().map(|(_, path)| path).ok_or_else(missing)
}

pub fn read(disk: &dyn Disk, path: &Path) -> Result<Vec<Item>, NotRead> {
    let unreadable = |reason: String| NotRead::Unreadable { path: path.display().to_string(), reason };
    let size = match disk.look(path).map_err(|error| unreadable(error.to_string()))? {
        Some(Seen::File(size)) if size <= LARGEST => size,
        Some(Seen::File(_)) => return Err(unreadable(format!("it is larger than {} MB", LARGEST >> 20))),
        Some(Seen::Directory | Seen::Strange) | None => {
            return Err(unreadable("it is not a plain file".to_owned()));
        }
    };
    let mut lines = Lines::default();
    let mut from = 0;
    while from < size {
        let bytes = disk.read_part(path, from, CHUNK).map_err(|error| unreadable(error.to_string()))?;
        if bytes.is_empty() {
            break;
        }
        from += bytes.len() as u64;
        lines.feed(&bytes);
    }
    let items = items(lines.end());
    if items.is_empty() {
        return Err(NotRead::Empty { path: path.display().to_string() });
    }
    Ok(items)
}
