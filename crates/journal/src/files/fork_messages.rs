//! The file `fork_messages.json`: maps Discord messages to the runs that sent them, so that a reply
//! finds its run.
//!
//! The journal contains the same and more. The file has exactly the four keys that other programs
//! read and write.

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::sent::{Origin, SentId, is_old};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{self, StateFile, json};
use super::{Found, Trouble};
use crate::acceptance::hash_of;
use crate::disk::Disk;

/// Content of the file, read without changing it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The messages, including those older than seven days, and the hash of the text.
    Messages(Vec<Origin>, String),
    /// Not a list of records; with the hash of the text.
    Unreadable(String),
}

impl Reading {
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
    pub fn load(&self, now: Timestamp) -> Result<Found<Vec<Origin>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let records = value.unwrap_or_default();
        if damage.is_some() && !records.is_empty() {
            self.write(&records)?;
        }
        let origins = records.iter().filter_map(Record::origin);
        Ok(Found { value: origins.filter(|origin| !is_old(origin.at, now)).collect(), damage })
    }

    /// Reads the file without changing it. A missing or blank file contains no messages.
    pub fn reading(&self) -> Result<Reading, Trouble> {
        let Some(text) = self.file.text()? else { return Ok(Reading::Messages(Vec::new(), hash_of(""))) };
        Ok(match read(&text) {
            Ok(state::Reading::Whole(records)) => {
                Reading::Messages(records.iter().filter_map(Record::origin).collect(), hash_of(&text))
            }
            Ok(state::Reading::Partly(..)) | Err(_) => Reading::Unreadable(hash_of(&text)),
        })
    }

    /// Replaces the records by `origins`, which have Discord ids. Does not create an empty file.
    /// Returns the hash of the new text.
    pub fn replace(&self, origins: &[Origin]) -> Result<String, Trouble> {
        // Written even if nothing changed, because an earlier write may not be durable.
        if origins.is_empty() && self.file.text()?.is_none() {
            return Ok(hash_of(""));
        }
        self.write(&origins.iter().map(Record::of).collect::<Vec<_>>())
    }

    fn write(&self, records: &[Record]) -> Result<String, Trouble> {
        let text =
            serde_json::to_string(records).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(text.as_bytes())?;
        Ok(hash_of(&text))
    }
}

/// One message in the file.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    message_id: u64,
    fork_session_id: String,
    parent_session_id: Option<String>,
    ts: f64,
}

impl Record {
    fn of(origin: &Origin) -> Self {
        Self {
            message_id: origin.id.0,
            fork_session_id: origin.session.to_string(),
            parent_session_id: origin.parent.as_ref().map(SessionId::to_string),
            ts: seconds(origin.at),
        }
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin {
            id: i64::try_from(self.message_id).ok().map(|_| SentId(self.message_id))?,
            session: SessionId::read(&self.fork_session_id)?,
            parent: self.parent_session_id.as_deref().and_then(SessionId::read),
            at: instant(self.ts)?,
            end: None,
        })
    }
}

fn read(text: &str) -> Result<state::Reading<Vec<Record>>, String> {
    let values: Vec<serde_json::Value> = json(text)?;
    let record = |value| Record::deserialize(value).ok().filter(|record| record.origin().is_some());
    let records: Vec<Record> = values.iter().filter_map(record).collect();
    match values.len() - records.len() {
        0 => Ok(state::Reading::Whole(records)),
        lost if records.is_empty() => Err(format!("none of its {lost} records can be read")),
        lost => Ok(state::Reading::Partly(
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
pub(super) fn instant(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok()
}
