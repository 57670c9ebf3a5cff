//! Updates that forks left for main: `pending_updates.json`.
//!
//! The number of updates is unlimited; how many are quoted is decided when they are read. A change
//! reads and replaces the file, so it needs a single owner, hence `&mut self`.

use std::path::Path;
use std::sync::Arc;

use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::state::{StateFile, json};
use super::{Damage, Found, Trouble, state};
use crate::acceptance::hash_of;
use crate::disk::Disk;

#[derive(Clone, Debug, PartialEq)]
pub struct PendingUpdate {
    pub at: Moment,
    pub message: String,
}

impl PendingUpdate {
    pub fn new(at: Moment, message: String) -> Self {
        Self { at, message }
    }
}

/// Content of the file, read without changing it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The updates and the hash of the text.
    Updates(Vec<PendingUpdate>, String),
    /// Not a list of updates; with the hash of the text.
    Unreadable(String),
}

impl Reading {
    /// The hash of the file's text.
    pub fn hash(&self) -> &str {
        let (Self::Updates(_, hash) | Self::Unreadable(hash)) = self;
        hash
    }
}

#[derive(Clone)]
pub struct PendingUpdates {
    file: StateFile,
}

impl PendingUpdates {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("pending_updates.json")) }
    }

    /// Loads all updates, oldest first.
    pub fn peek(&self, now: Timestamp) -> Result<Found<Vec<PendingUpdate>>, Trouble> {
        let Found { value, damage } = self.file.load(now, read)?;
        let updates = value.unwrap_or_default();
        if damage.is_some() && !updates.is_empty() {
            self.write(&updates).map(drop)?;
        }
        Ok(Found { value: updates, damage })
    }

    /// Reads the file without changing it. A missing or blank file contains no updates.
    pub fn reading(&self) -> Result<Reading, Trouble> {
        let Some(text) = self.file.text()? else { return Ok(Reading::Updates(Vec::new(), hash_of(""))) };
        Ok(match read(&text) {
            Ok(state::Reading::Whole(updates)) => Reading::Updates(updates, hash_of(&text)),
            Ok(state::Reading::Partly(..)) | Err(_) => Reading::Unreadable(hash_of(&text)),
        })
    }

    /// The readable updates, without changing the file.
    pub fn glance(&self) -> Result<Vec<PendingUpdate>, String> {
        self.file.glance(read).map(Option::unwrap_or_default)
    }

    /// Appends an update unless an identical one is pending, as after a crash.
    pub fn append(&mut self, update: PendingUpdate, now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: mut updates, damage } = self.peek(now)?;
        if !updates.contains(&update) {
            updates.push(update);
        }
        self.write(&updates).map(drop)?;
        Ok(damage)
    }

    /// Removes and returns all updates.
    pub fn take(&mut self, now: Timestamp) -> Result<Found<Vec<PendingUpdate>>, Trouble> {
        let found = self.peek(now)?;
        if let Err(trouble) = self.file.remove() {
            // The file may be gone despite the error, so it is written again.
            let _ = self.write(&found.value);
            return Err(trouble);
        }
        Ok(found)
    }

    /// Removes the updates in `taken` and keeps newer ones.
    pub fn forget(&mut self, taken: &[PendingUpdate], now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: mut updates, damage } = self.peek(now)?;
        updates.retain(|update| !taken.contains(update));
        if updates.is_empty() {
            self.file.remove().map(|_| ())?
        } else {
            self.write(&updates).map(drop)?
        }
        Ok(damage)
    }

    /// Restores the updates in `taken` before newer ones.
    pub fn put_back(&mut self, taken: &[PendingUpdate], now: Timestamp) -> Result<Option<Damage>, Trouble> {
        let Found { value: since, damage } = self.peek(now)?;
        let since = since.into_iter().filter(|update| !taken.contains(update));
        let updates: Vec<PendingUpdate> = taken.iter().cloned().chain(since).collect();
        if !updates.is_empty() {
            self.write(&updates).map(drop)?;
        }
        Ok(damage)
    }

    /// Replaces all updates if the file's text has the hash `expected`; removes the file if
    /// `updates` is empty. Returns the hash of the new text, or `None` if another program changed
    /// the file meanwhile.
    pub fn replace(&mut self, updates: &[PendingUpdate], expected: &str) -> Result<Option<String>, Trouble> {
        let is_expected = || self.reading().is_ok_and(|reading| reading.hash() == expected);
        if !updates.is_empty() {
            return self.write_if(updates, is_expected);
        }
        if !is_expected() {
            return Ok(None);
        }
        self.clear()?;
        Ok(Some(hash_of("")))
    }

    pub fn clear(&mut self) -> Result<(), Trouble> {
        self.file.remove().map(|_| ())
    }

    fn write(&self, updates: &[PendingUpdate]) -> Result<String, Trouble> {
        Ok(self.write_if(updates, || true)?.unwrap_or_default())
    }

    fn write_if(
        &self,
        updates: &[PendingUpdate],
        is_expected: impl FnOnce() -> bool,
    ) -> Result<Option<String>, Trouble> {
        let kept: Vec<Kept> = updates.iter().map(Kept::of).collect();
        let text = serde_json::to_string(&kept).map_err(|error| Trouble::refused(self.file.path(), error))?;
        let written = self.file.save_if(text.as_bytes(), is_expected)?;
        Ok(written.then(|| hash_of(&text)))
    }
}

/// An update in the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    ts: String,
    message: String,
}

impl Kept {
    fn of(update: &PendingUpdate) -> Self {
        Self { ts: update.at.to_micros(), message: update.message.clone() }
    }

    fn read(value: &serde_json::Value) -> Option<PendingUpdate> {
        let Self { ts, message } = Self::deserialize(value).ok()?;
        let at = Moment::parse(&ts, &TimeZone::UTC).ok()?;
        Some(PendingUpdate { at, message })
    }
}

fn read(text: &str) -> Result<state::Reading<Vec<PendingUpdate>>, String> {
    let values: Vec<serde_json::Value> = json(text)?;
    let updates: Vec<PendingUpdate> = values.iter().filter_map(Kept::read).collect();
    match values.len() - updates.len() {
        0 => Ok(state::Reading::Whole(updates)),
        lost if updates.is_empty() => Err(format!("none of its {lost} updates can be read")),
        lost => Ok(state::Reading::Partly(
            updates,
            format!("{lost} of its {} updates cannot be read", values.len()),
        )),
    }
}
