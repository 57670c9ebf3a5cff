//! One job file, as it was last seen.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use domain::cost::Source;
use domain::schedule::{ItemId, Planned};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::kind::Kind;
use crate::disk::{Disk, Stamp};
use crate::files::items::{id_in, text_at};

/// How long a file is given to settle before anybody is told that it is wrong or gone.
const SETTLES: SignedDuration = SignedDuration::from_millis(250);

/// How long it may take until the disk gives two changes of a file different times.
const TOLD_APART: SignedDuration = SignedDuration::from_secs(2);

/// When something that has been so `since` then is believed.
pub(super) fn settled(since: Timestamp) -> Timestamp {
    since.checked_add(SETTLES).unwrap_or(since)
}

/// One job file.
pub(super) struct Sheet {
    pub(super) kind: Kind,
    /// What it is called from the data directory on.
    pub(super) file: String,
    /// What it planned when it could last be read.
    pub(super) good: Option<Arc<Planned>>,
    pub(super) state: State,
    /// While this is its stamp it need not be read again.
    pub(super) known: Option<Stamp>,
    /// What was told to be wrong with it, and still is.
    pub(super) told: Option<Complaint>,
    /// The last look that came by it.
    pub(super) seen_in: u64,
}

/// How a file is, and since when.
pub(super) enum State {
    /// It can be read.
    Fine { since: Timestamp },
    /// It is there and cannot be read; who it says it is may still be legible.
    Bad { since: Timestamp, complaint: Complaint, says: Option<Source> },
    /// It is not there any more.
    Missing { since: Timestamp },
}

/// What is wrong with a file that has this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) why: String,
    pub(super) content: u64,
}

/// What was found where a file is or was.
pub(super) struct Found {
    kind: Kind,
    file: String,
    state: State,
    good: Option<Arc<Planned>>,
    known: Option<Stamp>,
}

impl Sheet {
    pub(super) fn new(found: Found, seen_in: u64) -> Self {
        let Found { kind, file, state, good, known } = found;
        Self { kind, file, good, state, known, told: None, seen_in }
    }

    /// Takes what was found now. What it planned when it could be read is kept.
    pub(super) fn take(&mut self, found: Found) {
        self.known = found.known;
        let same = found.good.is_some() && found.good == self.good;
        self.good = found.good.or_else(|| self.good.take());
        let unchanged = match (&self.state, &found.state) {
            (State::Fine { .. }, State::Fine { .. }) => same,
            (State::Missing { .. }, State::Missing { .. }) => true,
            (State::Bad { complaint: before, .. }, State::Bad { complaint, .. }) => before == complaint,
            (State::Fine { .. } | State::Bad { .. } | State::Missing { .. }, _) => false,
        };
        if !unchanged {
            self.state = found.state;
        }
    }

    /// Who it is: by what it planned, and by what it says.
    pub(super) fn sources(&self) -> impl Iterator<Item = Source> {
        let says = match &self.state {
            State::Bad { says, .. } => says.clone(),
            State::Fine { .. } | State::Missing { .. } => None,
        };
        self.good.as_ref().map(|planned| planned.source()).into_iter().chain(says)
    }

    /// Whether it plans what `source` does, or did when it could last be read.
    pub(super) fn plans(&self, source: &Source) -> bool {
        self.good.as_ref().is_some_and(|planned| planned.source() == *source)
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, State::Missing { .. })
    }

    pub(super) fn since(&self) -> Timestamp {
        match &self.state {
            State::Fine { since } | State::Bad { since, .. } | State::Missing { since } => *since,
        }
    }
}

impl Found {
    /// Nothing is there.
    pub(super) fn missing(kind: Kind, path: &Path, now: Timestamp) -> Self {
        Self::with((kind, path), State::Missing { since: now })
    }

    /// It cannot be looked at.
    pub(super) fn unseen(kind: Kind, path: &Path, error: &io::Error, since: Timestamp) -> Self {
        let why = format!("it cannot be read ({error}); make it readable for this account");
        let complaint = Complaint { why, content: 0 };
        Self::with((kind, path), State::Bad { since, complaint, says: None })
    }

    /// Reads a file that has this stamp.
    pub(super) fn read(
        (disk, zone): (&dyn Disk, &TimeZone),
        (kind, path): (Kind, &Path),
        stamp: Stamp,
        now: Timestamp,
    ) -> Self {
        let since = stamp.changed.min(now);
        let text = match text_at(disk, path, stamp.seen) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::missing(kind, path, now),
            Err(error) => return Self::unseen(kind, path, &error, since),
        };
        let mut found = Self::with((kind, path), State::Fine { since });
        // A second change in the same moment would have the same stamp.
        let told_apart = stamp.changed.checked_add(TOLD_APART).is_ok_and(|then| then <= now);
        found.known = told_apart.then_some(stamp);
        match text.as_deref().map_err(Clone::clone).and_then(|text| kind.read(text, zone)) {
            Ok(what) => found.good = Some(Arc::new(Planned { what, file: found.file.clone() })),
            Err(bad) => {
                let complaint = Complaint { why: bad.to_string(), content: text.as_deref().map_or(0, hash) };
                let id = text.ok().and_then(|text| id_in(&text)).filter(|id| ItemId::parse(id).is_ok());
                let says = id.map(|id| kind.source(id));
                found.state = State::Bad { since, complaint, says };
            }
        }
        found
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, State::Missing { .. })
    }

    fn with((kind, path): (Kind, &Path), state: State) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = format!("{}/{name}", kind.directory());
        Self { kind, file, state, good: None, known: None }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
