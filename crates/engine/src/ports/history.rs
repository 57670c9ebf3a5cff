//! History: what surfaces look up of what happened, beside everything that goes on.

use domain::card::Card;
use domain::conversation::{Branch, Entry, EntryId};
use domain::cost::Source;
use domain::inbox::Kept;
use domain::record::{Charge, SurfaceName};
use domain::turn::TurnId;
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::Unreadable;

/// What is asked of the past by those who only show it.
pub trait History: Send + Sync {
    /// What is in the inbox, oldest first.
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<Kept>, Unreadable>>;

    /// The newest `limit` reminders that rang, newest first.
    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, Unreadable>>;

    /// The newest `limit` pings since then, newest first.
    fn pings(&self, since: Timestamp, limit: u32) -> BoxFuture<'_, Result<Vec<Pinged>, Unreadable>>;

    /// When the newest `limit` times of jobs were due, and when each was begun; newest first.
    fn begun(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, Unreadable>>;

    /// The entries in which all these words were said.
    fn search(&self, looked_for: LookedFor) -> BoxFuture<'_, Result<Vec<Found>, Unreadable>>;
}

/// A ping, or what a run wanted to be one.
#[derive(Clone, Debug, PartialEq)]
pub struct Pinged {
    /// Whose run it was.
    pub source: Source,
    /// What the human calls its job: nothing, if no clock set it off.
    pub name: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub words: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a ping.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It was shown under this number; what was charged for it, and when the human reacted, if they did.
    Shown(EntryId, Option<Charge>, Option<Timestamp>),
    /// The human put it away.
    PutAway(EntryId),
    /// It waits for the digest, or was told in it.
    Held,
    /// It was not let through.
    Refused,
}

/// Words that are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookedFor {
    /// The words; the last one may be a beginning.
    pub words: String,
    /// Only what was said before this.
    pub before: Option<EntryId>,
    /// Only what was said when and where this says.
    pub within: Within,
    /// Which come first.
    pub order: Order,
    /// How many at most.
    pub limit: u32,
}

/// Which of the places come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest.
    #[default]
    Newest,
    /// Those that are most about the words, among the newest; of two that are as much about them, the newer.
    Best,
}

/// When and where something was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Not before this.
    pub since: Option<Timestamp>,
    /// Not at this time or after it.
    pub until: Option<Timestamp>,
    /// On a surface or a branch whose name has one of these in it; anywhere, if there are none.
    pub tags: Vec<String>,
}

impl Within {
    /// Whether something that was said then fits.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Whether something that was said there fits.
    pub fn fits(&self, spoken: Option<&Spoken>) -> bool {
        let named = |spoken: &Spoken, tag: &String| {
            spoken.surface.as_str() == tag || spoken.branch.to_string().contains(tag.as_str())
        };
        self.tags.is_empty() || spoken.is_some_and(|spoken| self.tags.iter().any(|tag| named(spoken, tag)))
    }
}

/// In which turn something was said, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// The turn.
    pub turn: TurnId,
    /// The branch.
    pub branch: Branch,
    /// Where the human was.
    pub surface: SurfaceName,
}

/// A place where words were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What was said.
    pub entry: Entry,
    /// In which turn: nothing, if that is not known.
    pub spoken: Option<Spoken>,
}
