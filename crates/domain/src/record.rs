//! What is written down: the only way a decision becomes a fact.
//!
//! All records of one decision are written in one transaction, before anything they say is shown.

use std::sync::Arc;

use jiff::Timestamp;

pub use crate::approval::ApprovalChange;
use crate::assistant::{ItemOrigin, OwnItem, PlanOrigin, Replanned};
use crate::attention::AttentionChange;
use crate::card::Card;
use crate::conversation::{Branch, Entry, EntryId, Image, Move, SessionId, Usage};
use crate::cost::{Source, Spent};
use crate::delivery::DeliveryChange;
use crate::fork::{Entering, Fork};
use crate::inbox::{Kept, KeptId};
use crate::label::Label;
use crate::occurrence::Occurrence;
use crate::permission::Decision;
use crate::ping_budget::PingBudget;
use crate::post::{PostChange, PostKey};
use crate::report::{Report, ReportId};
use crate::run::{Doings, Kind, Run};
use crate::schedule::{Accounted, ItemId, Rest, What};
use crate::sent::{Inquiry, InquiryId, Origin, SentId};
use crate::settings::{Setting, Settings};
use crate::turn::{Ending, TurnId};

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Something was said on a branch, whose name now stands there.
    Said(Branch, Entry),
    /// A name moved for another reason.
    Moved(Move),
    /// Something happened to a message.
    Message(MessageChange),
    /// Something happened to a turn.
    Turn(TurnChange),
    /// Something happened to a report.
    Report(ReportChange),
    /// Something happened to the side conversation, or to a background run.
    Fork(ForkChange),
    /// Something happened to an approval.
    Approval(ApprovalChange),
    /// A model was called.
    Spent(Spent),
    /// One of the small state files says something else now.
    State(StateChange),
    /// Something happened to what is planned.
    Plan(PlanChange),
    /// Something happened to the inbox.
    Inbox(InboxChange),
    /// The session of the main conversation changed, or a branch got one.
    Session(SessionChange),
}

/// What a small state file says now.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// The human set this, to what it is in these settings.
    Set(Setting, Box<Settings>, Timestamp),
    /// So many pings are left.
    Pings(PingBudget),
    /// What was shown was charged.
    Charged(Charge),
}

/// What was charged for something that a run showed to the human.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// The entry that holds it.
    pub entry: EntryId,
    /// The pings that were left before.
    pub before: f64,
    /// The pings that were left after it: as many, if it could not wait.
    pub after: f64,
}

/// What happened to what is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// All times of this plan are accounted for, so far.
    Accounted(Source, Accounted),
    /// It is not planned any more.
    Forgotten(Source),
    /// This is how one of its times stands.
    Occurred(Occurrence),
    /// The session of this routine stands here now; nothing, if it has none.
    Session(ItemId, Option<Stand>),
    /// A file that plans something has to be changed.
    File(FileWork),
    /// All routines rest, or not any more.
    Rest(Rest),
    /// These changes can be taken back; the newest is the last.
    Changes(Arc<Vec<Replanned>>),
    /// Something happened to a delivery.
    Delivery(DeliveryChange),
    /// This is known of the words of a job.
    Written(Source, PlanOrigin, Timestamp),
    /// This is known of the words of an item; nothing, if they were written anew.
    Marked(OwnItem, Option<ItemOrigin>),
}

/// Where the session of a persistent routine stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    /// Its name.
    pub session: SessionId,
    /// Its last entry.
    pub entry: EntryId,
    /// What is known of all words on the way there.
    pub label: Label,
}

/// What is done to a file that plans something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileWork {
    /// It is made, or says this now.
    Write(Box<What>),
    /// It is taken away; one that was changed since stays.
    Remove(Removal),
    /// One key says this now, or is left out; all else stays as the human wrote it.
    Set(Source, &'static str, Option<String>),
}

/// A file that is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Whose it is.
    pub source: Source,
    /// Where it was when it was read last, such as `reminders/tea.md`; people may have given it another name since.
    pub file: String,
    /// What it said then; empty, if it goes whatever it says.
    pub was: String,
}

/// What happened to a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageChange {
    /// It came, and waits for its turn.
    Received(Message),
    /// It became an entry.
    Taken(MessageId, EntryId),
    /// Nobody will answer it: the side conversation it was meant for has ended.
    Dropped(MessageId),
    /// Something happened to what was sent to the human.
    Sent(SentChange),
    /// Something happened to what is to be sent.
    Post(PostChange),
    /// This is how the card of a reminder stands, and what it was posted under.
    Card(Card, PostKey),
    /// Something happened to the human's attention.
    Attention(AttentionChange),
}

/// What happened to a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnChange {
    /// It began.
    Opened(Opened),
    /// It ended.
    Closed(Closed),
    /// It waits for a key: it was not its fault that it did not get on.
    Held(TurnId),
    /// One of its calls was decided upon.
    Decided(TurnId, Decision, Timestamp),
}

