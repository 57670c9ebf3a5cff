//! The state of the assistant, as loaded from the journal: branches, counters, and pending work.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use super::Change;
use super::plans::Plans;
use crate::agent::Agent;
use crate::approval::Approvals;
use crate::attention::Attending;
use crate::card::Cards;
use crate::conversation::{Branch, Conversation, EntryId, Head};
use crate::delivery::Deliveries;
use crate::effort::Effort;
use crate::fork::{Entering, Fork};
use crate::inbox::Inbox;
use crate::label::Label;
use crate::permission::Modes;
use crate::ping_budget::PingBudget;
use crate::record::{Mark, Message, MessageId};
use crate::report::{Report, ReportId};
use crate::run::Run;
use crate::sent::Sent;
use crate::settings::Settings;
use crate::thinking::Thinking;
use crate::tool::ToolCall;
use crate::turn::TurnId;

/// All persistent state of the assistant.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The branches, and the next entry id.
    pub conversation: Conversation,
    pub turns: Turns,
    pub messages: Messages,
    /// Pending updates from forks and background runs.
    pub reports: Reports,
    pub inbox: Inbox,
    /// Open and standing approvals.
    pub approvals: Approvals,
    /// The open fork.
    pub fork: Option<Fork>,
    pub main: Main,
    /// Plans and their open occurrences.
    pub plans: Plans,
    /// Settings and overrides of the user.
    pub chosen: Chosen,
}

/// Active and interrupted turns.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Turns that were interrupted by the last exit.
    pub unfinished: Vec<Unfinished>,
    /// Active background runs.
    pub runs: BTreeMap<Branch, Arc<Run>>,
    /// Context size in tokens of the newest call on each branch.
    pub filled: BTreeMap<Branch, u64>,
    pub next: TurnId,
}

/// Message queue, and facts about sent and received messages.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Queued messages, oldest first.
    pub waiting: VecDeque<Message>,
    /// Origins of messages that the user sees; shared between copies.
    pub sent: Arc<Sent>,
    /// Marks of messages recently received from other surfaces; shared between copies.
    pub heard: Arc<BTreeSet<Mark>>,
    /// Reminder cards; shared between copies.
    pub cards: Arc<Cards>,
    /// Attention state and deferred messages.
    pub attending: Attending,
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
pub const MARKS: usize = 2_000;

impl Messages {
    /// Remembers a received message by its mark.
    pub(super) fn remember(&mut self, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        let heard = Arc::make_mut(&mut self.heard);
        heard.insert(mark);
        if heard.len() > MARKS {
            heard.pop_first();
        }
    }
}

/// Pending updates that main has not read.
#[derive(Clone, Debug)]
pub struct Reports {
    /// Unread updates, oldest first; shared between copies.
    pub waiting: Arc<Vec<Report>>,
    pub next: ReportId,
}

/// State of the main conversation besides its head.
#[derive(Clone, Debug, Default)]
pub struct Main {
    /// Start of the conversation.
    pub created: Option<Timestamp>,
    /// Changes of main that can be undone, oldest first; shared between copies.
    pub changes: Arc<Vec<Change>>,
    /// The requested fork that starts next.
    pub entering: Option<Entering>,
    /// Main's position before the active turn.
    pub before: Option<Spot>,
}

/// A position in the tree, with the label of everything up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub entry: EntryId,
    pub label: Label,
}

impl Spot {
    /// Returns the position of `head`, or `None` for an empty branch.
    pub fn of(head: &Head) -> Option<Self> {
        head.entry.map(|entry| Self { entry, label: head.label })
    }
}

/// Choices of the user.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    pub settings: Settings,
    /// Thinking mode of main until the next start; overrides the settings.
    pub thinking: Option<Thinking>,
    /// Effort of main until the next start; overrides the settings.
    pub effort: Option<Effort>,
    /// The ping budget; `None` before its first use.
    pub pings: Option<PingBudget>,
    /// Permission modes until the next start.
    pub modes: Modes,
    /// Agents that can be delegated to; shared between copies.
    pub agents: Arc<[Agent]>,
}

impl Memory {
    /// Returns the state of a new data directory with this `conversation`.
    pub fn of(conversation: Conversation) -> Self {
        Self {
            conversation,
            turns: Turns {
                unfinished: Vec::new(),
                runs: BTreeMap::new(),
                filled: BTreeMap::new(),
                next: TurnId(1),
            },
            messages: Messages {
                waiting: VecDeque::new(),
                sent: Arc::default(),
                heard: Arc::default(),
                cards: Arc::default(),
                attending: Attending::default(),
                links: Arc::default(),
                seen: Arc::default(),
                composed: Arc::default(),
                deliveries: Deliveries::default(),
                next: MessageId(1),
            },
            reports: Reports { waiting: Arc::default(), next: ReportId(1) },
            inbox: Inbox::default(),
            approvals: Approvals::default(),
            fork: None,
            main: Main::default(),
            plans: Plans::default(),
            chosen: Chosen::default(),
        }
    }
}

/// A turn that was active when the process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
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
