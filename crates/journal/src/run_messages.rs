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
use domain::sent::{Origin, SentId, is_old};
use jiff::Timestamp;

use crate::db::Database;
use crate::disk::Disk;
use crate::files::fork_messages::{ForkMessages, Reading};
use crate::files::{Found, Trouble};

/// The key under which the database stores the time of the newest message in the file and the hash
/// of the file.
pub const NOTE: &str = "state:fork_messages";

/// The file.
pub struct RunMessageFile {
    file: ForkMessages,
    /// Content of the file when it was last read or written.
    held: Held,
    /// The file is out of date, because another program had changed it first or a write failed.
    behind: bool,
    /// The hash of a foreign text that one check has found. It counts when the next check finds it
    /// too, because it may be half written.
    seen: Option<String>,
}

/// Content of the file at one time, with Discord ids.
#[derive(Default)]
struct Held {
    hash: String,
    messages: Vec<Origin>,
}

/// Changes of another program.
#[derive(Default)]
struct Changes {
    /// Added or changed messages, with our ids.
    kept: Vec<Origin>,
    /// Removed messages.
    gone: Vec<SentId>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.gone.is_empty()
    }

    fn log(&self) {
        let kept = self.kept.len();
        let removed = self.gone.len();
        tracing::warn!(kept, removed, "Another program changed fork_messages.json.");
    }
}

