//! Cards: delivered reminders with the actions that the user can take.
//!
//! A card is settled once; further presses change nothing. An unanswered card is rephrased once,
//! and then moves to the digest.

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
/// The delay of `In 10 min`.
pub const LATER: SignedDuration = SignedDuration::from_mins(10);
/// The menu option that asks for a time.
pub const PICK: &str = "pick a time…";
/// The menu option that drops the reminder.
pub const DROP: &str = "drop it";
/// The menu option that marks it as done.
pub const DONE: &str = "done";
/// The menu option that changes nothing.
pub const KEEP: &str = "keep";
/// The number of snoozes after which a card offers other actions.
pub const SNOOZES: u32 = 2;

/// The id of a card, equal to that of its reminder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardId(pub ItemId);

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A delivered reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub id: CardId,
    /// The text of the reminder as the user wrote it.
    pub words: String,
    /// The message with which it was delivered.
    pub said: String,
    pub rang: Timestamp,
    pub state: State,
    /// The number of snoozes before it was delivered.
    pub snoozes: u32,
    pub chase: Chase,
    /// The post of its follow-up.
    pub followed: Option<PostKey>,
}

impl Card {
    pub fn source(&self) -> Source {
        Source::Reminder(self.id.to_string())
    }
}

/// How often the user was asked about a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chase {
    /// Once, on delivery.
    Once,
    /// A second time, at this time.
    Twice(Timestamp),
    /// No further follow-up: it waits for the digest or was part of one.
    Left,
}

/// The state of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    /// Done at this time.
    Done(Timestamp),
    /// Moved to this time, as this reminder.
    Moved(Timestamp, Source),
    Dropped,
    /// Waits for a cue, as this reminder.
    Planned(Source),
}

/// An action on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Done,
    /// Move by [`LATER_DELAY`].
    Later,
    /// Move to tomorrow at the same time of day.
    NotToday,
    /// Move it and all cards of its group to tonight.
    Tonight,
    Drop,
    /// Ask the assistant to break it down into small steps.
    Split,
    /// Accept the rehearsed plan or the suggestion.
    Plan,
    /// Move to the time in this text.
    Move(String),
    /// Apply a menu option to the card that it names.
    Pick(String),
    /// Undo the last action.
    Undo,
}
