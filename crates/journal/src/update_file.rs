//! Keeps `pending_updates.json` in sync with the database.
//!
//! The database is written first and the file follows. Changes of other programs in the file are
//! adopted. To distinguish them from our own write that a crash prevented, the database stores the
//! hash of the file's text as of the last write: a file with that text is ours and out of date.

use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::label::Label;
use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{Record, UpdateChange, UpdatesRead as Read};
use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::db::Database;
use crate::disk::Disk;
use crate::files::FileError;
use crate::files::pending_updates::{FileUpdate, PendingUpdatesContent, PendingUpdatesFile};
use crate::open::{OpenParams, open_read_only};
use crate::paths::Paths;

/// The source of an update that another program left.
const EXTERNAL_SOURCE: &str = "elsewhere";

/// The key under which the database stores the hash.
pub const FILE_HASH_KEY: &str = "state:pending_updates";

/// The file and the zone of its times.
pub struct UpdateFile {
    file: PendingUpdatesFile,
    zone: TimeZone,
    /// Content of the file when it was last read or written.
    known: KnownContent,
    /// The file is out of date, because another program had changed it first.
    out_of_date: bool,
    /// The hash of a foreign text that one check has found. It counts when the next check finds it
    /// too, because it may be half written.
    pending_hash: Option<String>,
}

/// Content of the file at one time.
#[derive(Default)]
struct KnownContent {
    hash: String,
    updates: Vec<(Timestamp, String)>,
    /// The newest update in the database at that time.
    newest: u64,
}

impl UpdateFile {
    /// The file of the data directory at `params.paths`.
    pub fn new(params: &OpenParams) -> Self {
        let file = PendingUpdatesFile::new(Arc::clone(&params.disk), &params.paths.state());
        Self {
            file,
            zone: params.zone.clone(),
            known: KnownContent::default(),
            out_of_date: false,
            pending_hash: None,
        }
    }

    /// The key and value to store in the transaction that changes updates.
    pub fn file_hash_entry(&self) -> (&'static str, String) {
        (FILE_HASH_KEY, format!("{} {}", self.known.newest, self.known.hash))
    }

    /// Writes the updates of the database to the file. A file that another program has changed is
    /// left to `external_edits`.
    pub fn apply(&mut self, database: &mut Database) {
        let written = match self.file.read_content() {
            Ok(reading) if reading.hash() != self.known.hash => {
                self.out_of_date = true;
                return;
            }
            Ok(_) => self.write(database, true).and_then(|()| self.save_file_hash(database)),
            Err(trouble) => Err(trouble.to_string()),
        };
        log_failure(written);
    }

    /// Stores the hash of the file. Otherwise an update that is removed from the file while the
    /// daemon is down could not be distinguished from one that never reached the file.
    fn save_file_hash(&self, database: &mut Database) -> Result<(), String> {
        let (name, note) = self.file_hash_entry();
        database.set_kv(name, &note).map_err(|error| error.to_string())
    }

    /// Writes the file. An identical file is rewritten unless `is_safe`, because an earlier write
    /// may not be durable.
    fn write(&mut self, database: &Database, is_safe: bool) -> Result<(), String> {
        let waiting = database.unread_updates().map_err(|error| error.to_string())?;
        let updates: Vec<(Timestamp, String)> = waiting.iter().map(update_key).collect();
        let nothing = updates.is_empty() && self.known.updates.is_empty();
        if updates != self.known.updates || !(is_safe || nothing) {
            let all: Vec<FileUpdate> = waiting.iter().map(|report| self.to_file_update(report)).collect();
            let written = self.file.replace(&all, &self.known.hash);
            let Some(hash) = written.map_err(|error| error.to_string())? else {
                // Another program wrote meanwhile. `find_edits` detects that, and the file is
                // written then.
                self.out_of_date = true;
                return Ok(());
            };
            self.known.hash = hash;
            self.known.updates = updates;
        }
        self.known.newest = database.next_update_id().map_err(|error| error.to_string())?.0.saturating_sub(1);
        self.out_of_date = false;
        Ok(())
    }

