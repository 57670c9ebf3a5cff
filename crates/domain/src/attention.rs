//! Attention: what keeps the assistant from ringing when it should not, and what waits because of it.
//!
//! What the human asked for rings when they asked for it. What the assistant thought of by itself waits in quiet
//! hours, while the human has their mind on something, and when enough was said today; it is told later, once.

mod calm;

use jiff::Timestamp;
use jiff::civil::Date;

pub use calm::{Calm, Caps, Digests, Quiet};

use crate::cost::Source;
use crate::ping_budget::PingBudget;

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
}

/// The number of something that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeldId(pub u64);

/// Something that waits to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its number.
    pub id: HeldId,
    /// When it came about.
    pub at: Timestamp,
    /// Whose it is.
    pub source: Source,
    /// What the human calls that.
    pub name: String,
    /// What it says.
    pub words: String,
    /// Why it waits.
    pub why: HeldFor,
}

/// Why something waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldFor {
    /// It was quiet.
    Quiet,
    /// The human had their mind on something.
    Focus,
    /// Something else had rung a short while before.
    Soon,
    /// Enough had rung that day.
    Enough,
    /// It rang twice, and nobody answered.
    Unanswered,
}

impl HeldFor {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Quiet, Self::Focus, Self::Soon, Self::Enough, Self::Unanswered];

    /// The word under which it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Focus => "focus",
            Self::Soon => "soon",
            Self::Enough => "enough",
            Self::Unanswered => "unanswered",
        }
    }

    /// The reason that `word` names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }

    /// The reason in words, as the human reads it.
    pub fn tell(self) -> &'static str {
        match self {
            Self::Quiet => "it was quiet",
            Self::Focus => "you were focused",
            Self::Soon => "something else had just rung",
            Self::Enough => "enough had rung that day",
            Self::Unanswered => "no answer yet",
        }
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
