//! What is written down: the only way a decision becomes a fact.
//!
//! All records of one decision are written in one transaction, before anything they say is shown.

use jiff::Timestamp;

use crate::conversation::{Branch, Entry, EntryId, Image, Move, SessionId, Usage};
use crate::cost::Spent;
use crate::inbox::Kept;
use crate::permission::Decision;
use crate::turn::{Ending, TurnId};

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Something was said on a branch, whose name now stands there.
    Said(Branch, Entry),
    /// A name moved for another reason.
    Moved(Move),
    /// The human sent a message; it waits for its turn.
    Received(Message),
    /// A waiting message became an entry.
    Taken(MessageId, EntryId),
    /// A turn began.
    Opened(Opened),
    /// A turn ended.
    Closed(Closed),
    /// A turn waits for a key: it was not its fault that it did not get on.
    Held(TurnId),
    /// A call was decided upon.
    Decided(TurnId, Decision, Timestamp),
    /// A model was called.
    Spent(Spent),
    /// The human chose the model of this short name, or the usual one.
    Model(Option<String>, Timestamp),
    /// Something was put into the inbox.
    Kept(Kept),
    /// The session of the main conversation changed, or a branch got one.
    Session(SessionChange),
}

/// The number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

/// A message of the human, before it is part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: MessageId,
    /// When it came.
    pub at: Timestamp,
    /// Where it was said.
    pub surface: SurfaceName,
    /// Its words.
    pub text: String,
    /// Its pictures.
    pub images: Vec<Image>,
}

/// Where the human is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceName {
    /// The terminal.
    Terminal,
    /// The local page.
    Page,
}

impl SurfaceName {
    /// The name, as it is kept and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Page => "page",
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
}
