//! The files derived from the schedule: changes of job files, and the session files of routines.
//!
//! The database is written first and contains the pending changes; the files follow, after a crash
//! at the next start. A file that the user changed meanwhile is not overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use domain::assistant::StateEdit;
use domain::conversation::{Head, SessionId};
use domain::cost::CostSource;
use domain::record::{PlanChange, Record, SessionHead};
use domain::schedule::{ItemId, Reminder, Routine, one_time_rule};
use jiff::Timestamp;

use crate::db::{Database, JobFileAction, JobFileChange};
use crate::disk::Disk;
use crate::files::FileError;
use crate::files::items::{Item, ItemDirectory};
use crate::files::routine_sessions::RoutineSessions;
use crate::frontmatter::{Change, Value};
use crate::git::Git;
use crate::import::Importer;
use crate::open::OpenParams;

pub struct PlanFiles {
    routines: ItemDirectory<Routine>,
    reminders: ItemDirectory<Reminder>,
    sessions: RoutineSessions,
    disk: Arc<dyn Disk>,
    git: Arc<Git>,
    /// Edits of other programs found by the last check.
    pending: Vec<(ItemId, SessionDifference)>,
}

/// Difference between a session file and the database.
#[derive(Clone, Debug, PartialEq)]
enum SessionDifference {
    Unchanged,
    Removed,
    /// It names another session, with this head.
    KnownSession(SessionHead),
    /// It names a session that the database does not know.
    UnknownSession(SessionId),
}

impl SessionDifference {
    /// Logs the edit of the session file of `routine`.
    fn log(&self, routine: &ItemId) {
        match self {
            Self::Unchanged => {}
            Self::Removed => {
                tracing::warn!(%routine, "The session file of a routine was removed or emptied.")
            }
            Self::KnownSession(SessionHead { session, .. }) => {
                tracing::warn!(%routine, %session, "The session file of a routine names another session now.");
            }
            Self::UnknownSession(session) => {
                tracing::warn!(%routine, %session, "The session file of a routine names a session that is not known.");
            }
        }
    }
}

/// Returns the head if it has an entry.
fn head_with_entry(head: Option<Head>) -> Option<SessionHead> {
    let Head { entry, session, label } = head?;
    Some(SessionHead { session, entry: entry?, label })
}

fn unknown_session_notice(routine: &ItemId, session: &SessionId) -> String {
    format!(
        "state/routine_sessions/{routine} names the session {session}, which I don't know, so the routine begins a new one."
    )
}

impl PlanFiles {
    /// The files of the data directory at `params.paths`. `git` commits the changes.
    pub fn new(params: &OpenParams, git: Arc<Git>) -> Self {
        let disk = &params.disk;
        let root = params.paths.root();
        Self {
            routines: ItemDirectory::new(Arc::clone(disk), root, params.zone.clone()),
            reminders: ItemDirectory::new(Arc::clone(disk), root, params.zone.clone()),
            sessions: RoutineSessions::new(Arc::clone(disk), &params.paths.state()),
            disk: Arc::clone(disk),
            git,
            pending: Vec::new(),
        }
    }

    /// Updates the files after `records` were written.
    pub fn apply(&mut self, records: &[Record], database: &mut Database) {
        let mut jobs = false;
        for record in records {
            let Record::Plan(change) = record else { continue };
            let followed = match change {
                PlanChange::SessionHead(routine, Some(stand)) => self.write_session(routine, stand, database),
                PlanChange::SessionHead(routine, None) => self.sessions.delete(routine).map(drop),
                PlanChange::JobFile(_) => {
                    jobs = true;
                    Ok(())
                }
                PlanChange::Watermark(..)
                | PlanChange::Forgotten(_)
                | PlanChange::Occurrence(_)
                | PlanChange::AllPaused(_)
                | PlanChange::PromptOrigin(..)
                | PlanChange::Marked(..)
                | PlanChange::Delivery(_)
                | PlanChange::UndoLog(_) => Ok(()),
            };
            log_failure(followed);
        }
        if jobs {
            self.apply_job_file_changes(database);
        }
    }

