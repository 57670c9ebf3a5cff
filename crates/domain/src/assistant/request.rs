//! Requests to the assistant, from surfaces and from active turns, and the receipt of messages.

use jiff::Zoned;

use super::fork_exit::ExitCommand;
use super::{
    ActiveTurn, Assistant, Effect, MAX_IMAGES, MAX_MESSAGE_CHARS, MAX_QUEUED_MESSAGES, Plans, StateEdit,
    Transaction, TurnState, TurnWork,
};
use crate::approval::ApprovalReply;
use crate::attention::{Attention, QuietCommand};
use crate::command::is_secret;
use crate::compaction::ContextWindow;
use crate::context_tool::ContextTool;
use crate::conversation::{Block, Image};
use crate::cost::{BudgetLimit, BudgetRefusal, CostSource, ModelCall, NextCall};
use crate::delivery::Delivery;
use crate::effort::EffortChoice;
use crate::embed::ButtonAction;
use crate::inbox::InboxItemId;
use crate::label::Label;
use crate::maintenance::MaintenanceQuestion;
use crate::pending_update::UpdateId;
use crate::permission::CallDisposition;
use crate::ping_budget::{PingBudget, PingPace};
use crate::record::{
    Address, ExternalMessageId, Message, MessageChange, MessageId, Record, ReplyTo, SurfaceName,
};
use crate::run::Job;
use crate::schedule::PauseState;
use crate::sent_messages::SentId;
use crate::settings::Setting;
use crate::thinking::Thinking;
use crate::tool::{ServerToolKinds, ShownContent, ToolResult};
use crate::turn::TurnId;

/// A request whose sender waits for the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A message of the user.
    Say(UserMessage),
    /// Stops or retries the active turn.
    Control(TurnCommand),
    /// Compacts, undoes or clears the main conversation.
    History(HistoryCommand),
    /// Enters or exits a fork.
    Fork(ForkCommand),
    /// A request of an active turn.
    Turn(TurnId, TurnRequest),
    /// Changes the inbox.
    Inbox(InboxCommand),
    /// Answers an approval.
    Approve(ApprovalReply),
    /// Reads state.
    Query(Query),
    /// Changes a setting.
    Configure(SettingCommand),
    /// A button press.
    Press(ButtonPress),
    /// Changes plans, or runs jobs.
    Schedule(ScheduleCommand),
    /// A notice of the daemon itself, acknowledged once it is written where the user will find it.
    Announce(String),
    /// Other programs changed these state files.
    StateFiles(Vec<StateEdit>),
}

/// A command about the active turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnCommand {
    Stop,
    /// Retries a blocked turn.
    Retry,
}

/// A command about plans and jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleCommand {
    /// Runs this job now.
    RunJob(Job),
    /// Fires this plan now.
    FireNow(CostSource),
    /// Pauses or resumes this plan.
    Pause(CostSource, PauseState),
    /// Applies a text to the plans.
    PlanText(String),
    /// Applies a text to the plans, or else stores it in the inbox.
    Capture(String),
    /// Creates a reminder from its text and its time.
    Remind(String, String),
    /// Accepts a webhook delivery.
    DeliverWebhook(Box<Delivery>),
}

/// A command about the inbox and pending updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxCommand {
    Keep(String),
    Remove(InboxItemId),
    /// Marks a pending update as read by the user, so that main does not read it.
    DismissUpdate(UpdateId),
}

/// A command about the main conversation as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryCommand {
    /// Replaces the conversation by a summary, with these instructions.
    Compact(String),
    /// Undoes the last such change.
    Undo,
    /// Starts over.
    Clear,
}

/// A fork command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkCommand {
    /// Enters a fork, on this topic.
    Enter(String),
    /// Returns to main.
    Exit(ExitCommand),
}

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// The pending updates.
    Updates,
    /// The inbox.
    Inbox,
    /// A status text.
    Status,
    /// Counts for status displays.
    Numbers,
    /// The attention state, and deferred messages.
    Attention,
    /// Plans and their open occurrences.
    Plans,
    /// All settings.
    Settings,
    /// One setting.
    Setting(Setting),
    /// Whether the daemon may check for an update, install it, or restart.
    MayRestart(MaintenanceQuestion),
}

