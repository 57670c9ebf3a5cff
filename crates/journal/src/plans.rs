//! The files derived from the schedule: changes of job files, and the session files of routines.
//!
//! The database is written first and contains the pending changes; the files follow, after a crash
//! at the next start. A file that the user changed meanwhile is not overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::conversation::{Head, SessionId};
use domain::cost::Source;
use domain::record::{PlanChange, Record, Stand};
use domain::schedule::{ItemId, Reminder, Routine, once};
use jiff::Timestamp;

use crate::db::{Database, JobFile, Work};
use crate::disk::Disk;
use crate::files::Trouble;
use crate::files::items::{Item, Items};
use crate::files::routine_sessions::RoutineSessions;
use crate::frontmatter::{Change, Value};
use crate::git::Git;
use crate::importing::Import;
use crate::open::Place;

pub struct PlanFiles {
    routines: Items<Routine>,
    reminders: Items<Reminder>,
    sessions: RoutineSessions,
    disk: Arc<dyn Disk>,
    git: Arc<Git>,
    /// Edits of other programs found by the last check.
    seen: Vec<(ItemId, Difference)>,
}

/// Difference between a session file and the database.
#[derive(Clone, Debug, PartialEq)]
enum Difference {
    None,
    Gone,
    /// It names another session, with this head.
    Known(Stand),
    /// It names a session that the database does not know.
    Unknown(SessionId),
}

impl Difference {
    /// Logs the edit of the session file of `routine`.
    fn log(&self, routine: &ItemId) {
        match self {
            Self::None => {}
            Self::Gone => tracing::warn!(%routine, "The session file of a routine was removed or emptied."),
            Self::Known(Stand { session, .. }) => {
                tracing::warn!(%routine, %session, "The session file of a routine names another session now.");
            }
            Self::Unknown(session) => {
                tracing::warn!(%routine, %session, "The session file of a routine names a session that is not known.");
            }
        }
    }
}

/// Returns the head if it has an entry.
fn stand_of(head: Option<Head>) -> Option<Stand> {
    let Head { entry, session, label } = head?;
    Some(Stand { session, entry: entry?, label })
}

fn unknown(routine: &ItemId, session: &SessionId) -> String {
    format!(
        "state/routine_sessions/{routine} names the session {session}, which I don't know, so the routine begins a new one."
    )
}

impl PlanFiles {
    /// The files of the data directory at `params.paths`. `git` commits the changes.
    pub fn new(place: &Place, git: Arc<Git>) -> Self {
        let disk = &place.disk;
        let root = place.paths.root();
        Self {
            routines: Items::new(Arc::clone(disk), root, place.zone.clone()),
            reminders: Items::new(Arc::clone(disk), root, place.zone.clone()),
            sessions: RoutineSessions::new(Arc::clone(disk), &place.paths.state()),
            disk: Arc::clone(disk),
            git,
            seen: Vec::new(),
        }
    }

    /// Updates the files after `records` were written.
    pub fn follow(&mut self, records: &[Record], database: &mut Database) {
        let mut jobs = false;
        for record in records {
            let Record::Plan(change) = record else { continue };
            let followed = match change {
                PlanChange::Session(routine, Some(stand)) => self.file_session(routine, stand, database),
                PlanChange::Session(routine, None) => self.sessions.delete(routine).map(drop),
                PlanChange::File(_) => {
                    jobs = true;
                    Ok(())
                }
                PlanChange::Accounted(..)
                | PlanChange::Forgotten(_)
                | PlanChange::Occurred(_)
                | PlanChange::Rest(_)
                | PlanChange::Written(..)
                | PlanChange::Marked(..)
                | PlanChange::Delivery(_)
                | PlanChange::Changes(_) => Ok(()),
            };
            warn(followed);
        }
        if jobs {
            self.work_off(database);
        }
    }

