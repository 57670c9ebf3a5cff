//! The state of the assistant, as loaded from the journal: branches, counters, and pending work.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use super::UndoableChange;
use super::plans::Plans;
use crate::agent::Agent;
use crate::approval::Approvals;
use crate::attention::AttentionStore;
use crate::card::CardStore;
use crate::conversation::{Branch, Conversation, EntryId, Head};
use crate::delivery::Deliveries;
use crate::effort::Effort;
use crate::fork::{Fork, ForkRequest};
use crate::inbox::Inbox;
use crate::label::Label;
use crate::pending_update::{PendingUpdate, UpdateId};
use crate::permission::Modes;
use crate::ping_budget::PingBudget;
use crate::record::{ExternalMessageId, Message, MessageId};
use crate::run::Run;
use crate::sent_messages::SentMessages;
use crate::settings::Settings;
use crate::thinking::Thinking;
use crate::tool::ToolCall;
use crate::turn::TurnId;

/// All persistent state of the assistant.
#[derive(Clone, Debug)]
pub struct State {
    /// The branches, and the next entry id.
    pub conversation: Conversation,
    pub turns: Turns,
    pub messages: Messages,
    /// Pending updates from forks and background runs.
    pub updates: PendingUpdates,
    pub inbox: Inbox,
    /// Open and standing approvals.
    pub approvals: Approvals,
    /// The open fork.
    pub fork: Option<Fork>,
    pub main: MainConversation,
    /// Plans and their open occurrences.
    pub plans: Plans,
    /// Settings and overrides of the user.
    pub choices: UserChoices,
}

/// Active and interrupted turns.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Turns that were interrupted by the last exit.
    pub unfinished: Vec<UnfinishedTurn>,
    /// Active background runs.
    pub runs: BTreeMap<Branch, Arc<Run>>,
    /// Context size in tokens of the newest call on each branch.
    pub context_tokens: BTreeMap<Branch, u64>,
    pub next: TurnId,
}

/// Message queue, and facts about sent and received messages.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Queued messages, oldest first.
    pub waiting: VecDeque<Message>,
    /// Origins of messages that the user sees; shared between copies.
    pub sent: Arc<SentMessages>,
    /// Marks of messages recently received from other surfaces; shared between copies.
    pub seen_marks: Arc<BTreeSet<ExternalMessageId>>,
    /// Reminder cards; shared between copies.
    pub cards: Arc<CardStore>,
    /// Attention state and deferred messages.
    pub attention: AttentionStore,
    /// Addresses in recent messages of the user, oldest first; shared between copies.
    pub links: Arc<VecDeque<String>>,
    /// Addresses in recent pages, search results and mail, oldest first; shared between copies.
    pub seen: Arc<VecDeque<String>>,
    /// Texts in recent tool calls that could be addresses, oldest first. They do not count as seen.
    pub composed: Arc<VecDeque<String>>,
    /// Webhook deliveries.
    pub deliveries: Deliveries,
    pub next: MessageId,
}

/// How many of the newest marks are kept.
pub const MAX_MARKS: usize = 2_000;

impl Messages {
    /// Remembers a received message by its mark.
    pub(super) fn remember_mark(&mut self, mark: Option<ExternalMessageId>) {
        let Some(mark) = mark else { return };
        let marks = Arc::make_mut(&mut self.seen_marks);
        marks.insert(mark);
        if marks.len() > MAX_MARKS {
            marks.pop_first();
        }
    }
}

/// Pending updates that main has not read.
#[derive(Clone, Debug)]
pub struct PendingUpdates {
    /// Unread updates, oldest first; shared between copies.
    pub waiting: Arc<Vec<PendingUpdate>>,
    pub next: UpdateId,
}

/// State of the main conversation besides its head.
#[derive(Clone, Debug, Default)]
pub struct MainConversation {
    /// Start of the conversation.
    pub created: Option<Timestamp>,
    /// Changes of main that can be undone, oldest first; shared between copies.
    pub changes: Arc<Vec<UndoableChange>>,
    /// The requested fork that starts next.
    pub fork_request: Option<ForkRequest>,
    /// Main's position before the active turn.
    pub position_before_turn: Option<Position>,
}

/// A position in the tree, with the label of everything up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub entry: EntryId,
    pub label: Label,
}

impl Position {
    /// Returns the position of `head`, or `None` for an empty branch.
    pub fn of_head(head: &Head) -> Option<Self> {
        head.entry.map(|entry| Self { entry, label: head.label })
    }
}

/// Choices of the user.
#[derive(Clone, Debug, Default)]
pub struct UserChoices {
    pub settings: Settings,
    /// Thinking mode of main until the next start; overrides the settings.
    pub thinking: Option<Thinking>,
    /// Effort of main until the next start; overrides the settings.
    pub effort: Option<Effort>,
    /// The ping budget; `None` before its first use.
    pub ping_budget: Option<PingBudget>,
    /// Permission modes until the next start.
    pub modes: Modes,
    /// Agents that can be delegated to; shared between copies.
    pub agents: Arc<[Agent]>,
}

impl State {
    /// Returns the state of a new data directory with this `conversation`.
    pub fn new(conversation: Conversation) -> Self {
        Self {
            conversation,
            turns: Turns {
                unfinished: Vec::new(),
                runs: BTreeMap::new(),
                context_tokens: BTreeMap::new(),
                next: TurnId(1),
            },
            messages: Messages {
                waiting: VecDeque::new(),
                sent: Arc::default(),
                seen_marks: Arc::default(),
                cards: Arc::default(),
                attention: AttentionStore::default(),
                links: Arc::default(),
                seen: Arc::default(),
                composed: Arc::default(),
                deliveries: Deliveries::default(),
                next: MessageId(1),
            },
            updates: PendingUpdates { waiting: Arc::default(), next: UpdateId(1) },
            inbox: Inbox::default(),
            approvals: Approvals::default(),
            fork: None,
            main: MainConversation::default(),
            plans: Plans::default(),
            choices: UserChoices::default(),
        }
    }
}

/// A turn that was active when the process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedTurn {
    pub turn: TurnId,
    pub branch: Branch,
    /// The message it answers.
    pub answers: Arc<Message>,
    /// How often it was started.
    pub attempts: u32,
    /// Number of its tool calls.
    pub calls: u32,
    /// Allowed calls whose result was not recorded.
    pub unanswered: Vec<ToolCall>,
}