/// A command that changes a setting. Without a value, most of them show the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingCommand {
    /// The model.
    Model(String),
    /// The thinking mode, until the next start.
    Thinking(Option<Thinking>),
    /// The effort, until the next start.
    Effort(EffortChoice),
    /// Any setting in the configuration.
    Setting(Setting, String),
    /// The pace of pings.
    PingPace(PingPace),
    /// The permission mode.
    PermissionMode(String),
    /// Revokes a standing approval by its number.
    Revoke(String),
    /// Quiet, focus and lighter-day commands.
    Quiet(QuietCommand),
}

/// A request of an active turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnRequest {
    /// Asks to run the tool calls of the model's reply.
    MayRun {
        blocks: Vec<Block>,
        /// Model calls since the last request.
        model_calls: Vec<ModelCall>,
        /// Kinds of the called servers' tools, as accepted by the user.
        kinds: ServerToolKinds,
        /// How many calls may run within the turn's limit; the others are answered with an error.
        max_calls: usize,
    },
    /// An unattended turn asks for one more model call, and reports those it has made.
    MayCallModel(Vec<ModelCall>, NextCall),
    /// An unattended turn reports the model calls it has made.
    CallsMade(Vec<ModelCall>),
    /// Asks for a web search at the model's vendor, which uses at most these calls.
    MaySearch(Vec<ModelCall>),
    /// Reports the end of that search.
    Searched {
        /// The calls announced with `MaySearch`.
        announced: Vec<ModelCall>,
        /// The calls made.
        model_calls: Vec<ModelCall>,
    },
    /// Reports the results of its tool calls.
    CallsDone(Vec<ToolResult>),
    /// Asks to run this program for a skill that the turn loads.
    MayRunProgram(Vec<String>),
    /// Calls a tool whose effect depends on the turn's context.
    UseContextTool(ContextTool),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// The surface it was sent on.
    pub surface: SurfaceName,
    pub text: String,
    pub images: Vec<Image>,
    /// The message it replies to, if any.
    pub reply_to: Option<ReplyTo>,
    /// Its identity on another surface, if it may be delivered twice.
    pub mark: Option<ExternalMessageId>,
}

impl UserMessage {
    /// Creates a message without pictures.
    pub fn from_text(surface: SurfaceName, text: &str) -> Self {
        Self { surface, text: text.to_owned(), images: Vec::new(), reply_to: None, mark: None }
    }
}

/// A button press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ButtonPress {
    pub surface: SurfaceName,
    /// The message with the button.
    pub on: SentId,
    pub action: ButtonAction,
}

/// Counts and limits for status displays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Number of pending updates.
    pub updates: usize,
    /// Number of inbox items.
    pub inbox: usize,
    /// The ping budget.
    pub pings: PingBudget,
    /// Context size in tokens of the last call on the user's branch; `None` before the first call.
    pub context_tokens: Option<u64>,
    /// The context window.
    pub window: ContextWindow,
    /// Daily limit of unattended work.
    pub limit: BudgetLimit,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The message is on disk, with this id.
    MessageQueued(MessageId),
    /// Work has started or is queued, as this turn.
    TurnStarted(TurnId),
    /// Rulings on the requested calls.
    Rulings(Vec<CallDisposition>),
    /// Done, and on disk.
    Done,
    /// The recorded results, as the model reads them.
    Results(Vec<ToolResult>),
    /// A text.
    Text(String),
    /// A copy of the plans; it shares unchanged parts.
    Plans(Box<Plans>),
    Numbers(Numbers),
    Attention(Box<Attention>),
    /// Refused, because the daily limit is reached.
    OverBudget(BudgetRefusal),
    /// Shown to the user, with this content.
    Shown(ShownContent),
    /// Refused, with the reason and the remedy.
    Refused(String),
}

impl Assistant {
    pub(super) fn receive_message(&mut self, message: UserMessage, now: &Zoned) -> (Answer, Vec<Effect>) {
        // P6: a message delivered twice is accepted once.
        if message.mark.is_some_and(|mark| self.state.messages.seen_marks.contains(&mark)) {
            return (Answer::Done, Vec::new());
        }
        if let Err(refusal) = check_message(&message).and_then(|()| self.check_queue()) {
            return (Answer::Refused(refusal), Vec::new());
        }
        let tx = Transaction::at(now);
        let UserMessage { surface, text, images, reply_to, mark } = message;
        let to = reply_to.map_or(Address::UserBranch, Address::Reply);
        self.state.messages.remember_links(&text);
        let id = self.next_message_id();
        let at = tx.at;
        self.queue_message(
            Message { id, at, surface, address: to, text, images, external_id: mark, label: Label::PLAIN },
            tx,
        )
    }

