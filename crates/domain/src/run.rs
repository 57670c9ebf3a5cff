//! Background runs: a job on its own branch.
//!
//! A run holds all its conditions as values: its place, its terms, and the ids of the messages that
//! it showed. Several runs are active at once, independent of each other.

use jiff::Timestamp;

use crate::assistant::Position;
use crate::context::UpdateReader;
use crate::context_tool::Urgency;
use crate::conversation::{Branch, EntryId, SessionId};
use crate::cost::CostSource;
use crate::place::BackgroundPlace;
use crate::schedule::{Prompt, ReportMode, RunOptions};
use crate::sent_messages::{MessageOrigin, RunEnd, SentId};
use crate::turn::TurnId;

/// A job to start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its source, which identifies it, such as `routine:mail`.
    pub source: CostSource,
    /// The name that the user sees.
    pub name: String,
    pub place: BackgroundPlace,
    pub terms: RunOptions,
    pub prompt: Prompt,
}

/// An active run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub branch: Branch,
    pub source: CostSource,
    /// The name that the user sees.
    pub name: String,
    /// The due time; `None` if it was not started by a clock.
    pub due: Option<Timestamp>,
    pub place: BackgroundPlace,
    pub terms: RunOptions,
    /// The entry of main at which it began; `None` if it has no history of main.
    pub root: Option<EntryId>,
    /// The session of main at the start, if it began there.
    pub parent: Option<SessionId>,
    /// The messages that it showed to the user.
    pub sent_messages: Vec<SentId>,
    pub progress: RunProgress,
}

/// BF-30: The progress of a run, and the user's activity at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// The activity of the user at the start.
    pub user_activity: UserActivity,
    /// Allowed pings that are not shown yet. Lost in a crash.
    pub pending_pings: Vec<Urgency>,
    /// The pings that it has sent.
    pub pings: Vec<Urgency>,
    /// True if it has pinged the user and not reported to main since.
    pub unreported: bool,
    /// The number of its reports to main.
    pub report_count: u32,
    /// The number of times that its end was refused because of a missing report.
    pub stop_refusals: u32,
    /// Whether it was asked to rephrase a ping. Lost in a crash.
    pub wording: Wording,
    /// The call that waits for its result, if any. Lost in a crash.
    pub requester: Option<Requester>,
    /// RP-24: The instructions for the compaction of its session after its end, if requested.
    pub compaction_instructions: Option<String>,
}

/// The call that waits for the result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    pub turn: TurnId,
    /// The id of the call.
    pub call: String,
}

/// Whether a run was asked to rephrase a text that puts pressure on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    #[default]
    Unchecked,
    /// It was asked once: the next text is sent unchanged.
    RephraseRequested,
}

/// MC-19: The activity of the user at the start of a run. It stays unchanged during the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserActivity {
    #[default]
    Idle,
    Talking,
}

/// BF-28: How often the end of a run is refused at most.
pub const MAX_STOP_REFUSALS: u32 = 3;

/// The history of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    Forked,
    /// Only its prompt.
    Isolated,
    /// Its own session.
    Persistent,
}

impl RunMode {
    /// Returns the mode of a run in this place.
    pub fn of(aside: BackgroundPlace) -> Self {
        match aside {
            BackgroundPlace::Forked(_) => Self::Forked,
            BackgroundPlace::Isolated(_) => Self::Isolated,
            BackgroundPlace::Persistent => Self::Persistent,
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
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Forked, Self::Isolated, Self::Persistent].into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Run {
    /// PU-8: Returns how it reads pending updates.
    pub fn update_reader(&self) -> UpdateReader {
        match RunMode::of(self.place) {
            RunMode::Forked => UpdateReader::Fork,
            RunMode::Isolated | RunMode::Persistent => UpdateReader::Run,
        }
    }

    /// BF-26: Returns whether it may end now.
    pub fn may_stop(&self) -> bool {
        match self.terms.report_policy.reporting {
            ReportMode::Always => self.progress.report_count > 0,
            ReportMode::OnPing => !self.progress.unreported,
            ReportMode::Freely | ReportMode::Blocked => true,
        }
    }

    /// MT-1: Adds a message that was shown.
    pub fn add_sent_message(&mut self, sent: SentId) {
        if !self.sent_messages.contains(&sent) {
            self.sent_messages.push(sent);
        }
    }

    /// MT-1, MT-3: Returns the origins of all messages that it showed, when it ended at `entry`
    /// under `session`.
    pub fn message_origins(
        &self,
        session: &SessionId,
        Position { entry, label }: Position,
        at: Timestamp,
    ) -> Vec<MessageOrigin> {
        let end = RunEnd { source: self.source.clone(), root: self.root, entry, label };
        let origin = |id: &SentId| MessageOrigin {
            id: *id,
            session: session.clone(),
            parent: self.parent.clone(),
            at,
            end: Some(end.clone()),
        };
        self.sent_messages.iter().map(origin).collect()
    }
}
