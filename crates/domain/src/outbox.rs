//! The outbox: messages to surfaces where the user may not be looking, in order.
//!
//! A message is recorded together with the fact that it reports, so that a crash keeps both or
//! neither. The sender stores a receipt after sending; a message without one is still to be sent.

use std::fmt;

use jiff::Timestamp;

use crate::approval::ApprovalId;
use crate::card::CardId;
use crate::conversation::{Branch, Entry, EntryId};
use crate::embed::{Button, Embed};
use crate::sent_messages::SentId;

/// The most options of a menu.
pub const MAX_MENU_OPTIONS: usize = 25;

/// A message that is sent once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxMessage {
    /// The idempotency key: a key is not posted twice.
    pub key: OutboxKey,
    /// The time of the event.
    pub at: Timestamp,
    /// Whether the device makes a sound.
    pub sound: Sound,
    /// The id by which replies refer to it, if it can be replied to.
    pub sent_id: Option<SentId>,
    pub body: MessageBody,
}

/// Whether the device makes a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sound {
    Loud,
    Silent,
}

/// The content of a message, independent of the surface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageBody {
    /// The text; may be empty beside an embed.
    pub text: String,
    pub embed: Option<Embed>,
    /// The buttons below the message. The embed has its own.
    pub buttons: Vec<Button>,
    pub menu: Option<Menu>,
    /// A time that is shown after the text.
    pub time: Option<Timestamp>,
    /// Small text at the end, such as the origin; may be empty.
    pub footer: String,
    /// The message that it replies to, if that is recent.
    pub reply_to: Option<OutboxKey>,
}

/// A menu with options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// The text before an option is chosen.
    pub label: String,
    /// The id that the surface sends back with the chosen option.
    pub action_id: String,
    /// The options: both the text and the value that is sent back.
    pub options: Vec<String>,
}

/// A change in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxChange {
    Posted(OutboxMessage),
    /// The message under this key gets new content.
    Edited(OutboxKey, MessageBody),
}

/// The idempotency key of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutboxKey(pub String);

impl OutboxKey {
    /// Returns the key of the entry after `parent`, which is known before that entry is.
    pub fn after(parent: EntryId) -> Self {
        Self(format!("words:{}", parent.0))
    }

    /// Returns the key of the text of `entry`.
    pub fn of_entry(entry: &Entry) -> Self {
        match entry.parent {
            Some(parent) => Self::after(parent),
            None => Self(format!("first:{}", entry.id.0)),
        }
    }

    /// Returns the key of the tool result at index `place` in the entry `id`.
    pub fn shown(id: EntryId, place: usize) -> Self {
        Self(format!("shown:{}.{place}", id.0))
    }

    /// Returns the key of the card of a reminder that rang at `at`.
    pub fn card(id: &CardId, at: Timestamp) -> Self {
        Self(format!("card:{id}.{}", at.as_microsecond()))
    }

    /// Returns whether it is the key of a card.
    pub fn is_card(&self) -> bool {
        self.0.starts_with("card:")
    }

    /// Returns the key of the start of a fork.
    pub fn fork_started(branch: &Branch) -> Self {
        Self(format!("fork:{branch}"))
    }

    /// Returns the key of the end of a fork.
    pub fn fork_ended(branch: &Branch) -> Self {
        Self(format!("unfork:{branch}"))
    }

    /// Returns the key of an approval.
    pub fn approval(id: ApprovalId) -> Self {
        Self(format!("approval:{}", id.0))
    }

    /// Returns the key of the digest at `at`.
    pub fn digest(at: Timestamp) -> Self {
        Self(format!("digest:{}", at.as_microsecond()))
    }

    /// Returns the key of the notice with index `place` at `at`.
    pub fn notice(at: Timestamp, place: usize) -> Self {
        Self(format!("note:{}.{place}", at.as_microsecond()))
    }
}

impl fmt::Display for OutboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl MessageBody {
    /// Creates a message with only a text.
    pub fn from_text(words: &str) -> Self {
        Self { text: words.to_owned(), ..Self::default() }
    }

    /// Creates a message with only an embed.
    pub fn from_embed(embed: Embed) -> Self {
        Self { embed: Some(embed), ..Self::default() }
    }

    /// Creates a message with only small text.
    pub fn from_footer(words: &str) -> Self {
        Self { footer: words.to_owned(), ..Self::default() }
    }
}
