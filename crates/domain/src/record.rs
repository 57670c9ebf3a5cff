//! Records: the facts that a decision writes to the journal.
//!
//! All records of one decision are written in one transaction, before surfaces see anything of it.

use std::sync::Arc;

use jiff::Timestamp;

pub use crate::approval::ApprovalChange;
use crate::assistant::{ItemOrigin, OwnItem, PlanOrigin, Replanned};
use crate::attention::AttentionChange;
use crate::card::Card;
use crate::conversation::{Branch, Entry, EntryId, Image, Move, SessionId, Usage};
use crate::cost::{CostSource, LedgerEntry};
use crate::delivery::DeliveryChange;
use crate::fork::{Fork, ForkRequest};
use crate::inbox::{InboxItem, InboxItemId};
use crate::label::Label;
use crate::occurrence::Occurrence;
use crate::outbox::{OutboxChange, OutboxKey};
use crate::pending_update::{PendingUpdate, UpdateId};
use crate::permission::Decision;
use crate::ping_budget::PingBudget;
use crate::run::{Run, RunMode, RunProgress};
use crate::schedule::{ItemId, JobSpec, PauseState, Watermark};
use crate::sent_messages::{MessageOrigin, SentId, StoredPrompt, StoredPromptId};
use crate::settings::{Setting, Settings};
use crate::turn::{TurnEnding, TurnId};

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// An entry was appended, and the branch moved to it.
    EntryAppended(Branch, Entry),
    /// A branch moved for another reason.
    BranchMoved(Move),
    Message(MessageChange),
    Turn(TurnChange),
    /// A pending update changed.
    Update(UpdateChange),
    /// A fork or a background run changed.
    Fork(ForkChange),
    Approval(ApprovalChange),
    /// A model was called.
    CallSpent(LedgerEntry),
    /// A small state file changed.
    State(StateChange),
    Plan(PlanChange),
    Inbox(InboxChange),
    /// The session of main changed, or a branch got one.
    Session(SessionChange),
}

/// A change of a small state file.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// The user changed this setting, to its value in these settings.
    SettingChanged(Setting, Box<Settings>, Timestamp),
    PingBudget(PingBudget),
    PingCharged(PingCharge),
}

/// The charge for a message of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingCharge {
    /// The entry with the message.
    pub entry: EntryId,
    /// The available pings before.
    pub before: f64,
    /// The available pings after; equal for a critical ping.
    pub after: f64,
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// All times of this plan up to the watermark are handled.
    Watermark(CostSource, Watermark),
    /// The plan was removed.
    Forgotten(CostSource),
    /// The state of one occurrence.
    Occurrence(Occurrence),
    /// The head of this routine's session; `None` if it has none.
    SessionHead(ItemId, Option<SessionHead>),
    /// A job file must be changed.
    JobFile(JobFileEdit),
    /// All routines were paused or resumed.
    AllPaused(PauseState),
    /// The changes that can be undone; the newest is last.
    UndoLog(Arc<Vec<Replanned>>),
    Delivery(DeliveryChange),
    /// The origin of a job's prompt.
    PromptOrigin(CostSource, PlanOrigin, Timestamp),
    /// The origin of an item's text; `None` if the text was replaced in a conversation without
    /// outside text.
    Marked(OwnItem, Option<ItemOrigin>),
}

/// The head of a persistent routine's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHead {
    pub session: SessionId,
    pub entry: EntryId,
    /// The joined label of all entries on the path.
    pub label: Label,
}

/// A change of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFileEdit {
    /// Creates or replaces the file.
    Write(Box<JobSpec>),
    /// Removes the file unless it was changed since.
    Remove(JobFileRemoval),
    /// Sets or removes one key; the rest of the file stays as the user wrote it.
    SetKey(CostSource, &'static str, Option<String>),
}

/// The removal of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFileRemoval {
    pub source: CostSource,
    /// The last known path, such as `reminders/tea.md`; the file may have been renamed since.
    pub file: String,
    /// The last known content; empty to remove the file whatever its content.
    pub old_content: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MessageChange {
    /// It was received and is queued.
    Received(Message),
    Taken(MessageId, EntryId),
    /// It will not be answered, because its fork has ended.
    Dropped(MessageId),
    Sent(SentChange),
    Outbox(OutboxChange),
    /// The state of a reminder's card, and the key of its message.
    Card(Card, OutboxKey),
    Attention(AttentionChange),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TurnChange {
    Opened(TurnOpened),
    Closed(TurnClosed),
    /// It is blocked by an outage or a bad key, which is not counted as a failure.
    Blocked(TurnId),
    /// One of its calls was decided.
    CallDecided(TurnId, Decision, Timestamp),
}

/// A change of a pending update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateChange {
    /// It was left for main.
    Left(PendingUpdate),
    /// Main has read these.
    Read(UpdatesRead),
    /// These are pending again, because the entry that read them was undone.
    Unread(Vec<UpdateId>),
}