    /// Applies changes that a crash left pending and returns the current sessions of routines. If a
    /// file names an unknown session, the routine starts a new one, which is reported in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        mut import: Option<&mut Import<'_>>,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<BTreeMap<ItemId, Stand>> {
        self.work_off(database);
        if let Err(error) = database.forget_old_times(now) {
            tracing::warn!(%error, "Old times of jobs stay; the next start forgets them.");
        }
        let known: Vec<ItemId> = database.routine_sessions()?.into_keys().collect();
        for routine in known {
            let change = self.change_of(&routine, database)?;
            change.log(&routine);
            match change {
                Difference::None => {}
                Difference::Gone => {
                    notices.push(format!(
                        "state/routine_sessions/{routine} was removed or emptied, so the routine begins a new session."
                    ));
                    database.forget_session(&routine)?;
                }
                Difference::Known(stand) => {
                    let session = stand.session.clone();
                    database.write(&[Record::Plan(PlanChange::Session(routine.clone(), Some(stand)))])?;
                    database.session_filed(&routine, &session)?;
                    notices.push(format!(
                        "state/routine_sessions/{routine} names the session {session} now, and the routine goes on with it."
                    ));
                }
                Difference::Unknown(session) => {
                    let imported = match &mut import {
                        Some(import) => import.routine(database, &routine, &session, notices)?,
                        None => false,
                    };
                    if !imported {
                        notices.push(unknown(&routine, &session));
                        database.forget_session(&routine)?;
                    }
                }
            }
        }
        self.adopt_sessions(database, import, notices)?;
        database.routine_sessions()
    }

    /// RP-30: adopts the session file of an existing routine if its session is known or can be
    /// imported. Deletes other session files, unless some file may become that routine again.
    fn adopt_sessions(
        &mut self,
        database: &mut Database,
        mut import: Option<&mut Import<'_>>,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<()> {
        let stands = database.routine_sessions()?;
        for routine in self.sessions.routines().unwrap_or_default() {
            if stands.contains_key(&routine) {
                continue;
            }
            if !self.may_exist(&routine) {
                warn(self.sessions.delete(&routine).map(drop));
                continue;
            }
            let Ok(Some(session)) = self.sessions.named(&routine) else { continue };
            if let Some(stand) = stand_of(database.head_of(&session)?) {
                database.write(&[Record::Plan(PlanChange::Session(routine.clone(), Some(stand)))])?;
                database.session_filed(&routine, &session)?;
            } else if let Some(import) = &mut import {
                import.routine(database, &routine, &session, notices)?;
            }
        }
        Ok(())
    }

    /// Returns whether a routine file contains the id, even an invalid one.
    fn may_exist(&self, routine: &ItemId) -> bool {
        let Ok(listed) = self.disk.list(self.routines.dir()) else { return false };
        listed.iter().any(|listed| {
            let text = self.disk.read_part(&listed.path, 0, 1 << 16).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(routine.as_str())
        })
    }

    /// Compares the session file of `routine` with the database. If our own write had failed, it is
    /// repeated.
    fn change_of(&mut self, routine: &ItemId, database: &mut Database) -> rusqlite::Result<Difference> {
        // An unreadable file is ignored.
        let Ok(named) = self.sessions.named(routine) else { return Ok(Difference::None) };
        let Some(stand) = database.routine_sessions()?.remove(routine) else {
            return Ok(Difference::None);
        };
        let filed = database.filed_session(routine)?;
        if named.as_ref() == Some(&stand.session) {
            if filed != named {
                database.session_filed(routine, &stand.session)?;
            }
            return Ok(Difference::None);
        }
        if named == filed {
            warn(self.file_session(routine, &stand, database));
            return Ok(Difference::None);
        }
        Ok(match named {
            None => Difference::Gone,
            Some(session) => match stand_of(database.head_of(&session)?) {
                Some(stand) => Difference::Known(stand),
                None => Difference::Unknown(session),
            },
        })
    }

    /// Returns whether the last check found no edits.
    pub fn is_quiet(&self) -> bool {
        self.seen.is_empty()
    }

    /// The edits of other programs in session files. An edit counts when two checks have found it,
    /// because the file may be half written, or after one if `at_once`.
    pub fn changed(&mut self, database: &mut Database, at_once: bool) -> rusqlite::Result<Vec<StateEdit>> {
        let stands = database.routine_sessions()?;
        let unknown = self.sessions.routines().unwrap_or_default();
        let unknown: Vec<ItemId> = unknown.into_iter().filter(|id| !stands.contains_key(id)).collect();
        let mut changes = Vec::new();
        for routine in stands.into_keys() {
            let change = self.change_of(&routine, database)?;
            changes.push((routine, change));
        }
        for routine in unknown {
            let Ok(Some(session)) = self.sessions.named(&routine) else { continue };
            // An unknown session is reported at the next start.
            if let Some(stand) = stand_of(database.head_of(&session)?) {
                changes.push((routine, Difference::Known(stand)));
            }
        }
        changes.retain(|(_, change)| *change != Difference::None);
        let again = changes == self.seen;
        self.seen = changes;
        if !(again || at_once) {
            return Ok(Vec::new());
        }
        self.seen.iter().for_each(|(routine, change)| change.log(routine));
        let edits = self.seen.iter().map(|(routine, change)| match change {
            Difference::Known(stand) => StateEdit::RoutineSession(routine.clone(), Some(stand.clone())),
            Difference::Gone | Difference::None => StateEdit::RoutineSession(routine.clone(), None),
            Difference::Unknown(session) => {
                StateEdit::UnknownRoutineSession(routine.clone(), session.clone())
            }
        });
        Ok(edits.collect())
    }

    fn file_session(
        &mut self,
        routine: &ItemId,
        stand: &Stand,
        database: &mut Database,
    ) -> Result<(), Trouble> {
        self.sessions.save(routine, &stand.session)?;
        if let Err(error) = database.session_filed(routine, &stand.session) {
            tracing::warn!(%error, "The file of a routine's session will be written again at the next start.");
        }
        Ok(())
    }

    fn work_off(&mut self, database: &mut Database) {
        let files = match database.job_files() {
            Ok(files) => files,
            Err(error) => return tracing::warn!(%error, "What is to be done to job files could not be read."),
        };
        let mut failed = BTreeSet::new();
        for file in files {
            // Keeps the order: skips further changes of a file after a failure.
            if failed.contains(&file.source) {
                continue;
            }
            match self.work(&file) {
                Ok(()) => {
                    if let Err(error) = database.job_file_done(file.id) {
                        tracing::warn!(%error, "A job file will be changed again at the next start.");
                    }
                }
                // The disk may work again later.
                Err(trouble) => {
                    failed.insert(file.source);
                    warn(Err(trouble));
                }
            }
        }
    }

    fn work(&mut self, file: &JobFile) -> Result<(), Trouble> {
        let done = match &file.source {
            Source::Routine(id) => changed(&mut self.routines, id, &file.work, |_, _| true)?,
            Source::Reminder(id) => changed(&mut self.reminders, id, &file.work, is_as_it_was)?,
            Source::Main
            | Source::Fork
            | Source::Compaction
            | Source::Webhook(_)
            | Source::Agent(_)
            | Source::Reader
            | Source::Search => None,
        };
        if let Some((path, verb)) = done {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match verb {
                "remove" => self.git.commit_removal(&path, format!("remove {name}")),
                verb => self.git.commit(&path, format!("{verb} {name}")),
            }
        }
        Ok(())
    }
}

