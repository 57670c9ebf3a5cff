//! Active turns: their work and their state.

use std::sync::Arc;

use super::compacting::Compacting;
use crate::conversation::Branch;
use crate::cost::{Account, Most};
use crate::record::{Message, MessageId};
use crate::tool::{ServerKinds, ToolCall};
use crate::turn::TurnId;

/// An active turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) turn: TurnId,
    pub(super) errand: Errand,
    pub(super) account: Account,
    pub(super) owed: Owed,
    /// Allowed calls without a result yet.
    pub(super) unanswered: Vec<ToolCall>,
    /// Kinds of the server tools called in this step.
    pub(super) kinds: ServerKinds,
    /// Upper bound for the current model call of an unattended turn.
    pub(super) calling: Option<Most>,
    /// Upper bound for the active web searches of an unattended turn.
    pub(super) searching: Most,
}

impl Running {
    /// A new turn without any calls.
    pub(super) fn new(turn: TurnId, errand: Errand, account: Account, owed: Owed) -> Self {
        Self {
            turn,
            errand,
            account,
            owed,
            unanswered: Vec::new(),
            kinds: ServerKinds::new(),
            calling: None,
            searching: Most::default(),
        }
    }

    /// Returns the message it is answering.
    pub(super) fn message(&self) -> Option<&Message> {
        match &self.errand {
            Errand::Answer(message, _) => Some(message),
            Errand::Compact(_) => None,
        }
    }

    /// Returns the id of the message it answers, also while it waits for a compaction.
    pub(super) fn answers(&self) -> Option<MessageId> {
        match &self.errand {
            Errand::Answer(message, _) => Some(message.id),
            Errand::Compact(compacting) => compacting.stuck_turn().map(|(_, message)| message.id),
        }
    }
}

/// The work of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Answer(Arc<Message>, Sending),
    Compact(Compacting),
}

/// Whether the message was sent to the model before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    First,
    /// Once more, after a compaction for this turn.
    Again,
}

/// The state of an active turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// Started for a new message.
    Now,
    /// Resumed after a restart or a rejected key. It is not interrupted by new messages.
    SinceBefore,
    /// Blocked until the model accepts the key or is reachable; all messages wait.
    Held,
}

/// An answer turn, by its number, branch and message.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) message: Arc<Message>,
    pub(super) sending: Sending,
}
