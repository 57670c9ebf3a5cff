//! What forks left for main to read once: `pending_updates.json`.
//!
//! There is no limit on how many wait; how many are quoted is decided where they are read out. Changing the file
//! is reading, changing and replacing it: one owner does that, and `&mut self` says so.

use std::path::Path;
use std::sync::Arc;

use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::state::{Reading, StateFile, json};
use super::{Damage, Found, Trouble};
use crate::disk::Disk;

/// One update.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingUpdate {
    /// When it was left.
    pub at: Moment,
    /// What it says.
    pub message: String,
    extra: serde_json::Map<String, serde_json::Value>,
}

impl PendingUpdate {
    /// An update left at `at`.
    pub fn new(at: Moment, message: String) -> Self {
        Self { at, message, extra: serde_json::Map::new() }
    }

    /// The same update with an id, by which it is known again after a crash.
    pub fn with_id(mut self, id: &str) -> Self {
        self.extra.insert("id".to_owned(), id.into());
        self
    }

    /// Its id, if it was given one.
    pub fn id(&self) -> Option<&str> {
        self.extra.get("id")?.as_str()
    }
}

/// The file `pending_updates.json`.
#[derive(Clone)]
pub struct PendingUpdates {
    file: StateFile,
}

impl PendingUpdates {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("pending_updates.json")) }
    }

    /// All that wait, oldest first.
    pub fn peek(&self, now: Timestamp) -> Result<Found<Vec<PendingUpdate>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let updates = value.unwrap_or_default();
        if damage.is_some() && !updates.is_empty() {
            self.write(&updates)?;
        }
        Ok(Found { value: updates, damage })
    }

    /// All that wait and can be read, without a change to the file.
    pub fn glance(&self) -> Result<Vec<PendingUpdate>, String> {
        self.file.glance(read).map(Option::unwrap_or_default)
    }

    /// Adds one, unless the very same one already waits: a crash may make us add it again.
    pub fn append(&mut self, update: PendingUpdate, now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: mut updates, damage } = self.peek(now)?;
        if !updates.contains(&update) {
            updates.push(update);
        }
        self.write(&updates)?;
        Ok(damage)
    }

    /// Takes all that wait. Afterwards none do.
    pub fn take(&mut self, now: Timestamp) -> Result<Found<Vec<PendingUpdate>>, Trouble> {
        let found = self.peek(now)?;
        if let Err(trouble) = self.file.remove() {
            // It may be gone all the same, and then nobody would have them.
            let _ = self.write(&found.value);
            return Err(trouble);
        }
        Ok(found)
    }

    /// Removes those that `taken` lists and keeps those that came since.
    pub fn forget(&mut self, taken: &[PendingUpdate], now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: mut updates, damage } = self.peek(now)?;
        updates.retain(|update| !taken.contains(update));
        match updates.is_empty() {
            true => self.file.remove().map(|_| ())?,
            false => self.write(&updates)?,
        }
        Ok(damage)
    }

    /// Puts back what was taken in vain, before those that came since.
    pub fn put_back(&mut self, taken: &[PendingUpdate], now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: since, damage } = self.peek(now)?;
        let since = since.into_iter().filter(|update| !taken.contains(update));
        let updates: Vec<PendingUpdate> = taken.iter().cloned().chain(since).collect();
        if !updates.is_empty() {
            self.write(&updates)?;
        }
        Ok(damage)
    }

    /// Lets these wait, and no others.
    pub fn replace(&mut self, updates: &[PendingUpdate]) -> Result<(), Trouble> {
        match updates.is_empty() {
            true => self.clear(),
            false => self.write(updates),
        }
    }

    /// Removes all.
    pub fn clear(&mut self) -> Result<(), Trouble> {
        self.file.remove().map(|_| ())
    }

    fn write(&self, updates: &[PendingUpdate]) -> Result<(), Trouble> {
        let kept: Vec<Kept> = updates.iter().map(Kept::of).collect();
        let text = serde_json::to_vec(&kept).map_err(|error| Trouble::refused(self.file.path(), error))?;
        self.file.save(&text)
    }
}

/// An update as the file spells it.
#[derive(Serialize, Deserialize)]
struct Kept {
    ts: String,
    message: String,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Kept {
    fn of(update: &PendingUpdate) -> Self {
        let PendingUpdate { at, message, extra } = update;
        Self { ts: at.to_micros(), message: message.clone(), extra: extra.clone() }
    }

    fn read(value: &serde_json::Value) -> Option<PendingUpdate> {
        let Self { ts, message, extra } = Self::deserialize(value).ok()?;
        let at = Moment::parse(&ts, &TimeZone::UTC).ok()?;
        Some(PendingUpdate { at, message, extra })
    }
}

fn read(text: &str) -> Result<Reading<Vec<PendingUpdate>>, String> {
    let values: Vec<serde_json::Value> = json(text)?;
    let updates: Vec<PendingUpdate> = values.iter().filter_map(Kept::read).collect();
    match values.len() - updates.len() {
        0 => Ok(Reading::Whole(updates)),
        lost if updates.is_empty() => Err(format!("none of its {lost} updates can be read")),
        lost => {
            Ok(Reading::Partly(updates, format!("{lost} of its {} updates cannot be read", values.len())))
        }
    }
}
