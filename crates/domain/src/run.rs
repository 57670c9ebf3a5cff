//! Background runs: a job on its own branch.
//!
//! A run holds all its conditions as values: its place, its terms, and the ids of the messages that
//! it showed. Several runs are active at once, independent of each other.

use jiff::Timestamp;

use crate::assistant::Spot;
use crate::context::Reader;
use crate::conversation::{Branch, EntryId, SessionId};
use crate::cost::Source;
use crate::place::Aside;
use crate::schedule::{Prompt, Reporting, Terms};
use crate::sent::{End, Origin, SentId};
use crate::turn::TurnId;
use crate::wish::Urgency;

/// A job to start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its source, which identifies it, such as `routine:mail`.
    pub source: Source,
    /// The name that the user sees.
    pub name: String,
    pub aside: Aside,
    pub terms: Terms,
    pub prompt: Prompt,
}

/// An active run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub branch: Branch,
    pub source: Source,
    /// The name that the user sees.
    pub name: String,
    /// The due time; `None` if it was not started by a clock.
    pub due: Option<Timestamp>,
    pub aside: Aside,
    pub terms: Terms,
    /// The entry of main at which it began; `None` if it has no history of main.
    pub root: Option<EntryId>,
    /// The session of main at the start, if it began there.
    pub parent: Option<SessionId>,
    /// The messages that it showed to the user.
    pub sent: Vec<SentId>,
    pub doings: Doings,
}

/// BF-30: The progress of a run, and the user's activity at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doings {
    /// The activity of the user at the start.
    pub busy: Busy,
    /// Allowed pings that are not shown yet. Lost in a crash.
    pub asked: Vec<Urgency>,
    /// The pings that it has sent.
    pub pings: Vec<Urgency>,
    /// True if it has pinged the user and not reported to main since.
    pub untold: bool,
    /// The number of its reports to main.
    pub reports: u32,
    /// The number of times that its end was refused because of a missing report.
    pub refusals: u32,
    /// Whether it was asked to rephrase a ping. Lost in a crash.
    pub wording: Wording,
    /// The call that waits for its result, if any. Lost in a crash.
    pub asker: Option<Asker>,
    /// RP-24: The instructions for the compaction of its session after its end, if requested.
    pub compact: Option<String>,
}

/// The call that waits for the result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub turn: TurnId,
    /// The id of the call.
    pub call: String,
}

/// Whether a run was asked to rephrase a text that puts pressure on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    #[default]
    AsItLikes,
    /// It was asked once: the next text is sent unchanged.
    AskedOnce,
}

/// MC-19: The activity of the user at the start of a run. It stays unchanged during the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    #[default]
    No,
    Talking,
}

/// BF-28: How often the end of a run is refused at most.
pub const REFUSALS: u32 = 3;

/// The history of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Forked,
    /// Only its prompt.
    Isolated,
    /// Its own session.
    Persistent,
}

impl Kind {
    /// Returns the mode of a run in this place.
    pub fn of(aside: Aside) -> Self {
        match aside {
            Aside::Forked(_) => Self::Forked,
            Aside::Isolated(_) => Self::Isolated,
            Aside::Persistent => Self::Persistent,
        }
    }

    /// Returns the stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forked => "forked",
            Self::Isolated => "isolated",
            Self::Persistent => "persistent",
        }
    }

    /// Parses a stored word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Forked, Self::Isolated, Self::Persistent].into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Run {
    /// PU-8: Returns how it reads pending updates.
    pub fn reader(&self) -> Reader {
        match Kind::of(self.aside) {
            Kind::Forked => Reader::Fork,
            Kind::Isolated | Kind::Persistent => Reader::Nobody,
        }
    }

    /// BF-26: Returns whether it may end now.
    pub fn may_stop(&self) -> bool {
        match self.terms.voice.reporting {
            Reporting::Always => self.doings.reports > 0,
            Reporting::OnPing => !self.doings.untold,
            Reporting::Freely | Reporting::Blocked => true,
        }
    }

    /// MT-1: Adds a message that was shown.
    pub fn track(&mut self, sent: SentId) {
        if !self.sent.contains(&sent) {
            self.sent.push(sent);
        }
    }

    /// MT-1, MT-3: Returns the origins of all messages that it showed, when it ended at `entry`
    /// under `session`.
    pub fn flush(&self, session: &SessionId, Spot { entry, label }: Spot, at: Timestamp) -> Vec<Origin> {
        let end = End { source: self.source.clone(), root: self.root, entry, label };
        let origin = |id: &SentId| Origin {
            id: *id,
            session: session.clone(),
            parent: self.parent.clone(),
            at,
            end: Some(end.clone()),
        };
        self.sent.iter().map(origin).collect()
    }
}
