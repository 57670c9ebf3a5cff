//! Callbacks for the claude program: its sessions are stored in the journal, its notices are shown
//! to the user.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::assistant::Update;
use domain::conversation::Branch;
use engine::ports::Surface;
use futures_util::future::BoxFuture;
use journal::Journal;
use journal::files::model_places::{ConversationPrefix, ModelPosition};
use models::claude::{
    Callbacks, CompactionBoundary, HistoryMark, Notice, NoticeSink, SessionPosition, SessionStore,
};

/// The number of branches besides main whose session is stored. Every run has its own branch, and
/// few are continued; for a branch beyond the limit the conversation is sent again.
const MAX_BRANCHES: usize = 64;

/// Returns the callbacks. The program's own tools are all denied.
pub fn callbacks(
    journal: Arc<Journal>,
    places: BTreeMap<Branch, ModelPosition>,
    surface: Arc<dyn Surface>,
) -> Callbacks {
    let sessions = Arc::new(JournalSessions { journal, places: Mutex::new(Places::new(places)) });
    Callbacks { sessions, notices: Arc::new(NoticeForwarder(surface)), ..Callbacks::default() }
}

/// The session of each branch, in memory and in the journal.
struct JournalSessions {
    journal: Arc<Journal>,
    places: Mutex<Places>,
}

/// The session of each branch.
struct Places {
    by_branch: BTreeMap<Branch, ModelPosition>,
    /// The branches besides main, the most recently used last.
    recent: VecDeque<Branch>,
}

impl Places {
    fn new(known: BTreeMap<Branch, ModelPosition>) -> Self {
        let aside = known.keys().filter(|branch| **branch != Branch::Main).cloned().collect();
        Self { by_branch: known, recent: aside }
    }

    /// Sets the session of `branch`, and forgets the least recently used beyond the limit.
    fn set(&mut self, branch: &Branch, place: ModelPosition) {
        self.forget(branch);
        self.by_branch.insert(branch.clone(), place);
        if *branch != Branch::Main {
            self.recent.push_back(branch.clone());
        }
        let left = self.recent.len().saturating_sub(MAX_BRANCHES);
        for oldest in self.recent.drain(..left) {
            self.by_branch.remove(&oldest);
        }
    }

    fn forget(&mut self, branch: &Branch) {
        self.by_branch.remove(branch);
        self.recent.retain(|aside| aside != branch);
    }
}

impl JournalSessions {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If the write fails, the next start sends the program what it already knows.
    async fn write(&self) {
        let places = self.places().by_branch.clone();
        if let Err(error) = self.journal.save_model_positions(places).await {
            tracing::warn!(%error, "Where the claude program is could not be written down.");
        }
    }
}

impl SessionStore for JournalSessions {
    fn all(&self) -> Vec<(Branch, SessionPosition)> {
        self.places().by_branch.iter().map(|(branch, place)| (branch.clone(), from_stored(place))).collect()
    }

    fn save<'a>(&'a self, branch: &'a Branch, place: SessionPosition) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().set(branch, to_stored(place));
            self.write().await;
        })
    }

    fn remove<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().forget(branch);
            self.write().await;
        })
    }
}

fn from_stored(place: &ModelPosition) -> SessionPosition {
    let mark = |mark: &ConversationPrefix| HistoryMark { count: mark.said, hash: mark.print.clone() };
    SessionPosition {
        session: place.session.clone(),
        received: mark(&place.heard),
        sent: mark(&place.told),
        instructions_hash: place.instructions.clone(),
    }
}

fn to_stored(place: SessionPosition) -> ModelPosition {
    let mark = |mark: HistoryMark| ConversationPrefix { said: mark.count, print: mark.hash };
    let instructions = place.instructions_hash;
    ModelPosition {
        session: place.session,
        heard: mark(place.received),
        told: mark(place.sent),
        instructions,
    }
}

/// Shows notices of the program to the user where they matter.
struct NoticeForwarder(Arc<dyn Surface>);

impl NoticeSink for NoticeForwarder {
    fn notice(&self, branch: &Branch, notice: Notice) {
        tracing::debug!(%branch, ?notice, "The claude program tells something.");
        if let Some(words) = notice_text(&notice) {
            self.0.show(&Update::Notice(words));
        }
    }
}

fn notice_text(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Started(_) | Notice::Compacting => None,
        Notice::Compacted(CompactionBoundary {
            pre_tokens: Some(before), post_tokens: Some(after), ..
        }) => Some(format!(
            "the claude program summed up its memory of our conversation, from {before} tokens to {after}. mine is whole."
        )),
        Notice::Compacted(_) => {
            Some("the claude program summed up its memory of our conversation. mine is whole.".to_owned())
        }
        Notice::SessionLost(_) => Some(
            "the claude program has lost its memory of our conversation, so i told it again what was said."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use journal::disk::RealDisk;
    use journal::{OpenedJournal, Paths};

    use super::*;

    fn at(session: &str) -> SessionPosition {
        let mark = HistoryMark { count: 1, hash: String::new() };
        SessionPosition {
            session: session.to_owned(),
            received: mark.clone(),
            sent: mark,
            instructions_hash: None,
        }
    }

    fn run(number: usize) -> Branch {
        Branch::fork(&format!("run-{number}")).unwrap()
    }

    /// Runs do not make the file grow: it keeps main, branches in use and the most recent others.
    #[tokio::test]
    async fn thousand_runs_keep_the_session_file_small() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path());
        let disk = Arc::new(RealDisk);
        let now = Timestamp::UNIX_EPOCH;
        let place = journal::OpenParams { paths, disk, zone: TimeZone::UTC, now, pid: 1 };
        let OpenedJournal { journal, .. } = journal::open(place).unwrap();
        let journal = Arc::new(journal);
        let places = (0..500).map(|number| (run(number), to_stored(at("before the start"))));
        let places = Mutex::new(Places::new(places.collect()));
        let sessions = JournalSessions { journal: Arc::clone(&journal), places };
        sessions.save(&Branch::Main, at("main")).await;
        let talks = Branch::fork("talks").unwrap();
        for number in 500..1_000 {
            sessions.places().set(&run(number), to_stored(at("a run")));
            sessions.places().set(&talks, to_stored(at("a talk")));
        }
        sessions.save(&run(1_000), at("the last run")).await;

        let file = journal.model_positions(now).await.unwrap().value;
        assert_eq!(file.len(), 1 + MAX_BRANCHES);
        for branch in [Branch::Main, talks, run(1_000), run(1_000 - MAX_BRANCHES + 2)] {
            assert!(file.contains_key(&branch), "{branch}");
        }
        sessions.remove(&run(1_000)).await;
        assert!(!sessions.all().iter().any(|(branch, _)| *branch == run(1_000)));
    }
}