    /// Adopts changes that other programs made while the daemon was down, and writes the file.
    /// Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), FileError> {
        match self.file.read_content()? {
            PendingUpdatesContent::Unreadable(_) => {
                let found = self.file.load(now)?;
                notices.extend(found.damage.map(|damage| damage.to_string()));
                let taken = self.import_updates(database, &found.value, None);
                log_failure(taken.map_err(|error| error.to_string()));
                // Now the file contains its readable part.
                if let PendingUpdatesContent::Updates(updates, hash) = self.file.read_content()? {
                    self.set_known(&updates, hash);
                }
            }
            PendingUpdatesContent::Updates(updates, hash) => {
                self.set_known(&updates, hash);
                if let Err(error) = self.import_external_changes(database, &updates) {
                    notices
                        .push(format!("The updates in pending_updates.json could not be read in: {error}."));
                    return Ok(());
                }
            }
        }
        let before = database.get_kv(FILE_HASH_KEY).unwrap_or_default();
        let is_safe = before.as_ref().is_some_and(|note| note.ends_with(&format!(" {}", self.known.hash)));
        log_failure(self.write(database, is_safe));
        if before != Some(self.file_hash_entry().1) {
            log_failure(self.save_file_hash(database));
        }
        Ok(())
    }

    fn set_known(&mut self, updates: &[FileUpdate], hash: String) {
        self.known = KnownContent { hash, updates: update_keys(updates), newest: self.known.newest };
    }

    fn import_external_changes(
        &self,
        database: &mut Database,
        updates: &[FileUpdate],
    ) -> rusqlite::Result<()> {
        let note = database.get_kv(FILE_HASH_KEY)?;
        let note = note.as_deref().and_then(|note| note.split_once(' '));
        let expected: Vec<(Timestamp, String)> = database.unread_updates()?.iter().map(update_key).collect();
        let is_ours = note.is_some_and(|(_, hash)| hash == self.known.hash) || expected == self.known.updates;
        if is_ours {
            return Ok(());
        }
        let newest = note.and_then(|(newest, _)| newest.parse().ok());
        self.import_updates(database, updates, newest)
    }

    /// Adds updates that the database never contained, and marks those up to `newest` as read that
    /// are missing in the file.
    fn import_updates(
        &self,
        database: &mut Database,
        updates: &[FileUpdate],
        newest: Option<u64>,
    ) -> rusqlite::Result<()> {
        let mut added = Vec::new();
        for update in updates {
            if !database.has_update(truncate_to_micros(update.at.at), &update.message)? {
                added.push(to_pending_update(update.clone()));
            }
        }
        let listed = |report: &PendingUpdate| self.known.updates.contains(&update_key(report));
        let waiting = database.unread_updates()?;
        let gone = waiting.iter().filter(|report| newest.is_some_and(|newest| report.id.0 <= newest));
        let gone: Vec<UpdateId> = gone.filter(|report| !listed(report)).map(|report| report.id).collect();
        if !(added.is_empty() && gone.is_empty()) {
            tracing::warn!(
                added = added.len(),
                removed = gone.len(),
                "Another program changed pending_updates.json."
            );
        }
        database.import_updates(added)?;
        if gone.is_empty() {
            return Ok(());
        }
        let read = Read { quoted: gone, counted: Vec::new(), entry: None };
        database.write(&[Record::Update(UpdateChange::Read(read))]).map(drop)
    }

    /// The changes of other programs since the file was last read or written. `at_once` is for the
    /// start, when no program is writing it.
    pub fn external_edits(
        &mut self,
        database: &mut Database,
        at_once: bool,
        now: Timestamp,
    ) -> Vec<StateEdit> {
        self.find_edits(database, at_once, now).unwrap_or_else(|error| {
            log_failure(Err(error));
            Vec::new()
        })
    }

    fn find_edits(
        &mut self,
        database: &mut Database,
        at_once: bool,
        now: Timestamp,
    ) -> Result<Vec<StateEdit>, String> {
        let reading = self.file.read_content().map_err(|error| error.to_string())?;
        if reading.hash() == self.known.hash {
            self.pending_hash = None;
            if self.out_of_date {
                self.write(database, true)?;
                self.save_file_hash(database)?;
            }
            return Ok(Vec::new());
        }
        if !at_once && self.pending_hash.as_deref() != Some(reading.hash()) {
            self.pending_hash = Some(reading.hash().to_owned());
            return Ok(Vec::new());
        }
        let PendingUpdatesContent::Updates(updates, hash) = reading else {
            return self.repair(database, now);
        };
        let listed = update_keys(&updates);
        let new: Vec<(Timestamp, String)> =
            listed.iter().filter(|update| !self.known.updates.contains(update)).cloned().collect();
        let mut edits = added_edits(database, &new).map_err(|error| error.to_string())?;
        let waiting = database.unread_updates().map_err(|error| error.to_string())?;
        let gone = waiting.iter().filter(|report| {
            let key = update_key(report);
            self.known.updates.contains(&key) && !listed.contains(&key)
        });
        edits.extend(gone.map(|report| StateEdit::UpdateRemoved(report.id)));
        if edits.is_empty() {
            // The database contains everything. An identical file is not written, because that
            // could overwrite the next change of the other program.
            self.set_known(&updates, hash);
            self.pending_hash = None;
            self.write(database, true)?;
            self.save_file_hash(database)?;
        } else {
            tracing::warn!(changes = edits.len(), "Another program changed pending_updates.json.");
        }
        Ok(edits)
    }

    /// Adopts the readable part of a damaged file. Missing updates count as damaged, not as
    /// removed.
    fn repair(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.load(now).map_err(|error| error.to_string())?;
        let damage: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Now the file contains its readable part.
        let reading = self.file.read_content().map_err(|error| error.to_string())?;
        let PendingUpdatesContent::Updates(updates, hash) = reading else { return Ok(damage) };
        let listed = update_keys(&updates);
        let edits = added_edits(database, &listed).map_err(|error| error.to_string())?;
        tracing::warn!(
            damage = found.damage.map(|damage| damage.to_string()),
            added = edits.len(),
            "pending_updates.json was damaged."
        );
        if edits.is_empty() {
            self.set_known(&updates, hash);
            self.pending_hash = None;
            self.write(database, false)?;
            self.save_file_hash(database)?;
        } else {
            // Keeps the hash of our last text, so that the new updates are not overwritten before
            // they are adopted.
            let is_new = |key: &(Timestamp, String)| {
                edits.contains(&StateEdit::UpdateAdded { at: key.0, text: key.1.clone() })
            };
            self.known.updates = listed.into_iter().filter(|key| !is_new(key)).collect();
            self.pending_hash = Some(hash);
        }
        Ok(damage.into_iter().chain(edits).collect())
    }

    /// Returns whether the file is up to date, as far as is known.
    pub fn is_in_sync(&self) -> bool {
        self.pending_hash.is_none() && !self.out_of_date
    }

    fn to_file_update(&self, report: &PendingUpdate) -> FileUpdate {
        let at = Moment::of(&report.at.to_zoned(self.zone.clone()));
        FileUpdate::new(at, report.text.clone())
    }
}

