//! Attention: what keeps the assistant from ringing when it should not, and what waits because of it.
//!
//! What the human asked for rings when they asked for it. What the assistant thought of by itself waits in quiet
//! hours, while the human has their mind on something, and when enough was said today; it is told later, once.

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

/// How the human's attention is spared now, as a surface tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// What the human set: quiet hours, digests, caps and follow-ups.
    pub calm: Calm,
    /// Until when it is quiet, if it is quiet now: by the hours, or because the human said so.
    pub quiet_until: Option<Timestamp>,
    /// What the human has their mind on, and until when.
    pub focus: Option<Focus>,
    /// When what was held is told next, if anything is ever told by itself.
    pub next_digest: Option<Timestamp>,
    /// What waits to be told, oldest first.
    pub held: Vec<Held>,
    /// What rang today without having been asked for.
    pub pushes: Pushes,
    /// How many pings are left.
    pub pings: PingBudget,
    /// What the human found not useful, most often first.
    pub disliked: Vec<Disliked>,
}

/// The human has their mind on something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    /// Since when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// On what; may be empty.
    pub on: String,
    /// Whether its middle was told.
    pub middle: Middle,
}

/// The middle of a focus, at which the human sees once how much is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middle {
    /// It was not told yet.
    Ahead,
    /// It was told, or there is nothing to tell.
    Told,
}

/// The shortest focus whose middle is told.
const WITH_A_MIDDLE: SignedDuration = SignedDuration::from_mins(20);

impl Focus {
    /// When its middle is told, if it still is to be.
    pub fn glance(&self) -> Option<Timestamp> {
        let length = self.until.duration_since(self.since);
        (self.middle == Middle::Ahead && length >= WITH_A_MIDDLE).then(|| self.since + length / 2)
    }
}

/// What rang without having been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushes {
    /// The day that is counted, where the human lives.
    pub day: Date,
    /// How many, that day.
    pub count: u32,
    /// When the last one did.
    pub last: Option<Timestamp>,
}

impl Default for Pushes {
    fn default() -> Self {
        Self { day: Date::ZERO, count: 0, last: None }
    }
}

impl Pushes {
    /// The same on the day `today`.
    #[must_use]
    pub fn on(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0, ..self } }
    }
}

/// Something that the human found not useful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disliked {
    /// Whose it was.
    pub source: Source,
    /// How often they said so.
    pub count: u32,
}

/// What the assistant keeps in mind about being reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attending {
    /// How it stands.
    pub mood: Mood,
    /// What waits to be told, oldest first, shared with every copy.
    pub held: Arc<Vec<Held>>,
    /// The number of the next thing that is held.
    pub next: HeldId,
    /// How often the human found something not useful.
    pub disliked: BTreeMap<Source, u32>,
}

/// How it stands between us: small facts that are written down together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mood {
    /// Until when the human wants quiet, whatever the hours.
    pub quiet_until: Option<Timestamp>,
    /// What the human has their mind on.
    pub focus: Option<Focus>,
    /// What rang without having been asked for.
    pub pushes: Pushes,
    /// How often something done was worth a line.
    pub cheers: Cheers,
    /// How the times of routines were kept lately.
    pub moves: Moves,
}

/// What happened to the human's attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttentionChange {
    /// This is how it stands now.
    Mood(Box<Mood>),
    /// This waits to be told.
    Held(Held),
    /// This was told.
    Told(Telling),
    /// These need not be told any more: the human dealt with them.
    Settled(Vec<HeldId>, Timestamp),
    /// The human found so often not useful what comes from there.
    Disliked(Source, u32),
}

impl From<AttentionChange> for Record {
    fn from(change: AttentionChange) -> Self {
        Self::Message(MessageChange::Attention(change))
    }
}
