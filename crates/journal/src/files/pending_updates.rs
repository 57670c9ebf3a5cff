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

use super::state_file::{StateFile, parse_json};
use super::{Damage, FileContent, FileError, state_file};
use crate::acceptance::hash_of;
use crate::disk::Disk;

#[derive(Clone, Debug, PartialEq)]
pub struct FileUpdate {
    pub at: Moment,
    pub message: String,
}

impl FileUpdate {
    pub fn new(at: Moment, message: String) -> Self {
        Self { at, message }
    }
}

/// Content of the file, read without changing it.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingUpdatesContent {
    /// The updates and the hash of the text.
    Updates(Vec<FileUpdate>, String),
    /// Not a list of updates; with the hash of the text.
    Unreadable(String),
}

impl PendingUpdatesContent {
    /// The hash of the file's text.
    pub fn hash(&self) -> &str {
        let (Self::Updates(_, hash) | Self::Unreadable(hash)) = self;
        hash
    }
}

#[derive(Clone)]
pub struct PendingUpdatesFile {
    file: StateFile,
}

impl PendingUpdatesFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("pending_updates.json")) }
    }

    /// Loads all updates, oldest first.
    pub fn load(&self, now: Timestamp) -> Result<FileContent<Vec<FileUpdate>>, FileError> {
        let FileContent { value, damage } = self.file.load(now, parse_updates)?;
        let updates = value.unwrap_or_default();
        if damage.is_some() && !updates.is_empty() {
            self.write(&updates).map(drop)?;
        }
        Ok(FileContent { value: updates, damage })
    }

    /// Reads the file without changing it. A missing or blank file contains no updates.
    pub fn read_content(&self) -> Result<PendingUpdatesContent, FileError> {
        let Some(text) = self.file.text()? else {
            return Ok(PendingUpdatesContent::Updates(Vec::new(), hash_of("")));
        };
        Ok(match parse_updates(&text) {
            Ok(state_file::ParsedText::Complete(updates)) => {
                PendingUpdatesContent::Updates(updates, hash_of(&text))
            }
            Ok(state_file::ParsedText::Partial(..)) | Err(_) => {
                PendingUpdatesContent::Unreadable(hash_of(&text))
            }
        })
    }

    /// The readable updates, without changing the file.
    pub fn preview(&self) -> Result<Vec<FileUpdate>, String> {
        self.file.preview(parse_updates).map(Option::unwrap_or_default)
    }

    /// Appends an update unless an identical one is pending, as after a crash.
    pub fn append(&mut self, update: FileUpdate, now: Timestamp) -> Result<Option<Damage>, FileError> {
        let FileContent { value: mut updates, damage } = self.load(now)?;
        if !updates.contains(&update) {
            updates.push(update);
        }
        self.write(&updates).map(drop)?;
        Ok(damage)
    }

    /// Removes and returns all updates.
    pub fn take(&mut self, now: Timestamp) -> Result<FileContent<Vec<FileUpdate>>, FileError> {
        let found = self.load(now)?;
        if let Err(trouble) = self.file.remove() {
            // The file may be gone despite the error, so it is written again.
            let _ = self.write(&found.value);
            return Err(trouble);
        }
        Ok(found)
    }

    /// Removes the updates in `taken` and keeps newer ones.
    pub fn remove_taken(
        &mut self,
        taken: &[FileUpdate],
        now: Timestamp,
    ) -> Result<Option<Damage>, FileError> {
        let FileContent { value: mut updates, damage } = self.load(now)?;
        updates.retain(|update| !taken.contains(update));
        if updates.is_empty() {
            self.file.remove().map(|_| ())?
        } else {
            self.write(&updates).map(drop)?
        }
        Ok(damage)
    }

    /// Restores the updates in `taken` before newer ones.
    pub fn restore(&mut self, taken: &[FileUpdate], now: Timestamp) -> Result<Option<Damage>, FileError> {
        let FileContent { value: since, damage } = self.load(now)?;
        let since = since.into_iter().filter(|update| !taken.contains(update));
        let updates: Vec<FileUpdate> = taken.iter().cloned().chain(since).collect();
        if !updates.is_empty() {
            self.write(&updates).map(drop)?;
        }
        Ok(damage)
    }

    /// Replaces all updates if the file's text has the hash `expected`; removes the file if
    /// `updates` is empty. Returns the hash of the new text, or `None` if another program changed
    /// the file meanwhile.
    pub fn replace(&mut self, updates: &[FileUpdate], expected: &str) -> Result<Option<String>, FileError> {
        let is_expected = || self.read_content().is_ok_and(|reading| reading.hash() == expected);
        if !updates.is_empty() {
            return self.write_if(updates, is_expected);
        }
        if !is_expected() {
            return Ok(None);
        }
        self.clear()?;
        Ok(Some(hash_of("")))
    }

    pub fn clear(&mut self) -> Result<(), FileError> {
        self.file.remove().map(|_| ())
    }

    fn write(&self, updates: &[FileUpdate]) -> Result<String, FileError> {
        Ok(self.write_if(updates, || true)?.unwrap_or_default())
    }

    fn write_if(
        &self,
        updates: &[FileUpdate],
        is_expected: impl FnOnce() -> bool,
    ) -> Result<Option<String>, FileError> {
        let kept: Vec<UpdateRecord> = updates.iter().map(UpdateRecord::from_update).collect();
        let text =
            serde_json::to_string(&kept).map_err(|error| FileError::refused(self.file.path(), error))?;
        let written = self.file.save_if(text.as_bytes(), is_expected)?;
        Ok(written.then(|| hash_of(&text)))
    }
}

/// An update in the file.
#[derive(Serialize, Deserialize)]
struct UpdateRecord {
    ts: String,
    message: String,
}

impl UpdateRecord {
    fn from_update(update: &FileUpdate) -> Self {
        Self { ts: update.at.to_micros(), message: update.message.clone() }
    }

    fn read(value: &serde_json::Value) -> Option<FileUpdate> {
        let Self { ts, message } = Self::deserialize(value).ok()?;
        let at = Moment::parse(&ts, &TimeZone::UTC).ok()?;
        Some(FileUpdate { at, message })
    }
}

fn parse_updates(text: &str) -> Result<state_file::ParsedText<Vec<FileUpdate>>, String> {
    let values: Vec<serde_json::Value> = parse_json(text)?;
    let updates: Vec<FileUpdate> = values.iter().filter_map(UpdateRecord::read).collect();
    match values.len() - updates.len() {
        0 => Ok(state_file::ParsedText::Complete(updates)),
        lost if updates.is_empty() => Err(format!("none of its {lost} updates can be read")),
        lost => Ok(state_file::ParsedText::Partial(
            updates,
            format!("{lost} of its {} updates cannot be read", values.len()),
        )),
    }
}
