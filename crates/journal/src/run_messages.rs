//! `fork_messages.json` beside the journal.
//!
//! The journal is written first and the file follows. What another program adds to the file, changes in it or removes from it
//! is taken over. The journal holds the hash of the text that we last wrote: a file with that text is ours and out of date,
//! because a crash prevented the next write.

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

/// Under this name the journal holds the time of the newest message that was in the file, and the hash of its text.
pub const NOTE: &str = "state:fork_messages";

/// The file.
pub struct RunMessageFile {
    file: ForkMessages,
    /// What the file held when we last read or wrote it.
    held: Held,
    /// The file does not show what the journal holds, because another program had changed it first or a write failed.
    behind: bool,
    /// A text of another program that was seen once. It counts when it is seen again: it may be half written.
    seen: Option<String>,
}

/// The content of the file at one time. The ids are those of Discord.
#[derive(Default)]
struct Held {
    hash: String,
    messages: Vec<Origin>,
}

/// What another program changed.
#[derive(Default)]
struct Changes {
    /// Messages that it added or changed, under the ids by which we know them.
    kept: Vec<Origin>,
    /// Messages that it removed.
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

    /// Takes over what other programs changed while this one did not run, and writes the file. Damage is told in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        let Found { damage, .. } = self.file.load(now)?;
        let is_whole = damage.is_none();
        notices.extend(damage.map(|damage| damage.to_string()));
        // Whatever of it could be read stands there now.
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
        // What came after the note may never have reached the file. A damaged file does not tell what was removed.
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

    /// Writes the messages of the journal into the file. A file that another program has changed is left for `changed`.
    pub fn follow(&mut self, database: &mut Database) {
        match self.file.reading() {
            Ok(reading) if reading.hash() != self.held.hash => self.behind = true,
            Ok(_) => self.write_or_warn(database),
            Err(trouble) => self.warn(&trouble.to_string()),
        }
    }

    /// What another program changed in the file since we last read or wrote it. `at_once` is for the start, when nobody is
    /// writing it.
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

    /// Takes over what can be read of a damaged file. What is missing from it counts as damaged, and not as removed.
    fn mend(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.load(now).map_err(|error| error.to_string())?;
        if let Some(damage) = &found.damage {
            tracing::warn!(%damage, "fork_messages.json was damaged.");
        }
        let mut edits: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Whatever of it could be read stands there now.
        let reading = self.file.reading().map_err(|error| error.to_string())?;
        let Reading::Messages(messages, _) = reading else { return Ok(edits) };
        let changes = changes(database, &messages, &[], now).map_err(|error| error.to_string())?;
        if changes.is_empty() {
            self.write(database)?;
            return Ok(edits);
        }
        changes.log();
        // The hash stays that of our last text, so that nothing is written over the new ones until they are followed.
        self.held.messages.retain(|held| messages.iter().any(|listed| key(listed) == key(held)));
        edits.push(StateEdit::RunMessages { kept: changes.kept, gone: changes.gone });
        Ok(edits)
    }

    /// Whether the file shows what the journal holds, as far as is known.
    pub fn is_quiet(&self) -> bool {
        self.seen.is_none() && !self.behind
    }

    fn write_or_warn(&mut self, database: &mut Database) {
        if let Err(error) = self.write(database) {
            self.warn(&error);
        }
    }

    /// Lets the file, in which all changes were followed, show what the journal holds. A file that says the same is not written
    /// again: the other program may be writing its next change, which would be lost.
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

/// Compares the `listed` messages with those that were in the file `before`. Records older than seven days count as removed.
/// One from the future changes
/// none that is known: the clock was ahead when it was written.
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

/// What a record in the file says.
fn key(origin: &Origin) -> (SentId, &str, Option<&str>, Timestamp) {
    (origin.id, origin.session.as_str(), origin.parent.as_ref().map(SessionId::as_str), origin.at)
}
