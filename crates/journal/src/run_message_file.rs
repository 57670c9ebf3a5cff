//! Keeps `fork_messages.json` in sync with the database.
//!
//! The database is written first and the file follows. Changes of other programs in the file are
//! adopted. The database stores the hash of the text that was last written: a file with that text
//! is ours and out of date, because a crash prevented the next write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::conversation::SessionId;
use domain::record::{Record, SentChange};
use domain::sent_messages::{MessageOrigin, SentId, is_old};
use jiff::Timestamp;

use crate::db::Database;
use crate::disk::Disk;
use crate::files::fork_messages::{ForkMessages, ForkMessagesContent};
use crate::files::{FileContent, FileError};

/// The key under which the database stores the time of the newest message in the file and the hash
/// of the file.
pub const FILE_HASH_KEY: &str = "state:fork_messages";

/// The file.
pub struct RunMessageFile {
    file: ForkMessages,
    /// Content of the file when it was last read or written.
    known: KnownContent,
    /// The file is out of date, because another program had changed it first or a write failed.
    out_of_date: bool,
    /// The hash of a foreign text that one check has found. It counts when the next check finds it
    /// too, because it may be half written.
    pending_hash: Option<String>,
}

/// Content of the file at one time, with Discord ids.
#[derive(Default)]
struct KnownContent {
    hash: String,
    messages: Vec<MessageOrigin>,
}

/// Changes of another program.
#[derive(Default)]
struct ExternalChanges {
    /// Added or changed messages, with our ids.
    upserted: Vec<MessageOrigin>,
    /// Removed messages.
    removed: Vec<SentId>,
}

impl ExternalChanges {
    fn is_empty(&self) -> bool {
        self.upserted.is_empty() && self.removed.is_empty()
    }

    fn log(&self) {
        let kept = self.upserted.len();
        let removed = self.removed.len();
        tracing::warn!(kept, removed, "Another program changed fork_messages.json.");
    }
}