impl RunMessageFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        let file = ForkMessages::new(disk, state);
        Self { file, held: Held::default(), behind: false, seen: None }
    }

    /// Adopts changes that other programs made while the daemon was down, and writes the file.
    /// Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        let Found { damage, .. } = self.file.load(now)?;
        let is_whole = damage.is_none();
        notices.extend(damage.map(|damage| damage.to_string()));
        // Now the file contains its readable part.
        if let Reading::Messages(messages, hash) = self.file.reading()? {
            self.held = Held { hash, messages };
        }
        if let Err(error) = self.take_over(database, is_whole, now) {
            notices.push(format!("what other programs sent could not be read in: {error}."));
            return Ok(());
        }
        if let Err(error) = database.prune_origins(now) {
            tracing::warn!(%error, "Old records of sent messages could not be removed; the next start will.");
        }
        self.write_or_warn(database);
        Ok(())
    }

    fn take_over(&self, database: &mut Database, is_whole: bool, now: Timestamp) -> rusqlite::Result<()> {
        let note = database.keepsake(NOTE)?;
        let note = note.as_deref().and_then(|note| note.split_once(' '));
        if note.is_some_and(|(_, hash)| hash == self.held.hash) {
            return Ok(());
        }
        // Messages newer than the stored hash may never have reached the file. A damaged file does
        // not tell what was removed.
        let newest = note.filter(|_| is_whole).and_then(|(newest, _)| newest.parse::<i64>().ok());
        let mut before = database.fork_messages()?;
        before.retain(|origin| newest.is_some_and(|newest| origin.at.as_microsecond() <= newest));
        let changes = changes(database, &self.held.messages, &before, now)?;
        if changes.is_empty() {
            return Ok(());
        }
        changes.log();
        let records =
            [SentChange::Kept(changes.kept, now), SentChange::Removed(changes.gone)].map(Record::from);
        database.write(&records).map(drop)
    }

    /// Writes the messages of the database to the file. A file that another program has changed is
    /// left to `external_edits`.
    pub fn follow(&mut self, database: &mut Database) {
        match self.file.reading() {
            Ok(reading) if reading.hash() != self.held.hash => self.behind = true,
            Ok(_) => self.write_or_warn(database),
            Err(trouble) => self.warn(&trouble.to_string()),
        }
    }

    /// The changes of other programs since the file was last read or written. `at_once` is for the
    /// start, when no program is writing it.
    pub fn changed(&mut self, database: &mut Database, at_once: bool, now: Timestamp) -> Vec<StateEdit> {
        self.changes(database, at_once, now).unwrap_or_else(|error| {
            self.warn(&error);
            Vec::new()
        })
    }

    fn changes(
        &mut self,
        database: &mut Database,
        at_once: bool,
        now: Timestamp,
    ) -> Result<Vec<StateEdit>, String> {
        let reading = self.file.reading().map_err(|error| error.to_string())?;
        if reading.hash() == self.held.hash {
            self.seen = None;
            if self.behind {
                self.write(database)?;
            }
            return Ok(Vec::new());
        }
        if !at_once && self.seen.as_deref() != Some(reading.hash()) {
            self.seen = Some(reading.hash().to_owned());
            return Ok(Vec::new());
        }
        self.seen = None;
        let Reading::Messages(messages, hash) = reading else {
            return self.mend(database, now);
        };
        let changes =
            changes(database, &messages, &self.held.messages, now).map_err(|error| error.to_string())?;
        if changes.is_empty() {
            return self.agree(database, messages, hash).map(|()| Vec::new());
        }
        changes.log();
        Ok(vec![StateEdit::RunMessages { kept: changes.kept, gone: changes.gone }])
    }

    /// Adopts the readable part of a damaged file. Missing messages count as damaged, not as
    /// removed.
    fn mend(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.load(now).map_err(|error| error.to_string())?;
        if let Some(damage) = &found.damage {
            tracing::warn!(%damage, "fork_messages.json was damaged.");
        }
        let mut edits: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Now the file contains its readable part.
        let reading = self.file.reading().map_err(|error| error.to_string())?;
        let Reading::Messages(messages, _) = reading else { return Ok(edits) };
        let changes = changes(database, &messages, &[], now).map_err(|error| error.to_string())?;
        if changes.is_empty() {
            self.write(database)?;
            return Ok(edits);
        }
        changes.log();
        // Keeps the hash of our last text, so that the new messages are not overwritten before they
        // are adopted.
        self.held.messages.retain(|held| messages.iter().any(|listed| key(listed) == key(held)));
        edits.push(StateEdit::RunMessages { kept: changes.kept, gone: changes.gone });
        Ok(edits)
    }

    /// Returns whether the file is up to date, as far as is known.
    pub fn is_quiet(&self) -> bool {
        self.seen.is_none() && !self.behind
    }

    fn write_or_warn(&mut self, database: &mut Database) {
        if let Err(error) = self.write(database) {
            self.warn(&error);
        }
    }

    /// Brings the file up to date after all its changes were adopted. An identical file is not
    /// written, because that could overwrite the next change of the other program.
    fn agree(&mut self, database: &mut Database, listed: Vec<Origin>, hash: String) -> Result<(), String> {
        let messages = database.fork_messages().map_err(|error| error.to_string())?;
        if messages.iter().map(key).ne(listed.iter().map(key)) {
            return self.write(database);
        }
        self.held = Held { hash, messages: listed };
        self.behind = false;
        self.keep_note(database)
    }

    fn write(&mut self, database: &mut Database) -> Result<(), String> {
        let messages = database.fork_messages().map_err(|error| error.to_string())?;
        let hash = self.file.replace(&messages).map_err(|error| error.to_string())?;
        self.held = Held { hash, messages };
        self.behind = false;
        self.keep_note(database)
    }

    fn keep_note(&self, database: &mut Database) -> Result<(), String> {
        let times = self.held.messages.iter().map(|origin| origin.at.as_microsecond());
        let newest = times.max().unwrap_or_default();
        database.keep(NOTE, &format!("{newest} {}", self.held.hash)).map_err(|error| error.to_string())
    }

    fn warn(&mut self, error: &str) {
        self.behind = true;
        tracing::warn!(error, "fork_messages.json could not be brought up to date; that is tried again.");
    }
}

/// Compares the `listed` messages with those that were in the file `before`. Records older than
/// seven days count as removed. A record from the future does not change a known one, because it
/// was written while the clock was ahead.
fn changes(
    database: &Database,
    listed: &[Origin],
    before: &[Origin],
    now: Timestamp,
) -> rusqlite::Result<Changes> {
    let held: BTreeSet<_> = before.iter().map(key).collect();
    let mut here = BTreeSet::new();
    let mut kept = BTreeMap::new();
    for origin in listed.iter().filter(|origin| !is_old(origin.at, now)) {
        let Some(id) = database.sent_id(origin.id)? else { continue };
        here.insert(id);
        if held.contains(&key(origin)) {
            continue;
        }
        let next = Origin { id, ..origin.clone() };
        let known = database.origin(id)?;
        if known.is_none_or(|known| origin.at <= now && key(&known) != key(&next)) {
            kept.insert(id, Origin { end: database.end_of(&origin.session)?, ..next });
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
    Ok(Changes { kept: kept.into_values().collect(), gone: gone.into_iter().collect() })
}

/// The content of a record in the file.
fn key(origin: &Origin) -> (SentId, &str, Option<&str>, Timestamp) {
    (origin.id, origin.session.as_str(), origin.parent.as_ref().map(SessionId::as_str), origin.at)
}
