//! Transcripts of the Claude Code program: one JSON line per event, read into what our journal can hold.
//!
//! The file is a tree of lines linked by `uuid` and `parentUuid`. The conversation is the way from the newest message
//! back to the first. Side chains (subagents) are left out. Everything in the file is treated as untrusted: sizes are
//! bounded, unknown or broken lines are skipped, and links only lead backwards.

mod building;
mod parsing;

use std::path::{Path, PathBuf};

use domain::conversation::{Said, SessionId};
use jiff::Timestamp;

use crate::disk::{Disk, Seen};
use building::items;
use parsing::Lines;

/// The most bytes of a transcript that are read.
const LARGEST: u64 = 1 << 30;

/// How much is read at once.
const CHUNK: usize = 1 << 20;

/// The longest session id that is looked for.
const LONGEST_ID: usize = 80;

/// The most folders that are searched.
const FOLDERS: usize = 10_000;

/// One entry of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The line that it began with.
    pub uuid: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Its content.
    pub said: Said,
}

/// Why a transcript was not read. The text says where it was looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// No such file.
    #[error("there is no file {session}.jsonl in the folders of {projects}")]
    Missing { session: String, projects: String },
    /// It cannot be the name of a file.
    #[error("the id is not the name of a transcript file")]
    BadName,
    /// The disk failed, or the file is not a plain file of a size that we read.
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    /// It holds no message.
    #[error("{path} holds no messages that can be read")]
    Empty { path: String },
}

/// Finds the transcript of `session` in the folders of `projects`. The folder is named after the working directory of the
/// program, which we don't know, so all of them are searched.
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
    // The same session in two folders: the longer file went on.
    let missing = || NotRead::Missing { session: id.to_owned(), projects: projects.display().to_string() };
    found.pop().map(|(_, path)| path).ok_or_else(missing)
}

/// Reads the conversation in the transcript at `path`, oldest entry first.
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
