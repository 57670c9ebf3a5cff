//! Which run sent which message, so that a reply finds its way back: `fork_messages.json`.
//!
//! The log knows the same and more; the file is what other programs read and write. It is read once, and then
//! only replaced, with what others put beside our keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::sent::{Origin, SentId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{Reading, StateFile, json};
use super::{Found, Trouble};
use crate::disk::Disk;

/// The file `fork_messages.json`.
#[derive(Clone)]
pub struct ForkMessages {
    file: StateFile,
    /// What the file says, as it was last read or written.
    said: BTreeMap<u64, Record>,
}

impl ForkMessages {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("fork_messages.json")), said: BTreeMap::new() }
    }

    /// All that the file knows. Where a run ended is not in it.
    pub fn load(&mut self, now: Timestamp) -> Result<Found<Vec<Origin>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let records = value.unwrap_or_default();
        self.said = records.into_iter().map(|record| (record.message_id, record)).collect();
        if damage.is_some() && !self.said.is_empty() {
            self.write(&self.said)?;
        }
        Ok(Found { value: self.said.values().filter_map(Record::origin).collect(), damage })
    }

    /// Lets the file say `origins`, and nothing else. A file that need not be there is not made.
    pub fn replace(&mut self, origins: &[Origin]) -> Result<(), Trouble> {
        let record = |origin: &Origin| {
            let said = self.said.get(&origin.id.0).filter(|said| said.is_of(origin)).cloned();
            (origin.id.0, said.unwrap_or_else(|| Record::of(origin)))
        };
        let next: BTreeMap<u64, Record> = origins.iter().map(record).collect();
        if !(next.is_empty() && self.said.is_empty()) {
            self.write(&next)?;
            self.said = next;
        }
        Ok(())
    }

    fn write(&self, records: &BTreeMap<u64, Record>) -> Result<(), Trouble> {
        let records: Vec<&Record> = records.values().collect();
        let text = serde_json::to_vec(&records).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

/// One message as the file spells it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    message_id: u64,
    fork_session_id: String,
    parent_session_id: Option<String>,
    ts: f64,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Record {
    fn of(origin: &Origin) -> Self {
        Self {
            message_id: origin.id.0,
            fork_session_id: origin.session.to_string(),
            parent_session_id: origin.parent.as_ref().map(SessionId::to_string),
            ts: seconds(origin.at),
            extra: serde_json::Map::new(),
        }
    }

    fn is_of(&self, origin: &Origin) -> bool {
        Self { extra: serde_json::Map::new(), ..self.clone() } == Self::of(origin)
    }

    /// What the log can hold of it.
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

fn read(text: &str) -> Result<Reading<Vec<Record>>, String> {
    let values: Vec<serde_json::Value> = json(text)?;
    let record = |value| Record::deserialize(value).ok().filter(|record| record.origin().is_some());
    let records: Vec<Record> = values.iter().filter_map(record).collect();
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

/// The instant that many seconds after 1970: nothing, if there is none.
pub(super) fn instant(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok()
}
