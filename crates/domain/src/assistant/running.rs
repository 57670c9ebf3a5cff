//! A turn that goes on: what it is for, and since when it is owed.

use std::sync::Arc;

use super::compacting::Compacting;
use crate::conversation::Branch;
use crate::cost::{Account, Most};
use crate::record::{Message, MessageId};
use crate::tool::{ServerKinds, ToolCall};
use crate::turn::TurnId;

/// A turn that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) turn: TurnId,
    pub(super) errand: Errand,
    pub(super) account: Account,
    pub(super) owed: Owed,
    /// Calls that were let through and have no result yet.
    pub(super) unanswered: Vec<ToolCall>,
    /// What the tools of servers do that are called in this step.
    pub(super) kinds: ServerKinds,
    /// The most that the call can use which it makes now, if nobody waits for it.
    pub(super) calling: Option<Most>,
    /// The most that its web searches in progress can use, if nobody waits for it.
    pub(super) searching: Most,
}

impl Running {
    /// A turn that has done nothing yet.
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

    /// The message that it answers, if it answers one now.
    pub(super) fn message(&self) -> Option<&Message> {
        match &self.errand {
            Errand::Answer(message, _) => Some(message),
            Errand::Compact(_) => None,
        }
    }

    /// The number of the message that it answers.
    pub(super) fn answers(&self) -> Option<MessageId> {
        match &self.errand {
            Errand::Answer(message, _) => Some(message.id),
            Errand::Compact(compacting) => compacting.stuck_turn().map(|(_, message)| message.id),
        }
    }
}

/// What a turn that goes on is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// To answer this message.
    Answer(Arc<Message>, Sending),
    /// To sum up what was said.
    Compact(Compacting),
}

/// Whether words were put to the model before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// For the first time.
    First,
    /// Again, after a compaction made room for them.
    Again,
}

/// Since when an answer is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// Since the words it answers.
    Now,
    /// Since before the program died or lost its key. It has waited long enough: new words wait for it.
    SinceBefore,
    /// It cannot be given before the model takes our key: nobody speaks, and all words wait.
    Held,
}

/// A turn that answers a message somewhere.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    pub(super) turn: TurnId,
    pub(super) branch: Branch,
    pub(super) message: Arc<Message>,
    pub(super) sending: Sending,
}
