//! Cards: delivered reminders with the actions that the user can take.
//!
//! A card is settled once; further presses change nothing. An unanswered card is rephrased once,
//! and then moves to the digest.

mod body;
mod card_store;
mod rehearsed_plan;
mod suggestion;

use std::fmt;

use jiff::{SignedDuration, Timestamp};

pub use body::{
    digest_menu, follow_up_text, group_body, group_text, parse_group_option, parse_option, verbatim_text,
};
pub use card_store::CardStore;
pub use rehearsed_plan::{MAX_EVENT_NAME, rehearsed_plan};
pub use suggestion::TimeChange;

use crate::cost::CostSource;
use crate::outbox::OutboxKey;
use crate::schedule::ItemId;

/// How long a card can be pressed.
pub const CARD_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The delay of `In 10 min`.
pub const LATER_DELAY: SignedDuration = SignedDuration::from_mins(10);
/// The menu option that asks for a time.
pub const PICK_TIME_OPTION: &str = "pick a time…";
/// The menu option that drops the reminder.
pub const DROP_OPTION: &str = "drop it";
/// The menu option that marks it as done.
pub const DONE_OPTION: &str = "done";
/// The menu option that changes nothing.
pub const KEEP_OPTION: &str = "keep";
/// The number of snoozes after which a card offers other actions.
pub const MANY_SNOOZES: u32 = 2;

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
    pub task: String,
    /// The message with which it was delivered.
    pub text: String,
    pub rang_at: Timestamp,
    pub state: CardState,
    /// The number of snoozes before it was delivered.
    pub snoozes: u32,
    pub follow_up: FollowUpState,
    /// The post of its follow-up.
    pub follow_up_post: Option<OutboxKey>,
}

impl Card {
    pub fn source(&self) -> CostSource {
        CostSource::Reminder(self.id.to_string())
    }
}

/// How often the user was asked about a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUpState {
    /// Once, on delivery.
    AskedOnce,
    /// A second time, at this time.
    AskedTwice(Timestamp),
    /// No further follow-up: it waits for the digest or was part of one.
    Finished,
}

/// The state of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardState {
    Open,
    /// Done at this time.
    Done(Timestamp),
    /// Moved to this time, as this reminder.
    Moved(Timestamp, CostSource),
    Dropped,
    /// Waits for a cue, as this reminder.
    Planned(CostSource),
}

/// An action on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardAction {
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
