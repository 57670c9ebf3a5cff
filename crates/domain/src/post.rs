//! Posts: what is to reach the human where they may not be looking, in the order in which it came about.
//!
//! A post is written down together with the fact it tells, so that a crash finds both or neither. Whoever carries
//! messages sends it and keeps a receipt: a post without one is still to be sent.

use std::fmt;

use jiff::Timestamp;

use crate::approval::ApprovalId;
use crate::card::CardId;
use crate::conversation::{Branch, Entry, EntryId};
use crate::embed::{Button, Embed};
use crate::sent::SentId;

/// How many options a menu has room for.
pub const OPTIONS: usize = 25;

/// Something to be sent to the human, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// What it is known by: what was posted under a key is not posted again.
    pub key: PostKey,
    /// When it came about.
    pub at: Timestamp,
    /// Whether the phone rings.
    pub ring: Ring,
    /// The message that it is to us, if it can be replied to.
    pub of: Option<SentId>,
    /// What it says.
    pub sheet: Sheet,
}

/// Whether the phone rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// It does.
    Loud,
    /// It does not.
    Quiet,
}

/// What a post says, for any surface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// Its words; may be empty beside an embed.
    pub words: String,
    /// What is shown apart from the words.
    pub embed: Option<Embed>,
    /// What can be done about it. The buttons of the embed are its own.
    pub buttons: Vec<Button>,
    /// What can be chosen.
    pub menu: Option<Menu>,
    /// A time that it speaks of, told after the words.
    pub when: Option<Timestamp>,
    /// Where it came from, in small letters; may be empty.
    pub foot: String,
    /// What it replies to. Long after that nobody wants it any more.
    pub to: Option<PostKey>,
}

/// Something to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// What stands on it before anything is chosen.
    pub label: String,
    /// What it sends when something is chosen.
    pub press: String,
    /// What can be chosen: the words, which are also what is sent.
    pub options: Vec<String>,
}

/// What happens to what is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostChange {
    /// This is to be sent.
    Posted(Post),
    /// What was posted under this key says this from now on.
    Says(PostKey, Sheet),
}

/// What a post is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostKey(pub String);

impl PostKey {
    /// The words said after the entry `parent`: the key is known before they are.
    pub fn after(parent: EntryId) -> Self {
        Self(format!("words:{}", parent.0))
    }

    /// The words of `entry`.
    pub fn words(entry: &Entry) -> Self {
        match entry.parent {
            Some(parent) => Self::after(parent),
            None => Self(format!("first:{}", entry.id.0)),
        }
    }

    /// What the tool result with this place in the entry `id` shows.
    pub fn shown(id: EntryId, place: usize) -> Self {
        Self(format!("shown:{}.{place}", id.0))
    }

    /// The card of a reminder that rang at `at`.
    pub fn card(id: &CardId, at: Timestamp) -> Self {
        Self(format!("card:{id}.{}", at.as_microsecond()))
    }

    /// Whether it is that of a card.
    pub fn is_card(&self) -> bool {
        self.0.starts_with("card:")
    }

    /// The beginning of a side conversation.
    pub fn begun(branch: &Branch) -> Self {
        Self(format!("fork:{branch}"))
    }

    /// Its end.
    pub fn ended(branch: &Branch) -> Self {
        Self(format!("unfork:{branch}"))
    }

    /// What the human is asked.
    pub fn approval(id: ApprovalId) -> Self {
        Self(format!("approval:{}", id.0))
    }

    /// What was held and is told at `at`.
    pub fn digest(at: Timestamp) -> Self {
        Self(format!("digest:{}", at.as_microsecond()))
    }

    /// Something the human should know, the `place`th at `at`.
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
    /// Words alone.
    pub fn of(words: &str) -> Self {
        Self { words: words.to_owned(), ..Self::default() }
    }

    /// An embed alone.
    pub fn showing(embed: Embed) -> Self {
        Self { embed: Some(embed), ..Self::default() }
    }

    /// Words in small letters.
    pub fn small(words: &str) -> Self {
        Self { foot: words.to_owned(), ..Self::default() }
    }
}
