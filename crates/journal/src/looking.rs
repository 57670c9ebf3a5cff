//! Detects changes that other programs make to the state files while the daemon runs.
//!
//! The database is authoritative and the files are derived from it. If a file differs, and not
//! because our write failed, it was edited by the user or another program. The change is passed to
//! the assistant, which adopts it.

use std::io;

use domain::assistant::StateEdit;
use domain::conversation::SessionId;
use engine::ports::Unreadable;
use jiff::Timestamp;

use crate::disk::Listed;
use crate::{Journal, Stamp, Writer, closed};

/// The observed state files, besides those of routine sessions.
const FILES: [&str; 3] = ["sessions.json", "pending_updates.json", "fork_messages.json"];

/// State of the last check.
#[derive(Default)]
pub(crate) struct Look {
    /// The stamps of the files, if that check found no differences.
    quiet: Option<Stamps>,
    /// The session that `sessions.json` named, if it differed.
    main: Option<Option<SessionId>>,
}

impl Look {
    /// Forces the next check to compare the files with the database.
    pub(crate) fn journal_changed(&mut self) {
        self.quiet = None;
    }
}

/// The stamps of the observed files.
#[derive(PartialEq)]
struct Stamps {
    files: [Option<Stamp>; FILES.len()],
    routines: Vec<Listed>,
}

impl Journal {
    /// The changes that other programs made to the state files. A change is returned after two
    /// checks have found it, because the file may be half written, or after one if `at_once`. It is
    /// returned until the assistant has adopted it.
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
        // If the files cannot be accessed, they are read each time.
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
            // Files written during the check are checked again next time.
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
            // Our own write failed and is repeated before the file is compared.
            if self.files.make(&unmade).is_ok() {
                self.database.made(&unmade)?;
            }
            return Ok(None);
        }
        // An unreadable file is ignored.
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
