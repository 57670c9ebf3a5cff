//! Keeps `pending_updates.json` in sync with the database.
//!
//! The database is written first and the file follows. Changes of other programs in the file are
//! adopted. To distinguish them from our own write that a crash prevented, the database stores the
//! hash of the file's text as of the last write: a file with that text is ours and out of date.

use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::label::Label;
use domain::record::{Reading as Read, Record, ReportChange};
use domain::report::{Report, ReportId};
use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::db::Database;
use crate::disk::Disk;
use crate::files::Trouble;
use crate::files::pending_updates::{PendingUpdate, PendingUpdates, Reading};
use crate::open::{Place, peek};
use crate::paths::Paths;

/// The source of an update that another program left.
const ELSEWHERE: &str = "elsewhere";

/// The key under which the database stores the hash.
pub const NOTE: &str = "state:pending_updates";

/// The file and the zone of its times.
pub struct ReportFile {
    file: PendingUpdates,
    zone: TimeZone,
    /// Content of the file when it was last read or written.
    held: Held,
    /// The file is out of date, because another program had changed it first.
    behind: bool,
    /// The hash of a foreign text that one check has found. It counts when the next check finds it
    /// too, because it may be half written.
    seen: Option<String>,
}

/// Content of the file at one time.
#[derive(Default)]
struct Held {
    hash: String,
    updates: Vec<(Timestamp, String)>,
    /// The newest update in the database at that time.
    newest: u64,
}

impl ReportFile {
    /// The file of the data directory at `params.paths`.
    pub fn new(place: &Place) -> Self {
        let file = PendingUpdates::new(Arc::clone(&place.disk), &place.paths.state());
        Self { file, zone: place.zone.clone(), held: Held::default(), behind: false, seen: None }
    }

    /// The key and value to store in the transaction that changes updates.
    pub fn note(&self) -> (&'static str, String) {
        (NOTE, format!("{} {}", self.held.newest, self.held.hash))
    }

    /// Writes the updates of the database to the file. A file that another program has changed is
    /// left to `external_edits`.
    pub fn follow(&mut self, database: &mut Database) {
        let written = match self.file.reading() {
            Ok(reading) if reading.hash() != self.held.hash => {
                self.behind = true;
                return;
            }
            Ok(_) => self.write(database, true).and_then(|()| self.keep_note(database)),
            Err(trouble) => Err(trouble.to_string()),
        };
        warn(written);
    }

    /// Stores the hash of the file. Otherwise an update that is removed from the file while the
    /// daemon is down could not be distinguished from one that never reached the file.
    fn keep_note(&self, database: &mut Database) -> Result<(), String> {
        let (name, note) = self.note();
        database.keep(name, &note).map_err(|error| error.to_string())
    }

    /// Writes the file. An identical file is rewritten unless `is_safe`, because an earlier write
    /// may not be durable.
    fn write(&mut self, database: &Database, is_safe: bool) -> Result<(), String> {
        let waiting = database.reports().map_err(|error| error.to_string())?;
        let updates: Vec<(Timestamp, String)> = waiting.iter().map(key).collect();
        let nothing = updates.is_empty() && self.held.updates.is_empty();
        if updates != self.held.updates || !(is_safe || nothing) {
            let all: Vec<PendingUpdate> = waiting.iter().map(|report| self.update(report)).collect();
            let written = self.file.replace(&all, &self.held.hash);
            let Some(hash) = written.map_err(|error| error.to_string())? else {
                // Another program wrote meanwhile. `find_edits` detects that, and the file is
                // written then.
                self.behind = true;
                return Ok(());
            };
            self.held.hash = hash;
            self.held.updates = updates;
        }
        self.held.newest = database.next_report().map_err(|error| error.to_string())?.0.saturating_sub(1);
        self.behind = false;
        Ok(())
    }

