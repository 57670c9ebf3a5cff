//! Inputs and outputs of the assistant: [`Event`], [`Effect`], and [`Update`] for surfaces.

use std::sync::Arc;
use std::time::Duration;

use super::KeyNotice;
use crate::approval::{Approval, ApprovalId, ClosedApproval};
use crate::card::Card;
use crate::compaction::{Summary, SummaryCheck};
use crate::context::RequestLimit;
use crate::context::skills::{LoadedSkills, NamedSkills};
use crate::conversation::{Branch, Entry, EntryContent, EntryId, MoveReason, Usage};
use crate::cost::{Account, CostSource, ModelCall};
use crate::effort::Effort;
use crate::failure::Failure;
use crate::occurrence::OccurrenceKey;
use crate::permission::Decision;
use crate::record::{MessageId, PingCharge, Record, SurfaceName};
use crate::schedule::JobFileChange;
use crate::sent_messages::SentId;
use crate::thinking::Thinking;
use crate::tool::ToolResult;
use crate::turn::{TurnEnding, TurnId, TurnTask};

/// Something that happened; it gets no reply.
#[derive(Clone, Debug)]
pub enum Event {
    /// The process has started.
    Started,
    TurnEnded(TurnId, TurnOutcome),
    /// The time returned by `next_wake` has come.
    Woke,
    /// The model's API key has changed since it was rejected.
    KeyRenewed,
    /// Job files changed.
    FilesChanged(Vec<JobFileChange>, FileScan),
    /// A ping with this charge could not be delivered.
    PingNotDelivered(PingCharge),
    /// The user did something on this surface.
    UserSeen(SurfaceName),
    /// A notice from the daemon itself.
    Announced(String),
    /// Result of an approved call that was carried out without its turn.
    CallCarriedOut(ApprovalId, ToolResult),
    /// The skills of a waiting occurrence are loaded.
    SkillsLoaded(OccurrenceKey, LoadedSkills),
}

impl Event {
    /// Returns true if `later` makes this event redundant.
    pub fn is_outdated_by(&self, later: &Self) -> bool {
        match self {
            Self::Woke => matches!(later, Self::Woke),
            Self::KeyRenewed => matches!(later, Self::KeyRenewed),
            Self::UserSeen(surface) => matches!(later, Self::UserSeen(again) if again == surface),
            Self::Started
            | Self::TurnEnded(..)
            | Self::FilesChanged(..)
            | Self::PingNotDelivered(_)
            | Self::Announced(_)
            | Self::CallCarriedOut(..)
            | Self::SkillsLoaded(..) => false,
        }
    }
}

/// Whether a scan of job files was the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileScan {
    /// All files, for the first time since the start.
    First,
    /// Files changed since the last scan.
    Later,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutcome {
    pub output: TurnOutput,
    pub ending: TurnEnding,
    /// Total usage.
    pub usage: Usage,
    /// Calls that are not recorded yet.
    pub unrecorded_calls: Vec<ModelCall>,
}

impl TurnOutcome {
    /// A turn that failed without any output.
    pub fn failed(failure: Failure) -> Self {
        let left = TurnOutput::Contents(Vec::new());
        let usage = Usage::default();
        let spent = Vec::new();
        Self { output: left, ending: TurnEnding::Failed(failure), usage, unrecorded_calls: spent }
    }
}

/// The output of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnOutput {
    /// Contents not recorded yet.
    Contents(Vec<EntryContent>),
    /// A summary for a compaction.
    Summary(Summary),
}

/// An action for the engine. Effects are executed in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Writes these records in one transaction. If that fails, no later effect is executed.
    Write(Vec<Record>),
    StartTurn(TurnStart),
    /// Passes the decision on an approval to the turn that waits for it.
    Decide(TurnId, ApprovalId, Decision),
    /// Passes the result of a delegated call to the turn that waits for it.
    ReturnResult(TurnId, ToolResult),
    /// Carries out an approved call whose turn has gone on.
    CarryOut(Approval),
    /// Loads the skills of a waiting occurrence.
    LoadSkills(OccurrenceKey, NamedSkills),
    /// Interrupts a turn; entries written so far stay.
    Interrupt(TurnId),
    /// Tells an unattended turn that the user now waits for it.
    Prioritize(TurnId),
    /// Shows an update on all surfaces.
    Show(Update),
}

