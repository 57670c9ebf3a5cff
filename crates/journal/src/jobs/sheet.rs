//! State of a single job file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use domain::cost::Source;
use domain::schedule::{ItemId, Planned, What};
use domain::tool::pattern::{
    Complaint as ListComplaint, Source as ListSource, allows_nothing, forbidden_complaints,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::kind::FileName;
use crate::acceptance::{Accepted, AskedFor};
use crate::disk::{Disk, Stamp};
use crate::files::items::{id_in, text_at};

/// The time that a file must be missing before it counts as removed.
const STAYS_AWAY: SignedDuration = SignedDuration::from_millis(250);

/// The time after its last change at which an invalid file counts as completely saved. A program that writes
/// it in place may pause.
const SETTLES: SignedDuration = SignedDuration::from_secs(2);

/// The resolution of file times: two changes within it may have the same time.
const TOLD_APART: SignedDuration = SignedDuration::from_secs(2);

/// When a file missing since `since` counts as removed.
pub(super) fn gone_at(since: Timestamp) -> Timestamp {
    since.checked_add(STAYS_AWAY).unwrap_or(since)
}

/// When a problem that exists since `since` is reported.
pub(super) fn settled(since: Timestamp) -> Timestamp {
    since.checked_add(SETTLES).unwrap_or(since)
}

/// A tracked job file.
pub(super) struct Sheet {
    /// Its plan when it was last valid.
    pub(super) good: Option<Good>,
    pub(super) state: State,
    /// With this stamp the file is unchanged and need not be read.
    pub(super) known: Option<Stamp>,
    /// The reported problem that still exists.
    pub(super) told: Option<Complaint>,
    /// The last scan that found the file.
    pub(super) seen_in: u64,
}

/// The plan of a valid file, and its source.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Good {
    pub(super) source: Source,
    pub(super) planned: Arc<Planned>,
    /// The requested permissions that are removed because they are not accepted.
    pub(super) held: Vec<String>,
}

/// State of a file, and since when.
pub(super) enum State {
    Fine {
        since: Timestamp,
    },
    /// The file is invalid; its id may still be readable.
    Bad {
        since: Timestamp,
        complaint: Complaint,
        says: Option<Source>,
    },
    Missing {
        since: Timestamp,
    },
}

/// A problem of a file with this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) matter: Matter,
    pub(super) why: String,
    pub(super) content: u64,
}

/// Distinguishes unusable files from those usable with restrictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matter {
    Unusable,
    Asking,
}

/// Result of scanning a file.
pub(super) struct Found {
    state: State,
    good: Option<Good>,
    known: Option<Stamp>,
}

impl Sheet {
    pub(super) fn new(found: Found, seen_in: u64) -> Self {
        let Found { state, good, known } = found;
        Self { good, state, known, told: None, seen_in }
    }

    /// Applies a scan result. The last valid plan is kept.
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

    /// The source of its plan, and the one that its id claims.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        let says = match &self.state {
            State::Bad { says, .. } => says.as_ref(),
            State::Fine { .. } | State::Missing { .. } => None,
        };
        self.good.as_ref().map(|good| &good.source).into_iter().chain(says)
    }

    /// Returns whether its last valid plan is that of `source`.
    pub(super) fn plans(&self, source: &Source) -> bool {
        self.good.as_ref().is_some_and(|good| good.source == *source)
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

impl Good {
    pub(super) fn new(what: What, file: &FileName) -> Self {
        let planned = Planned { what, file: file.to_string() };
        Self { source: planned.source(), planned: Arc::new(planned), held: Vec::new() }
    }

    /// Removes permissions that are not `accepted`.
    fn within(self, accepted: &Accepted) -> Self {
        let held = accepted.held(&AskedFor::job(&self.planned.what));
        if held.is_empty() {
            return self;
        }
        let Planned { what, file } = Planned::clone(&self.planned);
        let planned = Arc::new(Planned { what: what.without(&held), file });
        Self { planned, held, ..self }
    }

    /// The notice about a usable file: the withheld permissions, and the tool patterns that cannot
    /// be parsed. `None` if there are none.
    pub(super) fn remarks(&self) -> Option<String> {
        let held = (!self.held.is_empty()).then(|| AskedFor::job(&self.planned.what).held_back(&self.held));
        let lines = unclear_lines(&self.planned);
        let lines = (!lines.is_empty())
            .then(|| format!("has tool patterns that cannot be understood: {}", lines.join(" ")));
        match (held, lines) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(held), Some(lines)) => Some(format!("{held} It also {lines}")),
        }
    }
}

