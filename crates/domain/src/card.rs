//! Cards: a reminder that rang, with what the human can do about it.
//!
//! A card is pressed once: what it came to is written down, and pressing it again changes nothing. Nobody is chased:
//! a card that is not answered is put otherwise once, and then waits for the digest.

mod cards;
mod plan;
mod sheet;
mod suggestion;

use std::fmt;

use jiff::{SignedDuration, Timestamp};

pub use cards::Cards;
pub use plan::{NAME, rehearsed};
pub use sheet::{as_written, chosen, chosen_of, digest_menu, put_otherwise, together, together_sheet};
pub use suggestion::Times;

use crate::cost::Source;
use crate::post::PostKey;
use crate::schedule::ItemId;

/// How long a card can be pressed.
pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How much later `In 10 min` is.
pub const LATER: SignedDuration = SignedDuration::from_mins(10);
/// The choice with which a time is asked for.
pub const PICK: &str = "pick a time…";
/// The choice that ends it.
pub const DROP: &str = "drop it";
/// The choice that says it is done.
pub const DONE: &str = "done";
/// The choice that leaves it as it is.
pub const KEEP: &str = "keep";
/// How often something is put off before the question changes.
pub const SNOOZES: u32 = 2;

/// What a card is known by: its reminder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardId(pub ItemId);

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A reminder that rang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What it is known by.
    pub id: CardId,
    /// What the human asked to be reminded of.
    pub words: String,
    /// How it was put when it rang.
    pub said: String,
    /// When it rang.
    pub rang: Timestamp,
    /// What became of it.
    pub state: State,
    /// How often it was put off before it rang.
    pub snoozes: u32,
    /// How often the human was asked about it.
    pub chase: Chase,
    /// What it was posted under when it was put otherwise.
    pub followed: Option<PostKey>,
}

impl Card {
    /// Whose it is.
    pub fn source(&self) -> Source {
        Source::Reminder(self.id.to_string())
    }
}

/// How often the human was asked about a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chase {
    /// Once, when it rang.
    Once,
    /// Once more, at this time.
    Twice(Timestamp),
    /// Not any more: it waits for the digest, or was told there.
    Left,
}

/// What became of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing yet.
    Open,
    /// It is done, since then.
    Done(Timestamp),
    /// It rings again then, as this reminder.
    Moved(Timestamp, Source),
    /// It does not ring again.
    Dropped,
    /// It rings again when what its plan waits for has come, as this reminder.
    Planned(Source),
}

/// What can be done with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is done.
    Done,
    /// It rings again in ten minutes.
    Later,
    /// It rings again tomorrow, at the same time of day.
    NotToday,
    /// It, and all that rang with it, rings again tonight.
    Tonight,
    /// It does not ring again.
    Drop,
    /// The assistant breaks it down into small steps.
    Split,
    /// The plan on it is made.
    Plan,
    /// It rings again at the time in these words.
    Move(String),
    /// What these words say is done with the card that they name.
    Pick(String),
    /// The last of these is taken back.
    Undo,
}