/// Changes the file of the item `id`. Returns its path and a verb for the commit message.
fn changed<T: Item>(
    items: &mut Items<T>,
    id: &str,
    work: &Work,
    is_as_it_was: impl Fn(&T, &str) -> bool,
) -> Result<Option<(PathBuf, &'static str)>, Trouble> {
    match work {
        Work::Write(text) => match T::read(text, &jiff::tz::TimeZone::UTC) {
            Ok(item) => items.put(&item).map(|path| Some((path, "add"))),
            Err(bad) => Err(Trouble::refused(items.dir(), bad)),
        },
        Work::Remove(was, seen) => {
            let Some(path) = items.locate(id, seen.as_deref())? else { return Ok(None) };
            // The user has changed it meanwhile, so it is a different reminder now.
            if !was.is_empty() && !items.read(&path).is_ok_and(|item| is_as_it_was(&item, was)) {
                return Ok(None);
            }
            items.remove(&path)?;
            Ok(Some((path, "remove")))
        }
        Work::Set(key, value) => {
            let change = match value.as_deref() {
                None => Change::Remove,
                // Written as a boolean.
                Some("true") => Change::Set(Value::Flag(true)),
                Some(value) => Change::Set(Value::Text(value.to_owned())),
            };
            items.edit(id, key, &change).map(|path| path.map(|path| (path, "update")))
        }
    }
}

/// Returns whether a reminder is unchanged since it was due: the same text, and a time that is not
/// later.
fn is_as_it_was(reminder: &Reminder, was: &str) -> bool {
    let Some((due, words)) = was.split_once('\n') else { return once(reminder.run_at.at) == was };
    let due = due.parse::<Timestamp>();
    // Compared at the precision of the database.
    let run_at = reminder.run_at.at.as_microsecond();
    due.is_ok_and(|due| run_at <= due.as_microsecond()) && reminder.message.as_str() == words
}

fn warn(followed: Result<(), Trouble>) {
    if let Err(error) = followed {
        tracing::warn!(%error, "A file of what is planned could not be changed; the next start will.");
    }
}

#[cfg(test)]
mod tests {
    use domain::schedule::{Charter, Moment, Prompt};

    use super::*;

    fn reminder(run_at: &str, words: &str) -> Reminder {
        let run_at = Moment::parse(run_at, &jiff::tz::TimeZone::UTC).unwrap();
        Reminder::new(ItemId::parse("tea").unwrap(), run_at, Charter::main(), Prompt::new(words)).unwrap()
    }

    /// SC-19: a reminder is removed only if it is unchanged since it was due; its time may be more
    /// precise than the database.
    #[test]
    fn a_reminder_goes_as_it_was_and_not_otherwise() {
        let came = reminder("2026-11-16T11:28:23.255661183+01:00", "tea");
        let was = format!("{}\ntea", once(came.run_at.at));
        assert!(is_as_it_was(&came, &was));
        assert!(is_as_it_was(&reminder("2026-11-16T11:00:00+01:00", "tea"), &was), "it rested until then");
        assert!(!is_as_it_was(&reminder("2026-11-16T11:28:23.255661183+01:00", "green tea"), &was));
        assert!(!is_as_it_was(&reminder("2026-11-16T12:00:00+01:00", "tea"), &was));
    }
}
