//! `pending_updates.json` beside the journal.
//!
//! The journal is written first and the file follows. What another program adds to the file or removes from it is taken over.
//! To tell its changes from a write of ours that a crash prevented, the journal holds the hash of the text that was in the
//! file when the journal was last written: a file with that text is ours and out of date.

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

/// Under this name the journal holds what was in the file.
pub const NOTE: &str = "state:pending_updates";

/// The file, and the zone in which it tells times.
pub struct ReportFile {
    file: PendingUpdates,
    zone: TimeZone,
    /// What the file held when we last read or wrote it.
    held: Held,
    /// The file does not show what the journal holds, because another program had changed it first.
    behind: bool,
    /// A text of another program that was seen once. It counts when it is seen again: it may be half written.
    seen: Option<String>,
}

/// The content of the file at one time.
#[derive(Default)]
struct Held {
    hash: String,
    updates: Vec<(Timestamp, String)>,
    /// The newest report that the journal held then.
    newest: u64,
}

impl ReportFile {
    /// The file of the data directory at `place`.
    pub fn new(place: &Place) -> Self {
        let file = PendingUpdates::new(Arc::clone(&place.disk), &place.paths.state());
        Self { file, zone: place.zone.clone(), held: Held::default(), behind: false, seen: None }
    }

    /// What the journal is to hold of the file, in the transaction that changes reports.
    pub fn note(&self) -> (&'static str, String) {
        (NOTE, format!("{} {}", self.held.newest, self.held.hash))
    }

    /// Writes the reports of the journal into the file. A file that another program has changed is left for `changed`.
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

    /// Lets the journal hold what is in the file now: without this an update that was removed by hand while the program was down
    /// could be one that never reached the file.
    fn keep_note(&self, database: &mut Database) -> Result<(), String> {
        let (name, note) = self.note();
        database.keep(name, &note).map_err(|error| error.to_string())
    }

    /// Writes the file. One that says the same is not written again if it `is_safe`: an earlier write may have failed before it
    /// was on the disk for good.
    fn write(&mut self, database: &Database, is_safe: bool) -> Result<(), String> {
        let waiting = database.reports().map_err(|error| error.to_string())?;
        let updates: Vec<(Timestamp, String)> = waiting.iter().map(key).collect();
        let nothing = updates.is_empty() && self.held.updates.is_empty();
        if updates != self.held.updates || !(is_safe || nothing) {
            let all: Vec<PendingUpdate> = waiting.iter().map(|report| self.update(report)).collect();
            let written = self.file.replace(&all, &self.held.hash);
            let Some(hash) = written.map_err(|error| error.to_string())? else {
                // Another program wrote meanwhile. `changes` finds what, and this is written then.
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

    /// Takes over what other programs changed while this one did not run, and writes the file. Damage is told in `notices`.
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
                // Whatever of it could be read stands there now.
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

    /// Adds updates that the journal never held, and marks those up to `newest` as read that are gone from the file.
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

    /// What another program changed in the file since we last read or wrote it. `at_once` is for the start, when nobody is
    /// writing it.
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
            // All of it is in the journal. A file that says the same is not written again: the other program may be
            // writing its next change, which would be lost.
            self.hold(&updates, hash);
            self.seen = None;
            self.write(database, true)?;
            self.keep_note(database)?;
        } else {
            tracing::warn!(changes = edits.len(), "Another program changed pending_updates.json.");
        }
        Ok(edits)
    }

    /// Takes over what can be read of a damaged file. What is missing from it counts as damaged, and not as removed.
    fn mend(&mut self, database: &mut Database, now: Timestamp) -> Result<Vec<StateEdit>, String> {
        let found = self.file.peek(now).map_err(|error| error.to_string())?;
        let damage: Vec<StateEdit> =
            found.damage.iter().map(|damage| StateEdit::Damaged(damage.to_string())).collect();
        // Whatever of it could be read stands there now.
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
            // The hash stays that of our last text, so that nothing is written over the new ones until they are followed.
            let is_new = |key: &(Timestamp, String)| {
                edits.contains(&StateEdit::UpdateAdded { at: key.0, text: key.1.clone() })
            };
            self.held.updates = listed.into_iter().filter(|key| !is_new(key)).collect();
            self.seen = Some(hash);
        }
        Ok(damage.into_iter().chain(edits).collect())
    }

    /// Whether the file shows what the journal holds, as far as is known.
    pub fn is_quiet(&self) -> bool {
        self.seen.is_none() && !self.behind
    }

    fn update(&self, report: &Report) -> PendingUpdate {
        let at = Moment::of(&report.at.to_zoned(self.zone.clone()));
        PendingUpdate::new(at, report.text.clone())
    }
}

/// The time as finely as the journal holds it.
fn micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

fn keys(updates: &[PendingUpdate]) -> Vec<(Timestamp, String)> {
    updates.iter().map(|update| (micros(update.at.at), update.message.clone())).collect()
}

/// Those of `listed` that the journal never held.
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

/// The reports that main has not read in the data directory at `paths`, whether or not somebody uses it: those in
/// the log, and those that others left in the file and nobody has taken over.
pub fn reports(paths: &Paths, disk: Arc<dyn Disk>) -> Result<Vec<Report>, String> {
    let database = peek(paths).map_err(|error| error.to_string())?;
    let waiting = database.map_or(Ok(Vec::new()), |database| database.readable());
    let mut waiting = waiting.map_err(|error| error.to_string())?;
    let next = waiting.last().map_or(1, |newest| newest.id.0 + 1);
    // A file that cannot be read is for the next start to tell of: who only looks changes nothing.
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
