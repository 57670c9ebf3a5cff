//! Active turns: their work and their state.

use std::sync::Arc;

use super::compaction::ActiveCompaction;
use crate::conversation::Branch;
use crate::cost::{Account, CallCost};
use crate::record::{Message, MessageId};
use crate::tool::{ServerToolKinds, ToolCall};
use crate::turn::TurnId;

/// An active turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveTurn {
    pub(super) turn: TurnId,
    pub(super) work: TurnWork,
    pub(super) account: Account,
    pub(super) state: TurnState,
    /// Allowed calls without a result yet.
    pub(super) unanswered: Vec<ToolCall>,
    /// Kinds of the server tools called in this step.
    pub(super) server_kinds: ServerToolKinds,
    /// Upper bound for the current model call of an unattended turn.
    pub(super) call_bound: Option<CallCost>,
    /// Upper bound for the active web searches of an unattended turn.
    pub(super) search_bound: CallCost,
}

impl ActiveTurn {
    /// A new turn without any calls.
    pub(super) fn new(turn: TurnId, work: TurnWork, account: Account, state: TurnState) -> Self {
        Self {
            turn,
            work,
            account,
            state,
            unanswered: Vec::new(),
            server_kinds: ServerToolKinds::new(),
            call_bound: None,
            search_bound: CallCost::default(),
        }
    }

    /// Returns the message it is answering.
    pub(super) fn message(&self) -> Option<&Message> {
        match &self.work {
            TurnWork::Answer(message, _) => Some(message),
            TurnWork::Compact(_) => None,
        }
    }

    /// Returns the id of the message it answers, also while it waits for a compaction.
    pub(super) fn answers(&self) -> Option<MessageId> {
        match &self.work {
            TurnWork::Answer(message, _) => Some(message.id),
            TurnWork::Compact(compacting) => compacting.stuck_turn().map(|(_, message)| message.id),
        }
    }
}

/// The work of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TurnWork {
    Answer(Arc<Message>, Attempt),
    Compact(ActiveCompaction),
}

/// Whether the message was sent to the model before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// Once more, after a compaction for this turn.
    AfterCompaction,
}

/// The state of an active turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnState {
    /// Started for a new message.
    Fresh,
    /// Resumed after a restart or a rejected key. It is not interrupted by new messages.
    Resumed,
    /// Blocked until the model accepts the key or is reachable; all messages wait.
    Blocked,
}

/// An answer turn, by its number, branch and message.
#[derive(Clone, Debug)]
pub(super) struct TurnRef {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) message: Arc<Message>,
    pub(super) attempt: Attempt,
}