/// Pending updates that main read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatesRead {
    /// The quoted updates.
    pub quoted: Vec<UpdateId>,
    /// The updates that were only counted.
    pub counted: Vec<UpdateId>,
    /// The entry that contains them; `None` if main took them over from a fork that had read them.
    pub entry: Option<EntryId>,
}

/// A change of a fork or a background run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkChange {
    /// A fork was requested and begins after the current answer; `None` cancels the request.
    Requested(Option<ForkRequest>),
    /// The state of the open fork.
    Open(Fork),
    Ended(Branch),
    RunStarted(Run),
    /// The progress of a run.
    RunProgress(Branch, Box<RunProgress>),
    /// A run ended.
    RunEnded(Branch),
}

/// A change of messages that were sent to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentChange {
    RunShowed(ShownMessage),
    /// The origins of these messages, from a run that ended or from another program. The time is
    /// that of the change.
    OriginsKept(Vec<MessageOrigin>, Timestamp),
    /// Origins that were older than seven days at this time were removed.
    Pruned(Timestamp),
    /// Another program removed the origins of these messages.
    Removed(Vec<SentId>),
    /// A prompt of a button was stored.
    ButtonRegistered(StoredPrompt),
    /// A button was pressed and cannot be pressed again.
    ButtonUsed(StoredPromptId),
    /// The user hid this message.
    MessageHidden(SentId),
}

/// A message that a run showed to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownMessage {
    pub branch: Branch,
    pub source: CostSource,
    pub entry: EntryId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxChange {
    Added(InboxItem),
    Removed(InboxItemId, Timestamp),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A message, before it becomes an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: MessageId,
    pub at: Timestamp,
    /// The surface that sent it.
    pub surface: SurfaceName,
    /// The branch that receives it.
    pub address: Address,
    pub text: String,
    pub images: Vec<Image>,
    /// Its id on the surface, if that may deliver messages twice.
    pub external_id: Option<ExternalMessageId>,
    /// The label of its text, if the program put outside text into it.
    pub label: Label,
}

/// The id of a message on another surface. A known id is not received again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternalMessageId(pub u64);

/// The destination of a message. It is resolved when the message is taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The branch where the user is.
    UserBranch,
    Branch(Branch),
    /// The branch of the message that it replies to, or the user's branch with a quotation.
    Reply(ReplyTo),
    /// The branch of the message whose button was pressed, or the user's branch.
    Button(SentId, StoredPromptId),
}

/// A reply to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    pub sent_id: SentId,
    /// The quoted text.
    pub quote: String,
}

/// The surface of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceName {
    Terminal,
    Page,
    Discord,
    /// The program itself.
    Internal,
}

impl SurfaceName {
    /// Parses a stored name; unknown names mean the terminal.
    pub fn from_name(name: &str) -> Self {
        [Self::Page, Self::Discord, Self::Internal]
            .into_iter()
            .find(|surface| surface.as_str() == name)
            .unwrap_or(Self::Terminal)
    }

    /// Returns the name that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Page => "page",
            Self::Discord => "discord",
            Self::Internal => "house",
        }
    }
}

/// The start of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOpened {
    pub turn: TurnId,
    pub branch: Branch,
    pub message: MessageId,
    pub at: Timestamp,
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnClosed {
    pub turn: TurnId,
    pub ending: TurnEnding,
    pub usage: Usage,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// Main has this session id from now on. Whether it was created or compacted follows from the
    /// previous id.
    Saved(SessionId, Timestamp),
    /// A fork was promoted, so the id of main changes without a creation or compaction.
    Swapped {
        /// The id of the fork.
        to: SessionId,
        /// The previous id of main.
        from: Option<SessionId>,
        at: Timestamp,
    },
    /// The user cleared the conversation.
    Cleared(SessionId, Timestamp),
    Forked {
        fork: SessionId,
        from: Option<SessionId>,
        at: Timestamp,
    },
    RunEnded {
        run: SessionId,
        /// The id of main at the start, if it began there.
        from: Option<SessionId>,
        mode: RunMode,
        at: Timestamp,
    },
}
