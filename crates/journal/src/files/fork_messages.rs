//! Which fork sent which message, so that a reply finds its way back: `fork_messages.json`.

use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{Reading, StateFile, json};
use super::{Damage, Found, Trouble};
use crate::disk::Disk;

/// How long a reply finds its fork, in seconds: seven days.
pub(super) const KEPT_SECONDS: f64 = 7.0 * 24.0 * 3600.0;

/// Where a message came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A fork, with the session to go on with.
    Live(SessionId),
    /// A fork that is too long ago.
    Expired,
    /// Nobody we know of.
    Unknown,
}

/// What a fork sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The numbers of the messages.
    pub messages: Vec<u64>,
    /// The fork's session.
    pub fork: SessionId,
    /// The session it was forked from, if it was.
    pub parent: Option<SessionId>,
}

/// The file `fork_messages.json`.
#[derive(Clone)]
pub struct ForkMessages {
    file: StateFile,
}

impl ForkMessages {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("fork_messages.json")) }
    }

    /// Remembers what a fork sent, and drops what is older than seven days.
    pub fn remember(&mut self, sent: &Sent, now: Timestamp) -> Result<Option<Damage>, Trouble> {
        if sent.messages.is_empty() {
            return Ok(None);
        }
        let Found { value, damage } = self.records(now)?;
        let ts = seconds(now);
        let mut records: Vec<Record> = value.into_iter().filter(|record| record.is_live(now)).collect();
        records.retain(|record| !sent.messages.contains(&record.message_id));
        records.extend(sent.messages.iter().map(|message| Record::of(*message, sent, ts)));
        self.write(&records)?;
        Ok(damage)
    }

    /// Where a message came from.
    pub fn origin(&self, message: u64, now: Timestamp) -> Result<Found<Origin>, Trouble> {
        let Found { value: records, damage } = self.records(now)?;
        let record = records.iter().rev().find(|record| record.message_id == message);
        let value = match record.map(|record| (record.is_live(now), SessionId::read(&record.fork_session_id)))
        {
            Some((true, Some(session))) => Origin::Live(session),
            Some((false, _)) => Origin::Expired,
            Some((true, None)) | None => Origin::Unknown,
        };
        Ok(Found { value, damage })
    }

    fn records(&self, now: Timestamp) -> Result<Found<Vec<Record>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let records = value.unwrap_or_default();
        if damage.is_some() && !records.is_empty() {
            self.write(&records)?;
        }
        Ok(Found { value: records, damage })
    }

    fn write(&self, records: &[Record]) -> Result<(), Trouble> {
        let text = serde_json::to_vec(records).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

/// One message as the file spells it.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    message_id: u64,
    fork_session_id: String,
    parent_session_id: Option<String>,
    ts: f64,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Record {
    fn of(message: u64, sent: &Sent, ts: f64) -> Self {
        Self {
            message_id: message,
            fork_session_id: sent.fork.to_string(),
            parent_session_id: sent.parent.as_ref().map(SessionId::to_string),
            ts,
            extra: serde_json::Map::new(),
        }
    }

    fn is_live(&self, now: Timestamp) -> bool {
        self.ts > seconds(now) - KEPT_SECONDS
    }
}

fn read(text: &str) -> Result<Reading<Vec<Record>>, String> {
    let values: Vec<serde_json::Value> = json(text)?;
    let records: Vec<Record> = values.iter().filter_map(|value| Record::deserialize(value).ok()).collect();
    match values.len() - records.len() {
        0 => Ok(Reading::Whole(records)),
        lost if records.is_empty() => Err(format!("none of its {lost} records can be read")),
        lost => {
            Ok(Reading::Partly(records, format!("{lost} of its {} records cannot be read", values.len())))
        }
    }
}

/// An instant as seconds since 1970, to the microsecond.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1e6
}
