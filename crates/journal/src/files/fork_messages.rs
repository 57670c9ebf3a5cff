//! The file `fork_messages.json`: maps Discord messages to the runs that sent them, so that a reply
//! finds its run.
//!
//! The journal contains the same and more. The file has exactly the four keys that other programs
//! read and write.

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::sent_messages::{MessageOrigin, SentId, is_old};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state_file::{self, StateFile, parse_json};
use super::{FileContent, FileError};
use crate::acceptance::hash_of;
use crate::disk::Disk;

/// Content of the file, read without changing it.
#[derive(Clone, Debug, PartialEq)]
pub enum ForkMessagesContent {
    /// The messages, including those older than seven days, and the hash of the text.
    Messages(Vec<MessageOrigin>, String),
    /// Not a list of records; with the hash of the text.
    Unreadable(String),
}

impl ForkMessagesContent {
    /// The hash of the file's text.
    pub fn hash(&self) -> &str {
        let (Self::Messages(_, hash) | Self::Unreadable(hash)) = self;
        hash
    }
}

#[derive(Clone)]
pub struct ForkMessages {
    file: StateFile,
}

impl ForkMessages {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("fork_messages.json")) }
    }

    /// Loads the records of the last seven days.
    pub fn load(&self, now: Timestamp) -> Result<FileContent<Vec<MessageOrigin>>, FileError> {
        let FileContent { value, damage } = self.file.load(now, parse_records)?;
        let records = value.unwrap_or_default();
        if damage.is_some() && !records.is_empty() {
            self.write(&records)?;
        }
        let origins = records.iter().filter_map(ForkMessageRecord::origin);
        Ok(FileContent { value: origins.filter(|origin| !is_old(origin.at, now)).collect(), damage })
    }

    /// Reads the file without changing it. A missing or blank file contains no messages.
    pub fn read_content(&self) -> Result<ForkMessagesContent, FileError> {
        let Some(text) = self.file.text()? else {
            return Ok(ForkMessagesContent::Messages(Vec::new(), hash_of("")));
        };
        Ok(match parse_records(&text) {
            Ok(state_file::ParsedText::Complete(records)) => ForkMessagesContent::Messages(
                records.iter().filter_map(ForkMessageRecord::origin).collect(),
                hash_of(&text),
            ),
            Ok(state_file::ParsedText::Partial(..)) | Err(_) => {
                ForkMessagesContent::Unreadable(hash_of(&text))
            }
        })
    }

    /// Replaces the records by `origins`, which have Discord ids. Does not create an empty file.
    /// Returns the hash of the new text.
    pub fn replace(&self, origins: &[MessageOrigin]) -> Result<String, FileError> {
        // Written even if nothing changed, because an earlier write may not be durable.
        if origins.is_empty() && self.file.text()?.is_none() {
            return Ok(hash_of(""));
        }
        self.write(&origins.iter().map(ForkMessageRecord::from_origin).collect::<Vec<_>>())
    }

    fn write(&self, records: &[ForkMessageRecord]) -> Result<String, FileError> {
        let text =
            serde_json::to_string(records).map_err(|error| FileError::refused(self.file.path(), error))?;
        self.file.save(text.as_bytes())?;
        Ok(hash_of(&text))
    }
}

/// One message in the file.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct ForkMessageRecord {
    message_id: u64,
    fork_session_id: String,
    parent_session_id: Option<String>,
    ts: f64,
}

impl ForkMessageRecord {
    fn from_origin(origin: &MessageOrigin) -> Self {
        Self {
            message_id: origin.id.0,
            fork_session_id: origin.session.to_string(),
            parent_session_id: origin.parent.as_ref().map(SessionId::to_string),
            ts: seconds(origin.at),
        }
    }

    fn origin(&self) -> Option<MessageOrigin> {
        Some(MessageOrigin {
            id: i64::try_from(self.message_id).ok().map(|_| SentId(self.message_id))?,
            session: SessionId::parse(&self.fork_session_id)?,
            parent: self.parent_session_id.as_deref().and_then(SessionId::parse),
            at: from_seconds(self.ts)?,
            end: None,
        })
    }
}

fn parse_records(text: &str) -> Result<state_file::ParsedText<Vec<ForkMessageRecord>>, String> {
    let values: Vec<serde_json::Value> = parse_json(text)?;
    let record =
        |value| ForkMessageRecord::deserialize(value).ok().filter(|record| record.origin().is_some());
    let records: Vec<ForkMessageRecord> = values.iter().filter_map(record).collect();
    match values.len() - records.len() {
        0 => Ok(state_file::ParsedText::Complete(records)),
        lost if records.is_empty() => Err(format!("none of its {lost} records can be read")),
        lost => Ok(state_file::ParsedText::Partial(
            records,
            format!("{lost} of its {} records cannot be read", values.len()),
        )),
    }
}

/// Seconds since 1970, with microseconds.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1e6
}

/// The time of `seconds` since 1970, if it is in range.
pub(super) fn from_seconds(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok()
}
