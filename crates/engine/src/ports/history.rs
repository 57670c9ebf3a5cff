//! Read-only queries of surfaces about the past, independent of the event loop.

use domain::card::Card;
use domain::conversation::{Branch, Entry, EntryId};
use domain::cost::CostSource;
use domain::inbox::InboxItem;
use domain::record::{PingCharge, SurfaceName};
use domain::turn::TurnId;
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::ReadError;

/// Queries of the past for surfaces.
pub trait History: Send + Sync {
    /// Returns the items of the inbox, oldest first.
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<InboxItem>, ReadError>>;

    /// Returns the cards of the newest `limit` reminders that rang, newest first.
    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, ReadError>>;

    /// Returns the newest `limit` pings after `since`, newest first.
    fn pings(&self, since: Timestamp, limit: u32) -> BoxFuture<'_, Result<Vec<PingRecord>, ReadError>>;

    /// Returns the due time and start time of the newest `limit` occurrences, newest first.
    fn start_times(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, ReadError>>;

    /// Returns the entries that contain all words of the query.
    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<Vec<SearchHit>, ReadError>>;
}

/// A ping, or a refused or deferred attempt at one.
#[derive(Clone, Debug, PartialEq)]
pub struct PingRecord {
    pub source: CostSource,
    /// The display name of its job. `None` if the run was not scheduled.
    pub name: Option<String>,
    pub at: Timestamp,
    pub text: String,
    pub outcome: PingOutcome,
}

/// The outcome of a ping.
#[derive(Clone, Debug, PartialEq)]
pub enum PingOutcome {
    /// It was shown as this entry; with the charge, and the time when the user reacted.
    Shown(EntryId, Option<PingCharge>, Option<Timestamp>),
    /// The user put it away.
    PutAway(EntryId),
    /// It waits for the digest, or was part of one.
    Deferred,
    Refused,
}

/// A full-text search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words; the last one may be a prefix.
    pub words: String,
    /// Only entries before this one.
    pub before: Option<EntryId>,
    /// Only entries within this time range and place.
    pub filter: SearchFilter,
    pub order: SearchOrder,
    /// The maximum number of hits.
    pub limit: u32,
}

/// The order of search hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    #[default]
    Newest,
    /// The most relevant of the newest hits first; the newer one of two equally relevant hits.
    Relevance,
}

/// A filter by time and place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// The inclusive start.
    pub since: Option<Timestamp>,
    /// The exclusive end.
    pub until: Option<Timestamp>,
    /// Parts of surface or branch names, one of which must match. Empty: any place.
    pub places: Vec<String>,
}

impl SearchFilter {
    /// Returns whether `at` is in the time range.
    pub fn contains_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether the place of an entry matches.
    pub fn matches_place(&self, spoken: Option<&EntryOrigin>) -> bool {
        let is_named = |spoken: &EntryOrigin, tag: &String| {
            spoken.surface.as_str() == tag || spoken.branch.to_string().contains(tag.as_str())
        };
        self.places.is_empty()
            || spoken.is_some_and(|spoken| self.places.iter().any(|tag| is_named(spoken, tag)))
    }
}

/// The turn and place of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryOrigin {
    pub turn: TurnId,
    pub branch: Branch,
    /// The surface that the user was on.
    pub surface: SurfaceName,
}

/// An entry that matches a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub entry: Entry,
    /// Its turn and place, if known.
    pub origin: Option<EntryOrigin>,
}
