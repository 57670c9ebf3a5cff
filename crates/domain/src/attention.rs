//! Attention: limits on notifications, and what is deferred because of them.
//!
//! Notifications that the user requested are delivered on time. Those that the assistant initiates
//! are deferred during quiet hours and focus, and when the daily cap is reached; a digest delivers
//! them later, once.

mod blame;
mod calm;
mod cheer;
mod ease;
mod held;
mod limits;
mod moves;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

pub use blame::{blaming, pressing};
pub use calm::{Calm, Caps, Digests, Quiet};
pub use cheer::Cheers;
pub use ease::{Ease, LONGEST_FOCUS};
pub use held::{Held, HeldFor, HeldId, PASSED, Telling};
pub use limits::PingLimits;
pub use moves::{Moves, Ring, Suggestion};

use crate::cost::Source;
use crate::ping_budget::PingBudget;
use crate::record::{MessageChange, Record};

/// A snapshot of the attention state for surfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    pub calm: Calm,
    /// The end of the current quiet time, by quiet hours or by command.
    pub quiet_until: Option<Timestamp>,
    pub focus: Option<Focus>,
    /// The time of the next digest, if digests are on.
    pub next_digest: Option<Timestamp>,
    /// Deferred items, oldest first.
    pub held: Vec<Held>,
    /// Notifications initiated by the assistant today.
    pub pushes: Pushes,
    /// The remaining pings.
    pub pings: PingBudget,
    /// Sources that the user disliked, most often first.
    pub disliked: Vec<Disliked>,
}

/// A focus session of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    pub since: Timestamp,
    pub until: Timestamp,
    /// The topic; may be empty.
    pub on: String,
    pub middle: Middle,
}

/// Whether the midpoint of a focus was announced with the remaining time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middle {
    Ahead,
    /// Announced, or not needed.
    Told,
}

/// The shortest focus with a midpoint announcement.
const WITH_A_MIDDLE: SignedDuration = SignedDuration::from_mins(20);

impl Focus {
    /// The time of the midpoint announcement, if it is pending.
    pub fn glance(&self) -> Option<Timestamp> {
        let length = self.until.duration_since(self.since);
        (self.middle == Middle::Ahead && length >= WITH_A_MIDDLE).then(|| self.since + length / 2)
    }
}

/// A daily counter of notifications initiated by the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushes {
    /// The counted day, in the user's zone.
    pub day: Date,
    pub count: u32,
    /// The time of the last one.
    pub last: Option<Timestamp>,
}

impl Default for Pushes {
    fn default() -> Self {
        Self { day: Date::ZERO, count: 0, last: None }
    }
}

impl Pushes {
    /// Resets the count if `today` is another day.
    #[must_use]
    pub fn on(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0, ..self } }
    }
}

/// A source whose notifications the user disliked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disliked {
    pub source: Source,
    pub count: u32,
}

/// The attention state of the assistant, with deferred items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attending {
    pub mood: Mood,
    /// Deferred items, oldest first, shared between clones.
    pub held: Arc<Vec<Held>>,
    /// The id of the next deferred item.
    pub next: HeldId,
    /// The number of dislikes per source.
    pub disliked: BTreeMap<Source, u32>,
}

/// The small attention values that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mood {
    /// The end of a quiet time set by command.
    pub quiet_until: Option<Timestamp>,
    pub focus: Option<Focus>,
    pub pushes: Pushes,
    /// The encouragements of the last active day.
    pub cheers: Cheers,
    /// Recent moves of routine times.
    pub moves: Moves,
}

/// A change of the attention state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttentionChange {
    Mood(Box<Mood>),
    Held(Held),
    Told(Telling),
    /// These items no longer need a digest, because the user dealt with them.
    Settled(Vec<HeldId>, Timestamp),
    /// The new number of dislikes of a source.
    Disliked(Source, u32),
}

impl From<AttentionChange> for Record {
    fn from(change: AttentionChange) -> Self {
        Self::Message(MessageChange::Attention(change))
    }
}
