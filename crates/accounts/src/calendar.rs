//! The interface of a calendar, independent of its storage.

mod local;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use jiff::civil::Date;

pub use local::LocalCalendar;

use crate::AccountError;

/// One event, or one occurrence of a recurring event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id in its calendar; every occurrence has its own.
    pub id: String,
    pub when: EventTime,
    /// The title; may be blank.
    pub summary: String,
    pub details: Details,
}

/// The details for showing a single event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub location: Option<String>,
    pub description: Option<String>,
    pub link: Option<String>,
    /// The addresses of the participants.
    pub attendees: Vec<String>,
    /// `confirmed`, `tentative` or `cancelled`, in the calendar's own spelling.
    pub status: Option<String>,
}

/// The time of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Start and end.
    Timed(Zoned, Zoned),
    /// Whole days: the first, and the day after the last.
    Days(Date, Date),
}

/// A new event, or the changes of an existing one; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventChange {
    pub summary: Option<String>,
    pub start: Option<Zoned>,
    pub end: Option<Zoned>,
    pub description: Option<String>,
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQueryResult {
    /// The events, ordered by start.
    pub events: Vec<Event>,
    /// A sentence for each event that could not be read completely.
    pub problems: Vec<String>,
}

/// A calendar.
pub trait Calendar: Send + Sync {
    /// Returns the events that begin or continue between `from` (inclusive) and `until`
    /// (exclusive), with every occurrence of recurring ones, ordered by start.
    fn events_between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, AccountError>>;

    /// Like [`Calendar::events_between`], with the problems of unreadable events.
    fn query(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<EventQueryResult, AccountError>> {
        self.events_between(from, until)
            .map(|found| found.map(|events| EventQueryResult { events, problems: Vec::new() }))
            .boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>>;

    /// Adds an event and returns it as stored.
    fn add(&self, new: EventChange) -> BoxFuture<'_, Result<Event, AccountError>>;

    /// Changes an event and returns it.
    fn update<'a>(&'a self, id: &'a str, change: EventChange) -> BoxFuture<'a, Result<Event, AccountError>>;

    /// Deletes an event and returns its last state.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>>;
}

/// The error for an unknown event.
pub(crate) fn unknown_event(id: &str) -> AccountError {
    AccountError::NotFound(format!("there is no event `{id}`. `ollim-bot cal upcoming` shows their ids."))
}