/// Truncates the time to the precision of the database.
fn truncate_to_micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

fn update_keys(updates: &[FileUpdate]) -> Vec<(Timestamp, String)> {
    updates.iter().map(|update| (truncate_to_micros(update.at.at), update.message.clone())).collect()
}

/// The updates in `listed` that the database never contained.
fn added_edits(database: &Database, listed: &[(Timestamp, String)]) -> rusqlite::Result<Vec<StateEdit>> {
    let mut added = Vec::new();
    for (at, text) in listed {
        if !database.has_update(*at, text)? {
            added.push(StateEdit::UpdateAdded { at: *at, text: text.clone() });
        }
    }
    Ok(added)
}

fn update_key(report: &PendingUpdate) -> (Timestamp, String) {
    (truncate_to_micros(report.at), report.text.clone())
}

fn log_failure(done: Result<(), String>) {
    if let Err(error) = done {
        tracing::warn!(error, "pending_updates.json could not be brought up to date; that is tried again.");
    }
}

/// The updates that main has not read in the data directory at `paths`, even while a daemon uses
/// it: those in the database, and those in the file that are not adopted yet.
pub fn pending_updates(paths: &Paths, disk: Arc<dyn Disk>) -> Result<Vec<PendingUpdate>, String> {
    let database = open_read_only(paths).map_err(|error| error.to_string())?;
    let waiting = database.map_or(Ok(Vec::new()), |database| database.updates_for_user());
    let mut waiting = waiting.map_err(|error| error.to_string())?;
    let next = waiting.last().map_or(1, |newest| newest.id.0 + 1);
    // An unreadable file is reported by the next start.
    let found = PendingUpdatesFile::new(disk, &paths.state()).preview().unwrap_or_default();
    let known: Vec<(Timestamp, String)> = waiting.iter().map(update_key).collect();
    let is_new =
        |update: &FileUpdate| !known.contains(&(truncate_to_micros(update.at.at), update.message.clone()));
    let external: Vec<PendingUpdate> = found.into_iter().filter(is_new).map(to_pending_update).collect();
    let external = external.into_iter();
    waiting.extend(external.zip(next..).map(|(report, id)| PendingUpdate { id: UpdateId(id), ..report }));
    Ok(waiting)
}

fn to_pending_update(update: FileUpdate) -> PendingUpdate {
    PendingUpdate {
        id: UpdateId(0),
        at: update.at.at,
        source: EXTERNAL_SOURCE.to_owned(),
        text: update.message,
        label: Label::PLAIN,
    }
}
