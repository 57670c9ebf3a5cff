//! The files of what is planned, beside the log: job files that we change, and the sessions of routines.
//!
//! The log is written first and says what is to be done; the files follow, and what a crash left out is done at the
//! next start. A file that a person changed meanwhile stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use domain::cost::Source;
use domain::record::{PlanChange, Record, Stand};
use domain::schedule::{ItemId, Reminder, Routine, once};
use jiff::Timestamp;

use crate::db::{Database, JobFile, Work};
use crate::files::Trouble;
use crate::files::items::{Item, Items};
use crate::files::routine_sessions::RoutineSessions;
use crate::frontmatter::{Change, Value};
use crate::git::Git;
use crate::open::Place;

/// The files.
pub struct PlanFiles {
    routines: Items<Routine>,
    reminders: Items<Reminder>,
    sessions: RoutineSessions,
    git: Arc<Git>,
}

impl PlanFiles {
    /// The files of the data directory at `place`, whose history `git` keeps.
    pub fn new(place: &Place, git: Arc<Git>) -> Self {
        let (disk, root) = (&place.disk, place.paths.root());
        Self {
            routines: Items::new(Arc::clone(disk), root, place.zone.clone()),
            reminders: Items::new(Arc::clone(disk), root, place.zone.clone()),
            sessions: RoutineSessions::new(Arc::clone(disk), &place.paths.state()),
            git,
        }
    }

    /// Lets the files say what `records` say, now that those are written.
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
                | PlanChange::Delivery(_)
                | PlanChange::Changes(_) => Ok(()),
            };
            warn(followed);
        }
        if jobs {
            self.work_off(database);
        }
    }

    /// Does what a crash left out. Gives where the sessions of routines stand: one whose file names another session
    /// than we know begins anew, and that is told in `notices`.
    pub fn reconcile(
        &mut self,
        database: &mut Database,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<BTreeMap<ItemId, Stand>> {
        self.work_off(database);
        if let Err(error) = database.forget_old_times(now) {
            tracing::warn!(%error, "Old times of jobs stay; the next start forgets them.");
        }
        let mut stands = database.routine_sessions()?;
        let known: Vec<ItemId> = stands.keys().cloned().collect();
        for routine in known {
            // What cannot be read now says nothing.
            let (Ok(found), Some(stand)) = (self.sessions.load(&routine, now), stands.get(&routine).cloned())
            else {
                continue;
            };
            let named = found.value;
            if named.as_ref() == Some(&stand.session) {
                continue;
            }
            if named == database.filed_session(&routine)? {
                // Nobody has touched it: we died, or the disk failed, before it followed.
                warn(self.file_session(&routine, &stand, database));
                continue;
            }
            if let Some(named) = named {
                notices.push(format!(
                    "state/routine_sessions/{routine} names the session {named}, which i don't know, so the routine \
                     begins a new one."
                ));
            }
            stands.remove(&routine);
            database.forget_session(&routine)?;
        }
        self.sweep_sessions(&stands);
        Ok(stands)
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

    /// RP-30, RP-32: a file whose session nobody knows leads nowhere.
    fn sweep_sessions(&mut self, stands: &BTreeMap<ItemId, Stand>) {
        let listed = self.sessions.routines().unwrap_or_default();
        for routine in listed.iter().filter(|routine| !stands.contains_key(routine)) {
            warn(self.sessions.delete(routine).map(drop));
        }
    }

    fn work_off(&mut self, database: &mut Database) {
        let files = match database.job_files() {
            Ok(files) => files,
            Err(error) => return tracing::warn!(%error, "What is to be done to job files could not be read."),
        };
        let mut failed = BTreeSet::new();
        for file in files {
            // What comes later to the same file comes after what failed.
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
            | Source::Reader => None,
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

/// Changes the file of the item `id`, and gives it with a word for what was done.
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
            // A person has changed it since, or is about to: it is another one now.
            if !was.is_empty() && !items.read(&path).is_ok_and(|item| is_as_it_was(&item, was)) {
                return Ok(None);
            }
            items.remove(&path)?;
            Ok(Some((path, "remove")))
        }
        Work::Set(key, value) => {
            let change = match value.as_deref() {
                None => Change::Remove,
                // A flag, as people write it.
                Some("true") => Change::Set(Value::Flag(true)),
                Some(value) => Change::Set(Value::Text(value.to_owned())),
            };
            items.edit(id, key, &change).map(|path| path.map(|path| (path, "update")))
        }
    }
}

/// Whether a reminder still says what it said when it came: its words, and a time that is not later.
fn is_as_it_was(reminder: &Reminder, was: &str) -> bool {
    let Some((due, words)) = was.split_once('\n') else { return once(reminder.run_at.at) == was };
    let due = due.parse::<Timestamp>();
    // Both as finely as the journal keeps them.
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

    /// SC-19: only a reminder that nobody touched since it came goes; its time may be finer than the journal keeps it.
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