impl RunMessageFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        let file = ForkMessages::new(disk, state);
        Self { file, known: KnownContent::default(), out_of_date: false, pending_hash: None }
    }

    /// Adopts changes that other programs made while the daemon was down, and writes the file.
    /// Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), FileError> {
        let FileContent { damage, .. } = self.file.load(now)?;
        let is_whole = damage.is_none();
        notices.extend(damage.map(|damage| damage.to_string()));
        // Now the file contains its readable part.
        if let ForkMessagesContent::Messages(messages, hash) = self.file.read_content()? {
            self.known = KnownContent { hash, messages };
        }
        if let Err(error) = self.import_changes(database, is_whole, now) {
            notices.push(format!("what other programs sent could not be read in: {error}."));
            return Ok(());
        }
        if let Err(error) = database.prune_origins(now) {
            tracing::warn!(%error, "Old records of sent messages could not be removed; the next start will.");
        }
        self.write_or_log(database);
        Ok(())
    }

    fn import_changes(
        &self,
        database: &mut Database,
        is_whole: bool,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let note = database.get_kv(FILE_HASH_KEY)?;
        let note = note.as_deref().and_then(|note| note.split_once(' '));
        if note.is_some_and(|(_, hash)| hash == self.known.hash) {
            return Ok(());
        }
        // Messages newer than the stored hash may never have reached the file. A damaged file does
        // not tell what was removed.
        let newest = note.filter(|_| is_whole).and_then(|(newest, _)| newest.parse::<i64>().ok());
        let mut before = database.fork_messages()?;
        before.retain(|origin| newest.is_some_and(|newest| origin.at.as_microsecond() <= newest));
        let changes = compare(database, &self.known.messages, &before, now)?;
        if changes.is_empty() {
            return Ok(());
        }
        changes.log();
        let records = [SentChange::OriginsKept(changes.upserted, now), SentChange::Removed(changes.removed)]
            .map(Record::from);
        database.write(&records).map(drop)
    }

    /// Writes the messages of the database to the file. A file that another program has changed is
    /// left to `external_edits`.
    pub fn apply(&mut self, database: &mut Database) {
        match self.file.read_content() {
            Ok(reading) if reading.hash() != self.known.hash => self.out_of_date = true,
            Ok(_) => self.write_or_log(database),
            Err(trouble) => self.log_failure(&trouble.to_string()),
        }
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
            self.log_failure(&error);
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
                self.write(database)?;
            }
            return Ok(Vec::new());
        }
        if !at_once && self.pending_hash.as_deref() != Some(reading.hash()) {
            self.pending_hash = Some(reading.hash().to_owned());
            return Ok(Vec::new());
        }
        self.pending_hash = None;
        let ForkMessagesContent::Messages(messages, hash) = reading else {
            return self.repair(database, now);
        };
        let changes =
            compare(database, &messages, &self.known.messages, now).map_err(|error| error.to_string())?;
        if changes.is_empty() {
            return self.sync_file(database, messages, hash).map(|()| Vec::new());
        }
        changes.log();
        Ok(vec![StateEdit::RunMessages { changed: changes.upserted, removed: changes.removed }])
    }

    /// Adopts the readable part of a damaged file. Missing messages count as damaged, not as
    /// removed.
    fn repair(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.load(now).map_err(|error| error.to_string())?;
        if let Some(damage) = &found.damage {
            tracing::warn!(%damage, "fork_messages.json was damaged.");
        }
        let mut edits: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Now the file contains its readable part.
        let reading = self.file.read_content().map_err(|error| error.to_string())?;
        let ForkMessagesContent::Messages(messages, _) = reading else { return Ok(edits) };
        let changes = compare(database, &messages, &[], now).map_err(|error| error.to_string())?;
        if changes.is_empty() {
            self.write(database)?;
            return Ok(edits);
        }
        changes.log();
        // Keeps the hash of our last text, so that the new messages are not overwritten before they
        // are adopted.
        self.known
            .messages
            .retain(|held| messages.iter().any(|listed| record_key(listed) == record_key(held)));
        edits.push(StateEdit::RunMessages { changed: changes.upserted, removed: changes.removed });
        Ok(edits)
    }

    /// Returns whether the file is up to date, as far as is known.
    pub fn is_in_sync(&self) -> bool {
        self.pending_hash.is_none() && !self.out_of_date
    }

    fn write_or_log(&mut self, database: &mut Database) {
        if let Err(error) = self.write(database) {
            self.log_failure(&error);
        }
    }

    /// Brings the file up to date after all its changes were adopted. An identical file is not
    /// written, because that could overwrite the next change of the other program.
    fn sync_file(
        &mut self,
        database: &mut Database,
        listed: Vec<MessageOrigin>,
        hash: String,
    ) -> Result<(), String> {
        let messages = database.fork_messages().map_err(|error| error.to_string())?;
        if messages.iter().map(record_key).ne(listed.iter().map(record_key)) {
            return self.write(database);
        }
        self.known = KnownContent { hash, messages: listed };
        self.out_of_date = false;
        self.save_file_hash(database)
    }

    fn write(&mut self, database: &mut Database) -> Result<(), String> {
        let messages = database.fork_messages().map_err(|error| error.to_string())?;
        let hash = self.file.replace(&messages).map_err(|error| error.to_string())?;
        self.known = KnownContent { hash, messages };
        self.out_of_date = false;
        self.save_file_hash(database)
    }

    fn save_file_hash(&self, database: &mut Database) -> Result<(), String> {
        let times = self.known.messages.iter().map(|origin| origin.at.as_microsecond());
        let newest = times.max().unwrap_or_default();
        database
            .set_kv(FILE_HASH_KEY, &format!("{newest} {}", self.known.hash))
            .map_err(|error| error.to_string())
    }

    fn log_failure(&mut self, error: &str) {
        self.out_of_date = true;
        tracing::warn!(error, "fork_messages.json could not be brought up to date; that is tried again.");
    }
}

/// Compares the `listed` messages with those that were in the file `before`. Records older than
/// seven days count as removed. A record from the future does not change a known one, because it
/// was written while the clock was ahead.
fn compare(
    database: &Database,
    listed: &[MessageOrigin],
    before: &[MessageOrigin],
    now: Timestamp,
) -> rusqlite::Result<ExternalChanges> {
    let held: BTreeSet<_> = before.iter().map(record_key).collect();
    let mut here = BTreeSet::new();
    let mut kept = BTreeMap::new();
    for origin in listed.iter().filter(|origin| !is_old(origin.at, now)) {
        let Some(id) = database.sent_id(origin.id)? else { continue };
        here.insert(id);
        if held.contains(&record_key(origin)) {
            continue;
        }
        let next = MessageOrigin { id, ..origin.clone() };
        let known = database.origin(id)?;
        if known.is_none_or(|known| origin.at <= now && record_key(&known) != record_key(&next)) {
            kept.insert(id, MessageOrigin { end: database.run_end(&origin.session)?, ..next });
        }
    }
    let mut gone = BTreeSet::new();
    for origin in before {
        if let Some(id) = database.sent_id(origin.id)?
            && !here.contains(&id)
            && database.origin(id)?.is_some()
        {
            gone.insert(id);
        }
    }
    Ok(ExternalChanges { upserted: kept.into_values().collect(), removed: gone.into_iter().collect() })
}

/// The content of a record in the file.
fn record_key(origin: &MessageOrigin) -> (SentId, &str, Option<&str>, Timestamp) {
    (origin.id, origin.session.as_str(), origin.parent.as_ref().map(SessionId::as_str), origin.at)
}
