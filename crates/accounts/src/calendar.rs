//! A calendar: what has an hour or a day, wherever it is kept.

mod local;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use jiff::civil::Date;

pub use local::LocalCalendar;

use crate::Trouble;

/// One event, or one time of an event that recurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name in its calendar; a time of one that recurs has a name of its own.
    pub id: String,
    /// When it is.
    pub when: When,
    /// What it is; blank, if nobody said.
    pub summary: String,
    /// More about it.
    pub details: Details,
}

/// What is told of an event when it is shown alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Where.
    pub location: Option<String>,
    /// What about.
    pub description: Option<String>,
    /// A link to it.
    pub link: Option<String>,
    /// The addresses of those who take part.
    pub attendees: Vec<String>,
    /// `confirmed`, `tentative` or `cancelled`, in the calendar's own word.
    pub status: Option<String>,
}

/// When an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// From the first to the second.
    Timed(Zoned, Zoned),
    /// On whole days: the first, and the day after the last.
    Days(Date, Date),
}

/// An event to add, or what is to change of one: what is not given stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub summary: Option<String>,
    /// When it begins.
    pub start: Option<Zoned>,
    /// When it ends.
    pub end: Option<Zoned>,
    /// What about.
    pub description: Option<String>,
}

/// What a look into a calendar finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The events, in order of their beginnings.
    pub events: Vec<Event>,
    /// What could not be read, or not to its end: a sentence for each.
    pub left_out: Vec<String>,
}

/// A calendar.
pub trait Calendar: Send + Sync {
    /// What begins, or still goes on, from `from` until before `until`: what recurs is told for each of its times, all
    /// in order of their beginnings.
    fn between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, Trouble>>;

    /// The same, and what had to be left out of it.
    fn look(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Look, Trouble>> {
        self.between(from, until)
            .map(|found| found.map(|events| Look { events, left_out: Vec::new() }))
            .boxed()
    }

    /// One of them.
    fn show<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>>;

    /// Adds one; gives it back as it is kept.
    fn add(&self, new: Change) -> BoxFuture<'_, Result<Event, Trouble>>;

    /// Changes one; gives it back.
    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Event, Trouble>>;

    /// Removes one; gives back what it was.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>>;
}

/// There is no event called `id`.
pub(crate) fn missing(id: &str) -> Trouble {
    Trouble::Missing(format!("there is no event `{id}`. `ollim-bot cal upcoming` shows their ids."))
}
