//! Looking for changes that other programs make to the state files while the assistant runs.
//!
//! The journal holds the truth, and the files say the same. A file that says something else, and not because a write of ours
//! failed, was changed by hand or by another program: the change is handed to the assistant, which follows it.

use std::io;

use domain::assistant::StateEdit;
use domain::conversation::SessionId;
use engine::ports::Unreadable;
use jiff::Timestamp;

use crate::disk::Listed;
use crate::{Journal, Stamp, Writer, closed};

/// The state files that are followed, beside those of routines' sessions.
const FILES: [&str; 3] = ["sessions.json", "pending_updates.json", "fork_messages.json"];

/// What was seen at the last look.
#[derive(Default)]
pub(crate) struct Look {
    /// The files, when a look found nothing to change.
    quiet: Option<Stamps>,
    /// What `sessions.json` named.
    main: Option<Option<SessionId>>,
}

impl Look {
    /// The files are compared with the journal again, even if they are the same as at the last look.
    pub(crate) fn journal_changed(&mut self) {
        self.quiet = None;
    }
}

/// What tells the state files from those of the last look.
#[derive(PartialEq)]
struct Stamps {
    files: [Option<Stamp>; FILES.len()],
    routines: Vec<Listed>,
}

impl Journal {
    /// Returns what other programs changed in the state files. A change is returned when it was seen by two looks, because
    /// the file may be half written; with `at_once`, by one. It is returned again until the assistant has followed it.
    pub async fn changed_outside(&self, at_once: bool, now: Timestamp) -> Result<Vec<StateEdit>, Unreadable> {
        let paths = self.paths.clone();
        let looked = self.writer.ask(move |writer| writer.changed_outside(&paths, at_once, now));
        looked.await.ok_or_else(|| Unreadable(closed().0))?.map_err(|error| Unreadable(error.to_string()))
    }
}

impl Writer {
    fn changed_outside(
        &mut self,
        paths: &crate::Paths,
        at_once: bool,
        now: Timestamp,
    ) -> rusqlite::Result<Vec<StateEdit>> {
        // One that cannot be looked at is read each time.
        let stamps = self.stamps(paths).ok();
        if stamps.is_some() && stamps == self.look.quiet {
            return Ok(Vec::new());
        }
        self.look.quiet = None;
        let mut edits: Vec<StateEdit> = self.main_changed(at_once)?.into_iter().collect();
        let waits = self.look.main.is_some() && edits.is_empty();
        edits.extend(self.plans.changed(&mut self.database, at_once)?);
        edits.extend(self.reports.changed(&mut self.database, at_once, now));
        edits.extend(self.sent.changed(&mut self.database, at_once, now));
        let is_quiet = self.plans.is_quiet() && self.reports.is_quiet() && self.sent.is_quiet();
        if edits.is_empty() && !waits && is_quiet {
            // What was written while we looked is seen next time.
            self.look.quiet = stamps.filter(|stamps| self.stamps(paths).ok().as_ref() == Some(stamps));
        }
        Ok(edits)
    }

    fn stamps(&self, paths: &crate::Paths) -> io::Result<Stamps> {
        let disk = &self.disk;
        let state = paths.state();
        let mut files = [const { None }; FILES.len()];
        for (stamp, name) in files.iter_mut().zip(FILES) {
            *stamp = disk.stamp(&state.join(name))?;
        }
        let mut routines = match disk.list(&state.join("routine_sessions")) {
            Ok(routines) => routines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        routines.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Stamps { files, routines })
    }

    fn main_changed(&mut self, at_once: bool) -> rusqlite::Result<Option<StateEdit>> {
        let unmade = self.database.unmade()?;
        if !unmade.is_empty() {
            // A write of ours failed, and is tried again before the file counts.
            if self.files.make(&unmade).is_ok() {
                self.database.made(&unmade)?;
            }
            return Ok(None);
        }
        // A file that cannot be read now says nothing.
        let Ok(named) = self.files.named() else { return Ok(None) };
        if named == self.database.main_session()? {
            self.look.main = None;
            return Ok(None);
        }
        if !at_once && self.look.main.as_ref() != Some(&named) {
            self.look.main = Some(named);
            return Ok(None);
        }
        let Some(session) = named else {
            tracing::warn!("state/sessions.json was removed or emptied: a new session begins.");
            return Ok(Some(StateEdit::MainSession(None)));
        };
        if let Some(head) = self.database.head_of(&session)? {
            tracing::warn!(%session, "state/sessions.json names another session now.");
            return Ok(Some(StateEdit::MainSession(Some(head))));
        }
        tracing::warn!(%session, "state/sessions.json names a session that is not known: a new session begins.");
        if let Err(error) = self.files.forget() {
            tracing::warn!(%error, "state/sessions.json could not be removed.");
        }
        Ok(Some(StateEdit::UnknownMainSession(session)))
    }
}
