//! Read-only queries of surfaces about the past, independent of the event loop.

use domain::card::Card;
use domain::conversation::{Branch, Entry, EntryId};
use domain::cost::Source;
use domain::inbox::Kept;
use domain::record::{Charge, SurfaceName};
use domain::turn::TurnId;
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::Unreadable;

/// Queries of the past for surfaces.
pub trait History: Send + Sync {
    /// Returns the items of the inbox, oldest first.
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<Kept>, Unreadable>>;

    /// Returns the cards of the newest `limit` reminders that rang, newest first.
    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, Unreadable>>;

    /// Returns the newest `limit` pings after `since`, newest first.
    fn pings(&self, since: Timestamp, limit: u32) -> BoxFuture<'_, Result<Vec<Pinged>, Unreadable>>;

    /// Returns the due time and start time of the newest `limit` occurrences, newest first.
    fn begun(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, Unreadable>>;

    /// Returns the entries that contain all words of the query.
    fn search(&self, looked_for: LookedFor) -> BoxFuture<'_, Result<Vec<Found>, Unreadable>>;
}

/// A ping, or a refused or deferred attempt at one.
#[derive(Clone, Debug, PartialEq)]
pub struct Pinged {
    pub source: Source,
    /// The display name of its job. `None` if the run was not scheduled.
    pub name: Option<String>,
    pub at: Timestamp,
    pub words: String,
    pub fate: Fate,
}

/// The outcome of a ping.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It was shown as this entry; with the charge, and the time when the user reacted.
    Shown(EntryId, Option<Charge>, Option<Timestamp>),
    /// The user put it away.
    PutAway(EntryId),
    /// It waits for the digest, or was part of one.
    Held,
    Refused,
}

/// A full-text search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookedFor {
    /// The words; the last one may be a prefix.
    pub words: String,
    /// Only entries before this one.
    pub before: Option<EntryId>,
    /// Only entries within this time range and place.
    pub within: Within,
    pub order: Order,
    /// The maximum number of hits.
    pub limit: u32,
}

/// The order of search hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    /// The most relevant of the newest hits first; the newer one of two equally relevant hits.
    Best,
}

/// A filter by time and place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// The inclusive start.
    pub since: Option<Timestamp>,
    /// The exclusive end.
    pub until: Option<Timestamp>,
    /// Parts of surface or branch names, one of which must match. Empty: any place.
    pub tags: Vec<String>,
}

impl Within {
    /// Returns whether `at` is in the time range.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether the place of an entry matches.
    pub fn fits(&self, spoken: Option<&Spoken>) -> bool {
        let named = |spoken: &Spoken, tag: &String| {
            spoken.surface.as_str() == tag || spoken.branch.to_string().contains(tag.as_str())
        };
        self.tags.is_empty() || spoken.is_some_and(|spoken| self.tags.iter().any(|tag| named(spoken, tag)))
    }
}

/// The turn and place of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    pub turn: TurnId,
    pub branch: Branch,
    /// The surface that the user was on.
    pub surface: SurfaceName,
}

/// An entry that matches a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub entry: Entry,
    /// Its turn and place, if known.
    pub spoken: Option<Spoken>,
}