    pub(super) fn next_message_id(&mut self) -> MessageId {
        let id = self.state.messages.next;
        self.state.messages.next = MessageId(id.0 + 1);
        id
    }

    /// Records and queues a message of the user, which is answered once no turn is active.
    pub(super) fn queue_message(&mut self, message: Message, mut tx: Transaction) -> (Answer, Vec<Effect>) {
        let id = message.id;
        tx.records.push(Record::Message(MessageChange::Received(message.clone())));
        self.state.messages.remember_mark(message.external_id);
        let recalled_turn = self.recall_retried_turn(&message, &tx);
        self.state.messages.waiting.push_back(message);
        self.fire_talk_cues(&mut tx);
        self.stop_waiting_if_busy(&mut tx);
        let interrupt = match self.user_turn().map(|(_, running)| running) {
            // MC-7: a compaction is not interrupted.
            Some(ActiveTurn { work: TurnWork::Compact(_), .. }) => {
                self.prioritize_blocking_turns(&mut tx);
                None
            }
            Some(ActiveTurn { state: TurnState::Resumed, .. }) => {
                self.prioritize_blocking_turns(&mut tx);
                recalled_turn.map(Effect::Interrupt)
            }
            Some(ActiveTurn { turn, state: TurnState::Fresh, .. }) => Some(Effect::Interrupt(*turn)),
            Some(ActiveTurn { state: TurnState::Blocked, .. }) => {
                self.answer_waiting_offline(&mut tx);
                if self.state.messages.waiting.iter().any(|waiting| waiting.id == id) {
                    self.retry_blocked(&mut tx);
                }
                None
            }
            None => {
                // A background run may be blocked.
                self.retry_blocked(&mut tx);
                self.start_next_turn(&mut tx);
                None
            }
        };
        (Answer::MessageQueued(id), tx.into_effects().into_iter().chain(interrupt).collect())
    }

    pub(super) fn check_queue(&self) -> Result<(), String> {
        let is_from_user = |message: &&Message| message.surface != SurfaceName::Internal;
        if self.state.messages.waiting.iter().filter(is_from_user).count() < MAX_QUEUED_MESSAGES {
            Ok(())
        } else {
            Err(format!("{MAX_QUEUED_MESSAGES} messages are waiting already. Let me answer those first."))
        }
    }

    pub(super) fn stop_turn(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        match self.user_turn().map(|(branch, running)| (branch.clone(), running.clone())) {
            Some((branch, blocked)) if blocked.state == TurnState::Blocked => {
                (Answer::Done, self.drop_blocked_turn(&branch, &blocked, now))
            }
            Some((_, running)) => {
                let mut tx = Transaction::at(now);
                self.cancel_waiting(&mut tx);
                let interrupt = Effect::Interrupt(running.turn);
                (Answer::Done, tx.into_effects().into_iter().chain([interrupt]).collect())
            }
            None => (Answer::Refused("nothing is running.".to_owned()), Vec::new()),
        }
    }
}

fn check_message(message: &UserMessage) -> Result<(), String> {
    let text = message.text.trim();
    let pictures = message.images.len();
    if text.is_empty() && pictures == 0 {
        return Err("there are no words in that message.".to_owned());
    }
    // It would be stored, and read by a model.
    if is_secret(text) {
        return Err(
            "that is a code to sign in with, and i keep none. paste it alone, not as a reply.".to_owned()
        );
    }
    if pictures > MAX_IMAGES {
        return Err(format!("that message has {pictures} pictures and the most i look at is {MAX_IMAGES}."));
    }
    let length = message.text.chars().count();
    if length > MAX_MESSAGE_CHARS {
        return Err(format!(
            "that message has {length} characters and the most i take at once is {MAX_MESSAGE_CHARS}. send it in parts."
        ));
    }
    Ok(())
}
