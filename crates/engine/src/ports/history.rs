//! History: what surfaces look up of what happened, beside everything that goes on.

use domain::card::Card;
use domain::conversation::{Entry, EntryId};
use domain::cost::Source;
use domain::inbox::Kept;
use domain::record::Charge;
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

    /// The newest entries in which all these words were said, newest first.
    fn search(&self, looked_for: LookedFor) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>>;
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
    /// It was not let through.
    Refused,
}

/// Words that are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedFor {
    /// The words; the last one may be a beginning.
    pub words: String,
    /// Only what was said before this.
    pub before: Option<EntryId>,
    /// How many at most.
    pub limit: u32,
}
