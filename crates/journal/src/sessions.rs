//! The files of the main session and of the session history.

use std::sync::Arc;

use domain::conversation::SessionId;
use domain::record::SessionChange;
use domain::run::Kind;
use domain::schedule::Moment;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::db::FileChange;
use crate::files::history::{EventKind, History, SessionEvent};
use crate::files::sessions::{Saving, Sessions};
use crate::files::{Found, Trouble};
use crate::git::Git;
use crate::open::{Place, Tracked};

pub struct SessionFiles {
    sessions: Sessions,
    history: History,
    git: Arc<Git>,
    zone: TimeZone,
}

impl SessionFiles {
    /// Opens the files of a data directory. Reports damage in `notices`.
    pub fn open(place: &Place, tracked: Tracked, notices: &mut Vec<String>) -> Result<Self, Trouble> {
        let state = place.paths.state();
        let sessions = Sessions::new(Arc::clone(&place.disk), &state);
        let Found { value: history, damage } = History::open(Arc::clone(&place.disk), &state, place.now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        let git = match tracked {
            Tracked::ByGit => {
                let data = place.paths.root().to_owned();
                Git::start_tracking(Arc::clone(&place.disk), data, "git", place.now)
            }
            Tracked::Nowhere => Git::none(),
        };
        let git = Arc::new(git);
        Ok(Self { sessions, history, git, zone: place.zone.clone() })
    }

    /// The git history of the data directory.
    pub fn git(&self) -> Arc<Git> {
        Arc::clone(&self.git)
    }

    /// Loads the main session from the file.
    pub fn stored(&self, now: Timestamp, notices: &mut Vec<String>) -> Result<Option<SessionId>, Trouble> {
        let Found { value, damage } = self.sessions.load(now)?;
        notices.extend(damage.map(|damage| damage.to_string()));
        Ok(value)
    }

    /// The main session in the file, read without changing the file.
    pub fn named(&self) -> Result<Option<SessionId>, Trouble> {
        self.sessions.named()
    }

    /// Deletes the file if its session is unknown, so that a new session is created.
    pub fn forget(&mut self) -> Result<(), Trouble> {
        self.sessions.delete()
    }

    /// When the main session was created, if the history contains that.
    pub fn created(&self, now: Timestamp) -> Result<Option<Timestamp>, Trouble> {
        Ok(self.history.age(now)?.map(|age| now - age))
    }

    /// Applies the pending changes. Idempotent.
    pub fn make(&mut self, changes: &[FileChange]) -> Result<(), Trouble> {
        for change in changes {
            self.make_one(&change.change)?;
            if self.git.keeps()
                && let Some(event) = self.history.recent()?.last()
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
        match self.sessions.save(session, Saving::Swap, &mut self.history, &now) {
            Ok(()) => format!("{found}; the journal knows {session}, and i wrote that back."),
            Err(error) => format!("{found}; the journal knows {session}, but {error}."),
        }
    }

    fn make_one(&mut self, change: &SessionChange) -> Result<(), Trouble> {
        match change {
            SessionChange::Saved(session, at) => {
                let at = self.zoned(*at);
                self.sessions.save(session, Saving::AfterTurn, &mut self.history, &at)
            }
            SessionChange::Swapped { to, from, at } => {
                let at = self.zoned(*at);
                self.history.append(&event(to, EventKind::Swapped, &at, from.clone()))?;
                self.sessions.save(to, Saving::Swap, &mut self.history, &at)
            }
            SessionChange::Forked { fork, from, at } => {
                let forked = event(fork, EventKind::InteractiveFork, &self.zoned(*at), from.clone());
                self.history.append(&forked).map(drop)
            }
            SessionChange::Ran { run, from, kind, at } => {
                let kind = match kind {
                    Kind::Forked => EventKind::BgFork,
                    Kind::Isolated => EventKind::IsolatedBg,
                    Kind::Persistent => EventKind::PersistentBg,
                };
                self.history.append(&event(run, kind, &self.zoned(*at), from.clone())).map(drop)
            }
            SessionChange::Cleared(session, at) => {
                self.history.append(&event(session, EventKind::Cleared, &self.zoned(*at), None))?;
                self.sessions.delete()
            }
        }
    }

    fn zoned(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }
}

fn event(session: &SessionId, kind: EventKind, at: &Zoned, parent: Option<SessionId>) -> SessionEvent {
    SessionEvent { session: session.clone(), kind, at: Moment::of(at), parent }
}
