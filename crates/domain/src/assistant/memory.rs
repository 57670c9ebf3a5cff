//! What the assistant knows when it wakes up, and keeps in mind: names, numbers and what waits.

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

/// What the journal knows when the assistant wakes up.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The names, and the number of the next entry.
    pub conversation: Conversation,
    /// The turns.
    pub turns: Turns,
    /// The messages.
    pub messages: Messages,
    /// What forks and background runs left for main.
    pub reports: Reports,
    /// The inbox.
    pub inbox: Inbox,
    /// What the human is asked, and has said yes to.
    pub approvals: Approvals,
    /// The side conversation that is open.
    pub fork: Option<Fork>,
    /// The main conversation.
    pub main: Main,
    /// What is planned, and what is being done about it.
    pub plans: Plans,
    /// What the human chose.
    pub chosen: Chosen,
}

/// Turns that never ended, the background runs they may belong to, and the number of the next one.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Those that never ended.
    pub unfinished: Vec<Unfinished>,
    /// The background runs that go on.
    pub runs: BTreeMap<Branch, Arc<Run>>,
    /// How many tokens the newest call of each branch held.
    pub filled: BTreeMap<Branch, u64>,
    /// The number of the next turn.
    pub next: TurnId,
}

/// Messages that nobody has taken, the number of the next one, and what was sent to the human.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Those that wait, oldest first.
    pub waiting: VecDeque<Message>,
    /// What is known of messages that the human sees, shared with every copy of this memory.
    pub sent: Arc<Sent>,
    /// What surfaces elsewhere told us lately, shared with every copy of this memory.
    pub heard: Arc<BTreeSet<Mark>>,
    /// The cards of reminders that rang, shared with every copy of this memory.
    pub cards: Arc<Cards>,
    /// Whether the human is to be reached, and what waits because they are not.
    pub attending: Attending,
    /// The addresses that the human wrote lately, oldest first, shared with every copy of this memory.
    pub links: Arc<VecDeque<String>>,
    /// The addresses that were seen lately in pages, search results and mail, oldest first, shared with every copy of this
    /// memory.
    pub seen: Arc<VecDeque<String>>,
    /// Texts in recent tool calls that could be addresses, oldest first. An address among them does not count as seen.
    pub composed: Arc<VecDeque<String>>,
    /// What was brought to webhooks.
    pub deliveries: Deliveries,
    /// The number of the next message.
    pub next: MessageId,
}

/// How many of the newest marks are remembered.
pub const MARKS: usize = 2_000;

impl Messages {
    /// What is known by `mark` has been heard.
    pub(super) fn remember(&mut self, mark: Option<Mark>) {
        let Some(mark) = mark else { return };
        let heard = Arc::make_mut(&mut self.heard);
        heard.insert(mark);
        if heard.len() > MARKS {
            heard.pop_first();
        }
    }
}

/// Reports that main has not read, and the number of the next one.
#[derive(Clone, Debug)]
pub struct Reports {
    /// Those that wait, oldest first, shared with every copy of this memory.
    pub waiting: Arc<Vec<Report>>,
    /// The number of the next report.
    pub next: ReportId,
}

/// What is known of the main conversation besides where it is.
#[derive(Clone, Debug, Default)]
pub struct Main {
    /// When it began.
    pub created: Option<Timestamp>,
    /// The changes of its shape that can still be taken back, oldest first, shared with every copy of this memory.
    pub changes: Arc<Vec<Change>>,
    /// The side conversation that begins next.
    pub entering: Option<Entering>,
    /// Where it stood before the turn that goes on.
    pub before: Option<Spot>,
}

/// A place in the tree, and what is known of all words on the way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The entry.
    pub entry: EntryId,
    /// What is known.
    pub label: Label,
}

impl Spot {
    /// Where `head` stands, if anything was said there.
    pub fn of(head: &Head) -> Option<Self> {
        head.entry.map(|entry| Self { entry, label: head.label })
    }
}

/// What the human chose, as far as it is not the usual.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The settings.
    pub settings: Settings,
    /// How much is thought on main until the next start, whatever the settings say.
    pub thinking: Option<Thinking>,
    /// The effort on main until the next start, whatever the settings say.
    pub effort: Option<Effort>,
    /// How many pings are left; nothing, before anybody looked.
    pub pings: Option<PingBudget>,
    /// What may be done without asking, until the next start.
    pub modes: Modes,
    /// Who can be asked to work aside, shared with every copy of this memory.
    pub agents: Arc<[Agent]>,
}

impl Memory {
    /// What is known of `conversation` when nothing else happened.
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

/// A turn that the program died under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The turn.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The message it answers.
    pub answers: Arc<Message>,
    /// How often it was begun.
    pub attempts: u32,
    /// How many tools it has called.
    pub calls: u32,
    /// Calls that were let through and whose outcome nobody wrote down.
    pub unanswered: Vec<ToolCall>,
}