/// A turn to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnStart {
    pub turn: TurnId,
    pub branch: Branch,
    pub kind: TurnKind,
    /// The account to charge, and whether the user waits.
    pub account: Account,
    /// The vendor's id of the model; `None` for the default.
    pub model: Option<String>,
    pub thinking: Thinking,
    pub effort: Effort,
    /// Context window of the model.
    pub window: RequestLimit,
    /// Name of the user, for the instructions.
    pub user: String,
    /// The head of the branch, which the turn continues.
    pub from: EntryId,
    /// Seed of the turn's random numbers.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnKind {
    /// Answers the last message.
    Answer,
    /// Summarizes the conversation, with these instructions of the user.
    Compact(String),
}

impl TurnKind {
    /// Returns the task of the turn, given the contents `said` of its branch.
    pub fn task(&self, said: &[Arc<EntryContent>]) -> TurnTask {
        match self {
            Self::Answer => TurnTask::Answer,
            Self::Compact(instructions) => TurnTask::Summarise(SummaryCheck::new(said, instructions)),
        }
    }
}

/// An update for surfaces.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// An entry was written.
    EntryAppended { branch: Branch, entry: Entry },
    TurnStarted {
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
    ProgressNote {
        turn: TurnId,
        /// One line, as `progress::Note` makes it.
        note: String,
    },
    /// A tool call starts, waits for approval or is denied.
    ToolProgress { turn: TurnId, tool: String, phase: ToolPhase },
    /// The model is unreachable and is called again after `time`.
    ModelWait { turn: TurnId, delay: Duration },
    TurnEnded {
        turn: TurnId,
        branch: Branch,
        /// The message it answered.
        answers: MessageId,
        ending: TurnEnding,
    },
    /// A compaction started, ended or was undone.
    Compaction(CompactionUpdate),
    /// A turn is blocked because the model rejects the API key; all messages up to `newest` wait
    /// behind it.
    TurnBlocked {
        turn: TurnId,
        branch: Branch,
        /// The newest waiting message.
        newest: MessageId,
        /// Whether the user has been notified before.
        notice: KeyNotice,
        /// The model's error, and the remedy.
        why: Failure,
    },
    /// An approval was opened or closed.
    Approval(ApprovalUpdate),
    /// A fork, a background run, a message or a card changed.
    Side(SideUpdate),
    /// Main moved to another entry: what the user sees is not what the model reads.
    MainMoved(MoveReason),
    /// A notice for the user.
    Notice(String),
}

/// State of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolPhase {
    Running,
    /// Waits for the user's approval.
    AwaitingApproval,
    /// Not allowed, and not run.
    Denied,
}

/// A change of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalUpdate {
    /// It can be answered, and has this state.
    Open(Approval),
    Closed(Approval, ClosedApproval),
}

/// An update about forks, messages of background runs, dismissed messages, or cards.
#[derive(Clone, Debug, PartialEq)]
pub enum SideUpdate {
    /// A fork was entered: the next messages go there.
    ForkStarted { branch: Branch, topic: Option<String> },
    /// A fork ended: the next messages go to main.
    ForkEnded {
        branch: Branch,
        why: MoveReason,
        /// Text about the end, for example the summary; may be empty.
        note: String,
    },
    /// A background run shows an entry.
    RunShowed {
        /// The job of the run.
        source: CostSource,
        /// The entry that contains it.
        entry: Entry,
    },
    /// The user dismissed this message.
    MessagePutAway(SentId),
    /// A reminder card was created or changed.
    CardChanged(Card),
}

/// A change of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionUpdate {
    /// It started. New messages wait.
    Started {
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
