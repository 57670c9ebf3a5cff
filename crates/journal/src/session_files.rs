//! The files of the main session and of the session history.

use std::sync::Arc;

use domain::conversation::SessionId;
use domain::record::SessionChange;
use domain::run::RunMode;
use domain::schedule::Moment;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::db::SessionFileChange;
use crate::files::session_history::{EventKind, SessionEvent, SessionHistory};
use crate::files::sessions::{MainSessionFile, SaveReason};
use crate::files::{FileContent, FileError};
use crate::git::Git;
use crate::open::{HistoryMode, OpenParams};

pub struct SessionFiles {
    sessions: MainSessionFile,
    history: SessionHistory,
    git: Arc<Git>,
    zone: TimeZone,
}

impl SessionFiles {
    /// Opens the files of a data directory. Reports damage in `notices`.
    pub fn open(
        params: &OpenParams,
        tracked: HistoryMode,
        notices: &mut Vec<String>,
    ) -> Result<Self, FileError> {
        let state = params.paths.state();
        let sessions = MainSessionFile::new(Arc::clone(&params.disk), &state);
        let FileContent { value: history, damage } =
            SessionHistory::open(Arc::clone(&params.disk), &state, params.now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        let git = match tracked {
            HistoryMode::Git => {
                let data = params.paths.root().to_owned();
                Git::start_tracking(Arc::clone(&params.disk), data, "git", params.now)
            }
            HistoryMode::Disabled => Git::disabled(),
        };
        let git = Arc::new(git);
        Ok(Self { sessions, history, git, zone: params.zone.clone() })
    }

    /// The git history of the data directory.
    pub fn git(&self) -> Arc<Git> {
        Arc::clone(&self.git)
    }

    /// Loads the main session from the file.
    pub fn load_main_session(
        &self,
        now: Timestamp,
        notices: &mut Vec<String>,
    ) -> Result<Option<SessionId>, FileError> {
        let FileContent { value, damage } = self.sessions.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        Ok(value)
    }

    /// The main session in the file, read without changing the file.
    pub fn peek_main_session(&self) -> Result<Option<SessionId>, FileError> {
        self.sessions.peek()
    }

    /// Deletes the file if its session is unknown, so that a new session is created.
    pub fn delete_main_session(&mut self) -> Result<(), FileError> {
        self.sessions.delete()
    }

    /// When the main session was created, if the history contains that.
    pub fn main_created_at(&self, now: Timestamp) -> Result<Option<Timestamp>, FileError> {
        Ok(self.history.main_session_age(now)?.map(|age| now - age))
    }

    /// Applies the pending changes. Idempotent.
    pub fn apply(&mut self, changes: &[SessionFileChange]) -> Result<(), FileError> {
        for change in changes {
            self.apply_one(&change.change)?;
            if self.git.is_enabled()
                && let Some(event) = self.history.recent_events()?.last()
            {
                self.git.commit(self.history.path(), event.commit_message());
            }
        }
        Ok(())
    }

    /// Replaces the session `stored` in the file by that of the database. Returns a notice.
    pub fn restore(&mut self, session: &SessionId, stored: Option<&SessionId>, now: Timestamp) -> String {
        let now = self.zoned(now);
        let found = match stored {
            Some(stored) => format!("state/sessions.json named the session {stored}"),
            None => "state/sessions.json named no session".to_owned(),
        };
        match self.sessions.save(session, SaveReason::Swap, &mut self.history, &now) {
            Ok(()) => format!("{found}; the journal knows {session}, and i wrote that back."),
            Err(error) => format!("{found}; the journal knows {session}, but {error}."),
        }
    }

    fn apply_one(&mut self, change: &SessionChange) -> Result<(), FileError> {
        match change {
            SessionChange::Saved(session, at) => {
                let at = self.zoned(*at);
                self.sessions.save(session, SaveReason::AfterTurn, &mut self.history, &at)
            }
            SessionChange::Swapped { to, from, at } => {
                let at = self.zoned(*at);
                self.history.append(&session_event(to, EventKind::Swapped, &at, from.clone()))?;
                self.sessions.save(to, SaveReason::Swap, &mut self.history, &at)
            }
            SessionChange::Forked { fork, from, at } => {
                let forked = session_event(fork, EventKind::InteractiveFork, &self.zoned(*at), from.clone());
                self.history.append(&forked).map(drop)
            }
            SessionChange::RunEnded { run, from, mode: kind, at } => {
                let kind = match kind {
                    RunMode::Forked => EventKind::BgFork,
                    RunMode::Isolated => EventKind::IsolatedBg,
                    RunMode::Persistent => EventKind::PersistentBg,
                };
                self.history.append(&session_event(run, kind, &self.zoned(*at), from.clone())).map(drop)
            }
            SessionChange::Cleared(session, at) => {
                self.history.append(&session_event(session, EventKind::Cleared, &self.zoned(*at), None))?;
                self.sessions.delete()
            }
        }
    }

    fn zoned(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }
}

fn session_event(
    session: &SessionId,
    kind: EventKind,
    at: &Zoned,
    parent: Option<SessionId>,
) -> SessionEvent {
    SessionEvent { session: session.clone(), kind, at: Moment::of(at), parent }
}