    /// Applies changes that a crash left pending and returns the current sessions of routines. If a
    /// file names an unknown session, the routine starts a new one, which is reported in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        mut import: Option<&mut Importer<'_>>,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<BTreeMap<ItemId, SessionHead>> {
        self.apply_job_file_changes(database);
        if let Err(error) = database.prune_occurrences(now) {
            tracing::warn!(%error, "Old times of jobs stay; the next start forgets them.");
        }
        let known: Vec<ItemId> = database.routine_sessions()?.into_keys().collect();
        for routine in known {
            let change = self.session_difference(&routine, database)?;
            change.log(&routine);
            match change {
                SessionDifference::Unchanged => {}
                SessionDifference::Removed => {
                    notices.push(format!(
                        "state/routine_sessions/{routine} was removed or emptied, so the routine begins a new session."
                    ));
                    database.remove_routine_session(&routine)?;
                }
                SessionDifference::KnownSession(stand) => {
                    let session = stand.session.clone();
                    database.write(&[Record::Plan(PlanChange::SessionHead(routine.clone(), Some(stand)))])?;
                    database.set_written_session(&routine, &session)?;
                    notices.push(format!(
                        "state/routine_sessions/{routine} names the session {session} now, and the routine goes on with it."
                    ));
                }
                SessionDifference::UnknownSession(session) => {
                    let imported = match &mut import {
                        Some(import) => import.import_routine(database, &routine, &session, notices)?,
                        None => false,
                    };
                    if !imported {
                        notices.push(unknown_session_notice(&routine, &session));
                        database.remove_routine_session(&routine)?;
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
        mut import: Option<&mut Importer<'_>>,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<()> {
        let stands = database.routine_sessions()?;
        for routine in self.sessions.routines().unwrap_or_default() {
            if stands.contains_key(&routine) {
                continue;
            }
            if !self.may_exist(&routine) {
                log_failure(self.sessions.delete(&routine).map(drop));
                continue;
            }
            let Ok(Some(session)) = self.sessions.peek(&routine) else { continue };
            if let Some(stand) = head_with_entry(database.session_head(&session)?) {
                database.write(&[Record::Plan(PlanChange::SessionHead(routine.clone(), Some(stand)))])?;
                database.set_written_session(&routine, &session)?;
            } else if let Some(import) = &mut import {
                import.import_routine(database, &routine, &session, notices)?;
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
    fn session_difference(
        &mut self,
        routine: &ItemId,
        database: &mut Database,
    ) -> rusqlite::Result<SessionDifference> {
        // An unreadable file is ignored.
        let Ok(named) = self.sessions.peek(routine) else { return Ok(SessionDifference::Unchanged) };
        let Some(stand) = database.routine_sessions()?.remove(routine) else {
            return Ok(SessionDifference::Unchanged);
        };
        let filed = database.written_session(routine)?;
        if named.as_ref() == Some(&stand.session) {
            if filed != named {
                database.set_written_session(routine, &stand.session)?;
            }
            return Ok(SessionDifference::Unchanged);
        }
        if named == filed {
            log_failure(self.write_session(routine, &stand, database));
            return Ok(SessionDifference::Unchanged);
        }
        Ok(match named {
            None => SessionDifference::Removed,
            Some(session) => match head_with_entry(database.session_head(&session)?) {
                Some(stand) => SessionDifference::KnownSession(stand),
                None => SessionDifference::UnknownSession(session),
            },
        })
    }

    /// Returns whether the last check found no edits.
    pub fn is_in_sync(&self) -> bool {
        self.pending.is_empty()
    }

    /// The edits of other programs in session files. An edit counts when two checks have found it,
    /// because the file may be half written, or after one if `at_once`.
    pub fn external_edits(
        &mut self,
        database: &mut Database,
        at_once: bool,
    ) -> rusqlite::Result<Vec<StateEdit>> {
        let stands = database.routine_sessions()?;
        let unknown = self.sessions.routines().unwrap_or_default();
        let unknown: Vec<ItemId> = unknown.into_iter().filter(|id| !stands.contains_key(id)).collect();
        let mut changes = Vec::new();
        for routine in stands.into_keys() {
            let change = self.session_difference(&routine, database)?;
            changes.push((routine, change));
        }
        for routine in unknown {
            let Ok(Some(session)) = self.sessions.peek(&routine) else { continue };
            // An unknown session is reported at the next start.
            if let Some(stand) = head_with_entry(database.session_head(&session)?) {
                changes.push((routine, SessionDifference::KnownSession(stand)));
            }
        }
        changes.retain(|(_, change)| *change != SessionDifference::Unchanged);
        let again = changes == self.pending;
        self.pending = changes;
        if !(again || at_once) {
            return Ok(Vec::new());
        }
        self.pending.iter().for_each(|(routine, change)| change.log(routine));
        let edits = self.pending.iter().map(|(routine, change)| match change {
            SessionDifference::KnownSession(stand) => {
                StateEdit::RoutineSession(routine.clone(), Some(stand.clone()))
            }
            SessionDifference::Removed | SessionDifference::Unchanged => {
                StateEdit::RoutineSession(routine.clone(), None)
            }
            SessionDifference::UnknownSession(session) => {
                StateEdit::UnknownRoutineSession(routine.clone(), session.clone())
            }
        });
        Ok(edits.collect())
    }

    fn write_session(
        &mut self,
        routine: &ItemId,
        stand: &SessionHead,
        database: &mut Database,
    ) -> Result<(), FileError> {
        self.sessions.save(routine, &stand.session)?;
        if let Err(error) = database.set_written_session(routine, &stand.session) {
            tracing::warn!(%error, "The file of a routine's session will be written again at the next start.");
        }
        Ok(())
    }

    fn apply_job_file_changes(&mut self, database: &mut Database) {
        let files = match database.pending_job_file_changes() {
            Ok(files) => files,
            Err(error) => return tracing::warn!(%error, "What is to be done to job files could not be read."),
        };
        let mut failed = BTreeSet::new();
        for file in files {
            // Keeps the order: skips further changes of a file after a failure.
            if failed.contains(&file.source) {
                continue;
            }
            match self.apply_job_file_change(&file) {
                Ok(()) => {
                    if let Err(error) = database.remove_job_file_change(file.id) {
                        tracing::warn!(%error, "A job file will be changed again at the next start.");
                    }
                }
                // The disk may work again later.
                Err(trouble) => {
                    failed.insert(file.source);
                    log_failure(Err(trouble));
                }
            }
        }
    }

    fn apply_job_file_change(&mut self, file: &JobFileChange) -> Result<(), FileError> {
        let done = match &file.source {
            CostSource::Routine(id) => change_file(&mut self.routines, id, &file.action, |_, _| true)?,
            CostSource::Reminder(id) => change_file(&mut self.reminders, id, &file.action, is_unchanged)?,
            CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Webhook(_)
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => None,
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
fn change_file<T: Item>(
    items: &mut ItemDirectory<T>,
    id: &str,
    work: &JobFileAction,
    is_original: impl Fn(&T, &str) -> bool,
) -> Result<Option<(PathBuf, &'static str)>, FileError> {
    match work {
        JobFileAction::Write(text) => match T::read(text, &jiff::tz::TimeZone::UTC) {
            Ok(item) => items.add_or_replace(&item).map(|path| Some((path, "add"))),
            Err(bad) => Err(FileError::refused(items.dir(), bad)),
        },
        JobFileAction::Remove(was, seen) => {
            let Some(path) = items.locate(id, seen.as_deref())? else { return Ok(None) };
            // The user has changed it meanwhile, so it is a different reminder now.
            if !was.is_empty() && !items.read(&path).is_ok_and(|item| is_original(&item, was)) {
                return Ok(None);
            }
            items.remove(&path)?;
            Ok(Some((path, "remove")))
        }
        JobFileAction::Set(key, value) => {
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
fn is_unchanged(reminder: &Reminder, was: &str) -> bool {
    let Some((due, words)) = was.split_once('\n') else { return one_time_rule(reminder.run_at.at) == was };
    let due = due.parse::<Timestamp>();
    // Compared at the precision of the database.
    let run_at = reminder.run_at.at.as_microsecond();
    due.is_ok_and(|due| run_at <= due.as_microsecond()) && reminder.prompt.as_str() == words
}

fn log_failure(followed: Result<(), FileError>) {
    if let Err(error) = followed {
        tracing::warn!(%error, "A file of what is planned could not be changed; the next start will.");
    }
}

#[cfg(test)]
mod tests {
    use domain::schedule::{JobTarget, Moment, Prompt};

    use super::*;

    fn reminder(run_at: &str, words: &str) -> Reminder {
        let run_at = Moment::parse(run_at, &jiff::tz::TimeZone::UTC).unwrap();
        Reminder::new(ItemId::parse("tea").unwrap(), run_at, JobTarget::main(), Prompt::new(words)).unwrap()
    }

    /// SC-19: a reminder is removed only if it is unchanged since it was due; its time may be more
    /// precise than the database.
    #[test]
    fn only_an_unchanged_reminder_is_removed() {
        let came = reminder("2026-11-16T11:28:23.255661183+01:00", "tea");
        let was = format!("{}\ntea", one_time_rule(came.run_at.at));
        assert!(is_unchanged(&came, &was));
        assert!(is_unchanged(&reminder("2026-11-16T11:00:00+01:00", "tea"), &was), "it rested until then");
        assert!(!is_unchanged(&reminder("2026-11-16T11:28:23.255661183+01:00", "green tea"), &was));
        assert!(!is_unchanged(&reminder("2026-11-16T12:00:00+01:00", "tea"), &was));
    }
}