/// What happened to a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportChange {
    /// It was left for main.
    Left(Report),
    /// Main has read these.
    Read(Reading),
    /// These wait again, because what main had read them in was taken back.
    Unread(Vec<ReportId>),
}

/// Reports that main has read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Those that were quoted.
    pub quoted: Vec<ReportId>,
    /// Those that were only counted, because there were too many.
    pub counted: Vec<ReportId>,
    /// The entry they stand in; nothing, if main took them over from a fork that had seen them.
    pub entry: Option<EntryId>,
}

/// What happened to the side conversation, or to a background run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkChange {
    /// It was asked for, and begins after the answer that goes on; or not any more.
    Wanted(Option<Entering>),
    /// It is open, and this is how it stands.
    Open(Fork),
    /// It has ended.
    Ended(Branch),
    /// A run began.
    Running(Run),
    /// This is what it has done until now.
    Doing(Branch, Box<Doings>),
    /// It has ended.
    Ran(Branch),
}

/// What happened to what was sent to the human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentChange {
    /// A run showed this.
    Showed(Showed),
    /// These came from a run that has ended, or were left by another program. The time is that of the change.
    Kept(Vec<Origin>, Timestamp),
    /// Records of messages that were older than seven days at this time were removed.
    Pruned(Timestamp),
    /// Another program removed the records of these messages.
    Removed(Vec<SentId>),
    /// A button asks this.
    Asks(Inquiry),
    /// A button asked this, and does not ask it again.
    Asked(InquiryId),
    /// The human put this away.
    PutAway(SentId),
}

/// What a run showed to the human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showed {
    /// The run.
    pub branch: Branch,
    /// Whose it is.
    pub source: Source,
    /// The entry that holds it.
    pub entry: EntryId,
}

/// What happened to the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxChange {
    /// Something was put into it.
    Kept(Kept),
    /// Something was taken out of it for good.
    Removed(KeptId, Timestamp),
}

/// The number of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A message, before it is part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: MessageId,
    /// When it came.
    pub at: Timestamp,
    /// Who said it, and where.
    pub surface: SurfaceName,
    /// Where it is heard.
    pub to: Address,
    /// Its words.
    pub text: String,
    /// Its pictures.
    pub images: Vec<Image>,
    /// What the other side knows it by, if it came from one that tells things twice.
    pub mark: Option<Mark>,
    /// What is known of its words, besides what they show: where words of ours came from.
    pub label: Label,
}

/// The number by which a surface elsewhere knows a message. One that was heard is not heard again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark(pub u64);

/// Where a message is heard. What it is decided by is known when its turn comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Wherever the human is.
    Here,
    /// On this branch.
    Branch(Branch),
    /// Where the message came from that it replies to, or here with that quoted.
    Reply(ReplyTo),
    /// Where this message came from, one of whose buttons was pressed, or here.
    Button(SentId, InquiryId),
}

/// A reply to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// The message.
    pub to: SentId,
    /// Its words, as far as they are quoted.
    pub words: String,
}

/// Where the human is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceName {
    /// The terminal.
    Terminal,
    /// The local page.
    Page,
    /// The direct messages of Discord.
    Discord,
    /// Nowhere: we said it ourselves.
    House,
}

impl SurfaceName {
    /// The surface of that name; an unknown one is taken for the terminal.
    pub fn named(name: &str) -> Self {
        [Self::Page, Self::Discord, Self::House]
            .into_iter()
            .find(|surface| surface.as_str() == name)
            .unwrap_or(Self::Terminal)
    }

    /// The name, as it is kept and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Page => "page",
            Self::Discord => "discord",
            Self::House => "house",
        }
    }
}

/// A turn that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its number.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The message it answers.
    pub answers: MessageId,
    /// When.
    pub at: Timestamp,
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its number.
    pub turn: TurnId,
    /// How.
    pub ending: Ending,
    /// What it cost.
    pub usage: Usage,
    /// When.
    pub at: Timestamp,
}

/// What happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// The main conversation now speaks under this id. Whether that is a creation or a compaction follows
    /// from the id that was there before.
    Saved(SessionId, Timestamp),
    /// A fork was promoted; the id of main changes without being created or compacted.
    Swapped {
        /// The id of the fork.
        to: SessionId,
        /// The id main had before.
        from: Option<SessionId>,
        /// When.
        at: Timestamp,
    },
    /// The human started over.
    Cleared(SessionId, Timestamp),
    /// A side conversation began.
    Forked {
        /// Its id.
        fork: SessionId,
        /// The id of main.
        from: Option<SessionId>,
        /// When.
        at: Timestamp,
    },
    /// A background run ended.
    Ran {
        /// Its id.
        run: SessionId,
        /// The id of main when it began, if it began there.
        from: Option<SessionId>,
        /// What it stood on.
        kind: Kind,
        /// When.
        at: Timestamp,
    },
}
