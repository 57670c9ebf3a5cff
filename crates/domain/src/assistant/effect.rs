//! Inputs and outputs of the assistant: [`Event`], [`Effect`], and [`Update`] for surfaces.

use std::sync::Arc;
use std::time::Duration;

use super::Known;
use crate::approval::{Approval, ApprovalId, Closed};
use crate::card::Card;
use crate::compaction::{Gate, Summary};
use crate::context::Window;
use crate::context::skills::{Loaded, NamedSkills};
use crate::conversation::{Branch, Entry, EntryId, Said, Usage, Why};
use crate::cost::{Account, Call, Source};
use crate::effort::Effort;
use crate::failure::Failure;
use crate::occurrence::Key;
use crate::permission::Decision;
use crate::record::{Charge, MessageId, Record, SurfaceName};
use crate::schedule::FileNews;
use crate::sent::SentId;
use crate::thinking::Thinking;
use crate::tool::ToolResult;
use crate::turn::{Ending, Task, TurnId};

/// Something that happened; it gets no reply.
#[derive(Clone, Debug)]
pub enum Event {
    /// The process has started.
    Started,
    TurnEnded(TurnId, Ended),
    /// The time returned by `next_wake` has come.
    Woke,
    /// The model's API key has changed since it was rejected.
    KeyRenewed,
    /// Job files changed.
    Files(Vec<FileNews>, Look),
    /// A ping with this charge could not be delivered.
    Undelivered(Charge),
    /// The user did something on this surface.
    Seen(SurfaceName),
    /// A notice from the daemon itself.
    Told(String),
    /// Result of an approved call that was carried out without its turn.
    Carried(ApprovalId, ToolResult),
    /// The skills of a waiting occurrence are loaded.
    SkillsLoaded(Key, Loaded),
}

impl Event {
    /// Returns true if `later` makes this event redundant.
    pub fn is_outdated_by(&self, later: &Self) -> bool {
        match self {
            Self::Woke => matches!(later, Self::Woke),
            Self::KeyRenewed => matches!(later, Self::KeyRenewed),
            Self::Seen(surface) => matches!(later, Self::Seen(again) if again == surface),
            Self::Started
            | Self::TurnEnded(..)
            | Self::Files(..)
            | Self::Undelivered(_)
            | Self::Told(_)
            | Self::Carried(..)
            | Self::SkillsLoaded(..) => false,
        }
    }
}

/// Whether a scan of job files was the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// All files, for the first time since the start.
    First,
    /// Files changed since the last scan.
    Again,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub left: Left,
    pub ending: Ending,
    /// Total usage.
    pub usage: Usage,
    /// Calls that are not recorded yet.
    pub spent: Vec<Call>,
}

impl Ended {
    /// A turn that failed without any output.
    pub fn failed(failure: Failure) -> Self {
        let left = Left::Said(Vec::new());
        let usage = Usage::default();
        let spent = Vec::new();
        Self { left, ending: Ending::Failed(failure), usage, spent }
    }
}

/// The output of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// Contents not recorded yet.
    Said(Vec<Said>),
    /// A summary for a compaction.
    Summary(Summary),
}

/// An action for the engine. Effects are executed in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Writes these records in one transaction. If that fails, no later effect is executed.
    Write(Vec<Record>),
    StartTurn(Start),
    /// Passes the decision on an approval to the turn that waits for it.
    Decide(TurnId, ApprovalId, Decision),
    /// Passes the result of a delegated call to the turn that waits for it.
    Answer(TurnId, ToolResult),
    /// Carries out an approved call whose turn has gone on.
    Carry(Approval),
    /// Loads the skills of a waiting occurrence.
    LoadSkills(Key, NamedSkills),
    /// Interrupts a turn; entries written so far stay.
    Interrupt(TurnId),
    /// Tells an unattended turn that the user now waits for it.
    Hurry(TurnId),
    /// Shows an update on all surfaces.
    Show(Shown),
}

