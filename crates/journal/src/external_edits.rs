//! Detects changes that other programs make to the state files while the daemon runs.
//!
//! The database is authoritative and the files are derived from it. If a file differs, and not
//! because our write failed, it was edited by the user or another program. The change is passed to
//! the assistant, which adopts it.

use std::io;

use domain::assistant::StateEdit;
use domain::conversation::SessionId;
use engine::ports::ReadError;
use jiff::Timestamp;

use crate::disk::FileEntry;
use crate::{Journal, Stamp, Writer, closed_error};

/// The observed state files, besides those of routine sessions.
const OBSERVED_FILES: [&str; 3] = ["sessions.json", "pending_updates.json", "fork_messages.json"];

/// State of the last check.
#[derive(Default)]
pub(crate) struct ExternalEditCheck {
    /// The stamps of the files, if that check found no differences.
    unchanged: Option<Stamps>,
    /// The session that `sessions.json` named, if it differed.
    pending_main: Option<Option<SessionId>>,
}

impl ExternalEditCheck {
    /// Forces the next check to compare the files with the database.
    pub(crate) fn on_journal_changed(&mut self) {
        self.unchanged = None;
    }
}

/// The stamps of the observed files.
#[derive(PartialEq)]
struct Stamps {
    files: [Option<Stamp>; OBSERVED_FILES.len()],
    routines: Vec<FileEntry>,
}

impl Journal {
    /// The changes that other programs made to the state files. A change is returned after two
    /// checks have found it, because the file may be half written, or after one if `at_once`. It is
    /// returned until the assistant has adopted it.
    pub async fn external_edits(&self, at_once: bool, now: Timestamp) -> Result<Vec<StateEdit>, ReadError> {
        let paths = self.paths.clone();
        let looked = self.writer.run(move |writer| writer.external_edits(&paths, at_once, now));
        looked.await.ok_or_else(|| ReadError(closed_error().0))?.map_err(|error| ReadError(error.to_string()))
    }
}

impl Writer {
    fn external_edits(
        &mut self,
        paths: &crate::Paths,
        at_once: bool,
        now: Timestamp,
    ) -> rusqlite::Result<Vec<StateEdit>> {
        // If the files cannot be accessed, they are read each time.
        let stamps = self.file_stamps(paths).ok();
        if stamps.is_some() && stamps == self.edit_check.unchanged {
            return Ok(Vec::new());
        }
        self.edit_check.unchanged = None;
        let mut edits: Vec<StateEdit> = self.main_session_edit(at_once)?.into_iter().collect();
        let waits = self.edit_check.pending_main.is_some() && edits.is_empty();
        edits.extend(self.plans.external_edits(&mut self.database, at_once)?);
        edits.extend(self.reports.external_edits(&mut self.database, at_once, now));
        edits.extend(self.sent.external_edits(&mut self.database, at_once, now));
        let is_quiet = self.plans.is_in_sync() && self.reports.is_in_sync() && self.sent.is_in_sync();
        if edits.is_empty() && !waits && is_quiet {
            // Files written during the check are checked again next time.
            self.edit_check.unchanged =
                stamps.filter(|stamps| self.file_stamps(paths).ok().as_ref() == Some(stamps));
        }
        Ok(edits)
    }

    fn file_stamps(&self, paths: &crate::Paths) -> io::Result<Stamps> {
        let disk = &self.disk;
        let state = paths.state();
        let mut files = [const { None }; OBSERVED_FILES.len()];
        for (stamp, name) in files.iter_mut().zip(OBSERVED_FILES) {
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

    fn main_session_edit(&mut self, at_once: bool) -> rusqlite::Result<Option<StateEdit>> {
        let unmade = self.database.pending_file_changes()?;
        if !unmade.is_empty() {
            // Our own write failed and is repeated before the file is compared.
            if self.files.apply(&unmade).is_ok() {
                self.database.remove_file_changes(&unmade)?;
            }
            return Ok(None);
        }
        // An unreadable file is ignored.
        let Ok(named) = self.files.peek_main_session() else { return Ok(None) };
        if named == self.database.main_session()? {
            self.edit_check.pending_main = None;
            return Ok(None);
        }
        if !at_once && self.edit_check.pending_main.as_ref() != Some(&named) {
            self.edit_check.pending_main = Some(named);
            return Ok(None);
        }
        let Some(session) = named else {
            tracing::warn!("state/sessions.json was removed or emptied: a new session begins.");
            return Ok(Some(StateEdit::MainSession(None)));
        };
        if let Some(head) = self.database.session_head(&session)? {
            tracing::warn!(%session, "state/sessions.json names another session now.");
            return Ok(Some(StateEdit::MainSession(Some(head))));
        }
        tracing::warn!(%session, "state/sessions.json names a session that is not known: a new session begins.");
        if let Err(error) = self.files.delete_main_session() {
            tracing::warn!(%error, "state/sessions.json could not be removed.");
        }
        Ok(Some(StateEdit::UnknownMainSession(session)))
    }
}