    /// Adopts changes that other programs made while the daemon was down, and writes the file.
    /// Reports damage in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<(), Trouble> {
        match self.file.reading()? {
            Reading::Unreadable(_) => {
                let found = self.file.peek(now)?;
                notices.extend(found.damage.map(|damage| damage.to_string()));
                let taken = self.take_over(database, &found.value, None);
                warn(taken.map_err(|error| error.to_string()));
                // Now the file contains its readable part.
                if let Reading::Updates(updates, hash) = self.file.reading()? {
                    self.hold(&updates, hash);
                }
            }
            Reading::Updates(updates, hash) => {
                self.hold(&updates, hash);
                if let Err(error) = self.take_changes(database, &updates) {
                    notices
                        .push(format!("The updates in pending_updates.json could not be read in: {error}."));
                    return Ok(());
                }
            }
        }
        let before = database.keepsake(NOTE).unwrap_or_default();
        let is_safe = before.as_ref().is_some_and(|note| note.ends_with(&format!(" {}", self.held.hash)));
        warn(self.write(database, is_safe));
        if before != Some(self.note().1) {
            warn(self.keep_note(database));
        }
        Ok(())
    }

    fn hold(&mut self, updates: &[PendingUpdate], hash: String) {
        self.held = Held { hash, updates: keys(updates), newest: self.held.newest };
    }

    fn take_changes(&self, database: &mut Database, updates: &[PendingUpdate]) -> rusqlite::Result<()> {
        let note = database.keepsake(NOTE)?;
        let note = note.as_deref().and_then(|note| note.split_once(' '));
        let expected: Vec<(Timestamp, String)> = database.reports()?.iter().map(key).collect();
        let is_ours = note.is_some_and(|(_, hash)| hash == self.held.hash) || expected == self.held.updates;
        if is_ours {
            return Ok(());
        }
        let newest = note.and_then(|(newest, _)| newest.parse().ok());
        self.take_over(database, updates, newest)
    }

    /// Adds updates that the database never contained, and marks those up to `newest` as read that
    /// are missing in the file.
    fn take_over(
        &self,
        database: &mut Database,
        updates: &[PendingUpdate],
        newest: Option<u64>,
    ) -> rusqlite::Result<()> {
        let mut added = Vec::new();
        for update in updates {
            if !database.has_report(micros(update.at.at), &update.message)? {
                added.push(left(update.clone()));
            }
        }
        let listed = |report: &Report| self.held.updates.contains(&key(report));
        let waiting = database.reports()?;
        let gone = waiting.iter().filter(|report| newest.is_some_and(|newest| report.id.0 <= newest));
        let gone: Vec<ReportId> = gone.filter(|report| !listed(report)).map(|report| report.id).collect();
        if !(added.is_empty() && gone.is_empty()) {
            tracing::warn!(
                added = added.len(),
                removed = gone.len(),
                "Another program changed pending_updates.json."
            );
        }
        database.take_over(added)?;
        if gone.is_empty() {
            return Ok(());
        }
        let read = Read { quoted: gone, counted: Vec::new(), entry: None };
        database.write(&[Record::Report(ReportChange::Read(read))]).map(drop)
    }

    /// The changes of other programs since the file was last read or written. `at_once` is for the
    /// start, when no program is writing it.
    pub fn changed(&mut self, database: &mut Database, at_once: bool, now: Timestamp) -> Vec<StateEdit> {
        self.changes(database, at_once, now).unwrap_or_else(|error| {
            warn(Err(error));
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
                self.write(database, true)?;
                self.keep_note(database)?;
            }
            return Ok(Vec::new());
        }
        if !at_once && self.seen.as_deref() != Some(reading.hash()) {
            self.seen = Some(reading.hash().to_owned());
            return Ok(Vec::new());
        }
        let Reading::Updates(updates, hash) = reading else {
            return self.mend(database, now);
        };
        let listed = keys(&updates);
        let new: Vec<(Timestamp, String)> =
            listed.iter().filter(|update| !self.held.updates.contains(update)).cloned().collect();
        let mut edits = added(database, &new).map_err(|error| error.to_string())?;
        let waiting = database.reports().map_err(|error| error.to_string())?;
        let gone = waiting.iter().filter(|report| {
            let key = key(report);
            self.held.updates.contains(&key) && !listed.contains(&key)
        });
        edits.extend(gone.map(|report| StateEdit::UpdateRemoved(report.id)));
        if edits.is_empty() {
            // The database contains everything. An identical file is not written, because that
            // could overwrite the next change of the other program.
            self.hold(&updates, hash);
            self.seen = None;
            self.write(database, true)?;
            self.keep_note(database)?;
        } else {
            tracing::warn!(changes = edits.len(), "Another program changed pending_updates.json.");
        }
        Ok(edits)
    }

    /// Adopts the readable part of a damaged file. Missing updates count as damaged, not as
    /// removed.
    fn mend(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.peek(now).map_err(|error| error.to_string())?;
        let damage: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Now the file contains its readable part.
        let reading = self.file.reading().map_err(|error| error.to_string())?;
        let Reading::Updates(updates, hash) = reading else { return Ok(damage) };
        let listed = keys(&updates);
        let edits = added(database, &listed).map_err(|error| error.to_string())?;
        tracing::warn!(
            damage = found.damage.map(|damage| damage.to_string()),
            added = edits.len(),
            "pending_updates.json was damaged."
        );
        if edits.is_empty() {
            self.hold(&updates, hash);
            self.seen = None;
            self.write(database, false)?;
            self.keep_note(database)?;
        } else {
            // Keeps the hash of our last text, so that the new updates are not overwritten before
            // they are adopted.
            let is_new = |key: &(Timestamp, String)| {
                edits.contains(&StateEdit::UpdateAdded { at: key.0, text: key.1.clone() })
            };
            self.held.updates = listed.into_iter().filter(|key| !is_new(key)).collect();
            self.seen = Some(hash);
        }
        Ok(damage.into_iter().chain(edits).collect())
    }

    /// Returns whether the file is up to date, as far as is known.
    pub fn is_quiet(&self) -> bool {
        self.seen.is_none() && !self.behind
    }

    fn update(&self, report: &Report) -> PendingUpdate {
        let at = Moment::of(&report.at.to_zoned(self.zone.clone()));
        PendingUpdate::new(at, report.text.clone())
    }
}