/// A turn to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub turn: TurnId,
    pub branch: Branch,
    pub purpose: Purpose,
    /// The account to charge, and whether the user waits.
    pub account: Account,
    /// The vendor's id of the model; `None` for the default.
    pub model: Option<String>,
    pub thinking: Thinking,
    pub effort: Effort,
    /// Context window of the model.
    pub window: Window,
    /// Name of the user, for the instructions.
    pub human: String,
    /// The head of the branch, which the turn continues.
    pub from: EntryId,
    /// Seed of the turn's random numbers.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Answers the last message.
    Answer,
    /// Summarizes the conversation, with these instructions of the user.
    Compact(String),
}

impl Purpose {
    /// Returns the task of the turn, given the contents `said` of its branch.
    pub fn task(&self, said: &[Arc<Said>]) -> Task {
        match self {
            Self::Answer => Task::Answer,
            Self::Compact(instructions) => Task::Summarise(Gate::new(said, instructions)),
        }
    }
}

/// An update for surfaces.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// An entry was written.
    Said { branch: Branch, entry: Entry },
    Began {
        turn: TurnId,
        branch: Branch,
        /// The message it answers.
        answers: MessageId,
    },
    /// More text of an answer. Losing one is harmless: the whole text follows.
    Delta { turn: TurnId, text: String },
    /// The progress note of a turn, as far as it has arrived. It replaces the previous note, and is
    /// removed by the next text of the answer or the end of the turn. It is only shown, never
    /// stored.
    Progress {
        turn: TurnId,
        /// One line, as `progress::Note` makes it.
        note: String,
    },
    /// A tool call starts, waits for approval or is denied.
    Working { turn: TurnId, tool: String, doing: Doing },
    /// The model is unreachable and is called again after `time`.
    Waiting { turn: TurnId, time: Duration },
    Ended {
        turn: TurnId,
        branch: Branch,
        /// The message it answered.
        answers: MessageId,
        ending: Ending,
    },
    /// A compaction started, ended or was undone.
    Compaction(Compaction),
    /// A turn is blocked because the model rejects the API key; all messages up to `newest` wait
    /// behind it.
    Held {
        turn: TurnId,
        branch: Branch,
        /// The newest waiting message.
        newest: MessageId,
        /// Whether the user has been notified before.
        known: Known,
        /// The model's error, and the remedy.
        why: Failure,
    },
    /// An approval was opened or closed.
    Approval(Asking),
    /// A fork, a background run, a message or a card changed.
    Aside(Aside),
    /// Main moved to another entry: what the user sees is not what the model reads.
    Moved(Why),
    /// A notice for the user.
    Notice(String),
}

/// State of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Runs,
    /// Waits for the user's approval.
    Waits,
    /// Not allowed, and not run.
    Denied,
}

/// A change of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// It can be answered, and has this state.
    Open(Approval),
    Closed(Approval, Closed),
}

/// An update about something beside the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Aside {
    /// A fork was entered: the next messages go there.
    Began { branch: Branch, topic: Option<String> },
    /// A fork ended: the next messages go to main.
    Ended {
        branch: Branch,
        why: Why,
        /// Text about the end, for example the summary; may be empty.
        note: String,
    },
    /// A background run shows an entry.
    Sent {
        /// The job of the run.
        source: Source,
        /// The entry that contains it.
        entry: Entry,
    },
    /// The user dismissed this message.
    PutAway(SentId),
    /// A reminder card was created or changed.
    Card(Card),
}

/// A change of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// It started. New messages wait.
    Began {
        /// The turn number of the compaction.
        turn: TurnId,
        branch: Branch,
        /// Context size in tokens, if known.
        tokens: Option<u64>,
    },
    Ended {
        turn: TurnId,
        branch: Branch,
        /// The report line, or why nothing changed.
        outcome: Result<String, String>,
    },
    /// It was undone: its summary is no longer used.
    Undone {
        branch: Branch,
        /// The entry of the summary.
        summary: EntryId,
    },
}
