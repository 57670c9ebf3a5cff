//! Callbacks for the claude program: its sessions are stored in the journal, its notices are shown
//! to the user.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::assistant::Shown;
use domain::conversation::Branch;
use engine::ports::Surface;
use futures_util::future::BoxFuture;
use journal::Journal;
use journal::files::model_places::{ModelMark, ModelPlace};
use models::claude::{Boundary, Company, Mark, Notice, Notices, Place, Sessions};

/// The number of branches besides main whose session is stored. Every run has its own branch, and
/// few are continued; for a branch beyond the limit the conversation is sent again.
const BRANCHES: usize = 64;

/// Returns the callbacks. The program's own tools are all denied.
pub fn company(
    journal: Arc<Journal>,
    places: BTreeMap<Branch, ModelPlace>,
    surface: Arc<dyn Surface>,
) -> Company {
    let sessions = Arc::new(KeptSessions { journal, places: Mutex::new(Places::new(places)) });
    Company { sessions, notices: Arc::new(Announced(surface)), ..Company::default() }
}

/// The session of each branch, in memory and in the journal.
struct KeptSessions {
    journal: Arc<Journal>,
    places: Mutex<Places>,
}

/// The session of each branch.
struct Places {
    known: BTreeMap<Branch, ModelPlace>,
    /// The branches besides main, the most recently used last.
    aside: VecDeque<Branch>,
}

impl Places {
    fn new(known: BTreeMap<Branch, ModelPlace>) -> Self {
        let aside = known.keys().filter(|branch| **branch != Branch::Main).cloned().collect();
        Self { known, aside }
    }

    /// Sets the session of `branch`, and forgets the least recently used beyond the limit.
    fn keep(&mut self, branch: &Branch, place: ModelPlace) {
        self.forget(branch);
        self.known.insert(branch.clone(), place);
        if *branch != Branch::Main {
            self.aside.push_back(branch.clone());
        }
        let left = self.aside.len().saturating_sub(BRANCHES);
        for oldest in self.aside.drain(..left) {
            self.known.remove(&oldest);
        }
    }

    fn forget(&mut self, branch: &Branch) {
        self.known.remove(branch);
        self.aside.retain(|aside| aside != branch);
    }
}

impl KeptSessions {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If the write fails, the next start sends the program what it already knows.
    async fn write(&self) {
        let places = self.places().known.clone();
        if let Err(error) = self.journal.keep_model_places(places).await {
            tracing::warn!(%error, "Where the claude program is could not be written down.");
        }
    }
}

impl Sessions for KeptSessions {
    fn all(&self) -> Vec<(Branch, Place)> {
        self.places().known.iter().map(|(branch, place)| (branch.clone(), read(place))).collect()
    }

    fn keep<'a>(&'a self, branch: &'a Branch, place: Place) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().keep(branch, kept(place));
            self.write().await;
        })
    }

    fn forget<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().forget(branch);
            self.write().await;
        })
    }
}

fn read(place: &ModelPlace) -> Place {
    let mark = |mark: &ModelMark| Mark { said: mark.said, print: mark.print.clone() };
    Place {
        session: place.session.clone(),
        heard: mark(&place.heard),
        told: mark(&place.told),
        instructions: place.instructions.clone(),
    }
}

fn kept(place: Place) -> ModelPlace {
    let mark = |mark: Mark| ModelMark { said: mark.said, print: mark.print };
    let instructions = place.instructions;
    ModelPlace { session: place.session, heard: mark(place.heard), told: mark(place.told), instructions }
}

/// Shows notices of the program to the user where they matter.
struct Announced(Arc<dyn Surface>);

impl Notices for Announced {
    fn notice(&self, branch: &Branch, notice: Notice) {
        tracing::debug!(%branch, ?notice, "The claude program tells something.");
        if let Some(words) = words(&notice) {
            self.0.show(&Shown::Notice(words));
        }
    }
}

fn words(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Started(_) | Notice::Compacting => None,
        Notice::Compacted(Boundary { pre_tokens: Some(before), post_tokens: Some(after), .. }) => {
            Some(format!(
                "the claude program summed up its memory of our conversation, from {before} tokens to {after}. mine is whole."
            ))
        }
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
    use journal::{Opened, Paths};

    use super::*;

    fn at(session: &str) -> Place {
        let mark = Mark { said: 1, print: String::new() };
        Place { session: session.to_owned(), heard: mark.clone(), told: mark, instructions: None }
    }

    fn run(number: usize) -> Branch {
        Branch::fork(&format!("run-{number}")).unwrap()
    }

    /// Runs do not make the file grow: it keeps main, branches in use and the most recent others.
    #[tokio::test]
    async fn a_thousand_runs_leave_a_small_file() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path());
        let disk = Arc::new(RealDisk);
        let now = Timestamp::UNIX_EPOCH;
        let place = journal::Place { paths, disk, zone: TimeZone::UTC, now, pid: 1 };
        let Opened { journal, .. } = journal::open(place).unwrap();
        let journal = Arc::new(journal);
        let places = (0..500).map(|number| (run(number), kept(at("before the start"))));
        let places = Mutex::new(Places::new(places.collect()));
        let sessions = KeptSessions { journal: Arc::clone(&journal), places };
        sessions.keep(&Branch::Main, at("main")).await;
        let talks = Branch::fork("talks").unwrap();
        for number in 500..1_000 {
            sessions.places().keep(&run(number), kept(at("a run")));
            sessions.places().keep(&talks, kept(at("a talk")));
        }
        sessions.keep(&run(1_000), at("the last run")).await;

        let file = journal.model_places(now).await.unwrap().value;
        assert_eq!(file.len(), 1 + BRANCHES);
        for branch in [Branch::Main, talks, run(1_000), run(1_000 - BRANCHES + 2)] {
            assert!(file.contains_key(&branch), "{branch}");
        }
        sessions.forget(&run(1_000)).await;
        assert!(!sessions.all().iter().any(|(branch, _)| *branch == run(1_000)));
    }
}
