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
use crate::sent::SentId;

/// The most options of a menu.
pub const OPTIONS: usize = 25;

/// A message that is sent once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The idempotency key: a key is not posted twice.
    pub key: PostKey,
    /// The time of the event.
    pub at: Timestamp,
    /// Whether the device makes a sound.
    pub ring: Ring,
    /// The id by which replies refer to it, if it can be replied to.
    pub of: Option<SentId>,
    pub sheet: Sheet,
}

/// Whether the device makes a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    Loud,
    Quiet,
}

/// The content of a message, independent of the surface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The text; may be empty beside an embed.
    pub words: String,
    pub embed: Option<Embed>,
    /// The buttons below the message. The embed has its own.
    pub buttons: Vec<Button>,
    pub menu: Option<Menu>,
    /// A time that is shown after the text.
    pub when: Option<Timestamp>,
    /// Small text at the end, such as the origin; may be empty.
    pub foot: String,
    /// The message that it replies to, if that is recent.
    pub to: Option<PostKey>,
}

/// A menu with options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// The text before an option is chosen.
    pub label: String,
    /// The id that the surface sends back with the chosen option.
    pub press: String,
    /// The options: both the text and the value that is sent back.
    pub options: Vec<String>,
}

/// A change in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostChange {
    Posted(Post),
    /// The message under this key gets new content.
    Says(PostKey, Sheet),
}

/// The idempotency key of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostKey(pub String);

impl PostKey {
    /// Returns the key of the entry after `parent`, which is known before that entry is.
    pub fn after(parent: EntryId) -> Self {
        Self(format!("words:{}", parent.0))
    }

    /// Returns the key of the text of `entry`.
    pub fn words(entry: &Entry) -> Self {
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
    pub fn begun(branch: &Branch) -> Self {
        Self(format!("fork:{branch}"))
    }

    /// Returns the key of the end of a fork.
    pub fn ended(branch: &Branch) -> Self {
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
    pub fn note(at: Timestamp, place: usize) -> Self {
        Self(format!("note:{}.{place}", at.as_microsecond()))
    }
}

impl fmt::Display for PostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Sheet {
    /// Creates a message with only a text.
    pub fn of(words: &str) -> Self {
        Self { words: words.to_owned(), ..Self::default() }
    }

    /// Creates a message with only an embed.
    pub fn showing(embed: Embed) -> Self {
        Self { embed: Some(embed), ..Self::default() }
    }

    /// Creates a message with only small text.
    pub fn small(words: &str) -> Self {
        Self { foot: words.to_owned(), ..Self::default() }
    }
}