/// Truncates the time to the precision of the database.
fn micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

fn keys(updates: &[PendingUpdate]) -> Vec<(Timestamp, String)> {
    updates.iter().map(|update| (micros(update.at.at), update.message.clone())).collect()
}

/// The updates in `listed` that the database never contained.
fn added(database: &Database, listed: &[(Timestamp, String)]) -> rusqlite::Result<Vec<StateEdit>> {
    let mut added = Vec::new();
    for (at, text) in listed {
        if !database.has_report(*at, text)? {
            added.push(StateEdit::UpdateAdded { at: *at, text: text.clone() });
        }
    }
    Ok(added)
}

fn key(report: &Report) -> (Timestamp, String) {
    (micros(report.at), report.text.clone())
}

fn warn(done: Result<(), String>) {
    if let Err(error) = done {
        tracing::warn!(error, "pending_updates.json could not be brought up to date; that is tried again.");
    }
}

/// The updates that main has not read in the data directory at `paths`, even while a daemon uses
/// it: those in the database, and those in the file that are not adopted yet.
pub fn reports(paths: &Paths, disk: Arc<dyn Disk>) -> Result<Vec<Report>, String> {
    let database = peek(paths).map_err(|error| error.to_string())?;
    let waiting = database.map_or(Ok(Vec::new()), |database| database.readable());
    let mut waiting = waiting.map_err(|error| error.to_string())?;
    let next = waiting.last().map_or(1, |newest| newest.id.0 + 1);
    // An unreadable file is reported by the next start.
    let found = PendingUpdates::new(disk, &paths.state()).glance().unwrap_or_default();
    let known: Vec<(Timestamp, String)> = waiting.iter().map(key).collect();
    let is_new = |update: &PendingUpdate| !known.contains(&(micros(update.at.at), update.message.clone()));
    let strangers: Vec<Report> = found.into_iter().filter(is_new).map(left).collect();
    let strangers = strangers.into_iter();
    waiting.extend(strangers.zip(next..).map(|(report, id)| Report { id: ReportId(id), ..report }));
    Ok(waiting)
}

fn left(update: PendingUpdate) -> Report {
    Report {
        id: ReportId(0),
        at: update.at.at,
        from: ELSEWHERE.to_owned(),
        text: update.message,
        label: Label::PLAIN,
    }
}