/// The lines of a job's tool lists that cannot be parsed, as sentences.
fn unclear_lines(planned: &Planned) -> Vec<String> {
    let tools = &planned.charter().written_terms().tools;
    let source = match &planned.what {
        What::Routine(routine) => ListSource::Routine(routine.id.clone()),
        What::Reminder(reminder) => ListSource::Reminder(reminder.id.clone()),
    };
    let forbidden = forbidden_complaints(tools.denied().unwrap_or_default(), &source);
    let allowed = tools.allowed().unwrap_or_default().iter().filter(|line| allows_nothing(line));
    let allowed = allowed.map(|line| format!("`{}` allows nothing.", line.trim()));
    let sentence = |complaint: &ListComplaint| {
        let text = complaint.to_string();
        let text = text.split_once("the tool pattern ").map_or(text.as_str(), |(_, rest)| rest);
        text.to_owned()
    };
    allowed.chain(forbidden.iter().map(sentence)).collect()
}

impl Found {
    pub(super) fn missing(now: Timestamp) -> Self {
        Self { state: State::Missing { since: now }, good: None, known: None }
    }

    /// The file cannot be accessed.
    pub(super) fn unseen(error: &io::Error, since: Timestamp) -> Self {
        let why = format!("it cannot be read ({error}); make it readable for this account");
        let complaint = Complaint { matter: Matter::Unusable, why, content: 0 };
        Self { state: State::Bad { since, complaint, says: None }, good: None, known: None }
    }

    /// Reads a file that has this stamp.
    pub(super) fn read(
        disk: &dyn Disk,
        root: &Path,
        zone: &TimeZone,
        file: &FileName,
        stamp: Stamp,
        now: Timestamp,
    ) -> Self {
        let since = stamp.changed.min(now);
        let text = match text_at(disk, &file.path(root), stamp.seen) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::missing(now),
            Err(error) => return Self::unseen(&error, since),
        };
        // A second change within the resolution would have the same stamp.
        let told_apart = stamp.changed.checked_add(TOLD_APART).is_ok_and(|then| then <= now);
        let known = told_apart.then_some(stamp);
        match text.as_deref().map_err(Clone::clone).and_then(|text| file.kind.read(text, zone)) {
            Ok(what) => Self { state: State::Fine { since }, good: Some(Good::new(what, file)), known },
            Err(bad) => {
                let content = text.as_deref().map_or(0, hash);
                let complaint = Complaint { matter: Matter::Unusable, why: bad.to_string(), content };
                let id = text.ok().and_then(|text| id_in(&text)).filter(|id| ItemId::parse(id).is_ok());
                let says = id.map(|id| file.kind.source(id));
                Self { state: State::Bad { since, complaint, says }, good: None, known }
            }
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self.state, State::Missing { .. })
    }

    /// Returns whether the job requests permissions.
    pub(super) fn asks(&self) -> bool {
        self.good.as_ref().is_some_and(|good| !good.planned.what.asks().is_empty())
    }

    /// Removes permissions that are not `accepted`. A restricted file is read again at the next
    /// scan, because its permissions may be accepted meanwhile.
    pub(super) fn within(self, accepted: &Accepted) -> Self {
        let good = self.good.map(|good| good.within(accepted));
        let held = good.as_ref().is_some_and(|good| !good.held.is_empty());
        Self { good, known: self.known.filter(|_| !held), ..self }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
