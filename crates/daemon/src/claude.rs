//! The claude program's company: where it is, kept in the journal, and what it tells, shown to the human.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::assistant::Shown;
use domain::conversation::Branch;
use engine::ports::Surface;
use futures_util::future::BoxFuture;
use journal::Journal;
use journal::files::model_places::{ModelMark, ModelPlace};
use models::claude::{Boundary, Company, Mark, Notice, Notices, Place, Sessions};

/// Everybody the program can ask or tell in this house. Its own tools are not allowed by anybody.
pub fn company(
    journal: Arc<Journal>,
    places: BTreeMap<Branch, ModelPlace>,
    surface: Arc<dyn Surface>,
) -> Company {
    let sessions = Arc::new(KeptSessions { journal, places: Mutex::new(places) });
    Company { sessions, notices: Arc::new(Announced(surface)), ..Company::default() }
}

/// Where the program is, remembered here and kept in the journal.
struct KeptSessions {
    journal: Arc<Journal>,
    places: Mutex<BTreeMap<Branch, ModelPlace>>,
}

impl KeptSessions {
    fn places(&self) -> MutexGuard<'_, BTreeMap<Branch, ModelPlace>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If it cannot be kept, the next start tells the program again what it knows already.
    async fn write(&self) {
        let places = self.places().clone();
        if let Err(error) = self.journal.keep_model_places(places).await {
            tracing::warn!(%error, "Where the claude program is could not be written down.");
        }
    }
}

impl Sessions for KeptSessions {
    fn all(&self) -> Vec<(Branch, Place)> {
        self.places().iter().map(|(branch, place)| (branch.clone(), read(place))).collect()
    }

    fn keep<'a>(&'a self, branch: &'a Branch, place: Place) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().insert(branch.clone(), kept(place));
            self.write().await;
        })
    }

    fn forget<'a>(&'a self, branch: &'a Branch) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.places().remove(branch);
            self.write().await;
        })
    }
}

fn read(place: &ModelPlace) -> Place {
    let mark = |mark: &ModelMark| Mark { said: mark.said, print: mark.print.clone() };
    Place { session: place.session.clone(), heard: mark(&place.heard), told: mark(&place.told) }
}

fn kept(place: Place) -> ModelPlace {
    let mark = |mark: Mark| ModelMark { said: mark.said, print: mark.print };
    ModelPlace { session: place.session, heard: mark(place.heard), told: mark(place.told) }
}

/// Tells the human what the program tells us, if it concerns them.
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
