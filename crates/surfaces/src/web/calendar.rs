//! The calendar: what the human has entered elsewhere for some days, as the page draws it beside what is planned here.
//!
//! It may be kept on another machine, so it is asked for apart from all else, and nothing waits for it.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

use super::App;
use super::refusal::Refusal;
use super::schedule::window::{Wanted, Window};
use super::sessions::moment;

/// The most events that are told.
const MOST: usize = 200;

/// Something the human has entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appointment {
    /// What it is.
    pub name: String,
    /// Where, if somebody said.
    pub place: Option<String>,
    /// When.
    pub when: Slot,
}

/// When something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// From the first to the second.
    Timed(Timestamp, Timestamp),
    /// On whole days: the first, and the day after the last.
    Days(Date, Date),
}

/// Who keeps the calendar.
pub trait Calendar: Send + Sync {
    /// What begins or goes on from `from` until before `to`, in order; or why that is not known, and what could not be
    /// read.
    fn between(&self, from: Zoned, to: Zoned) -> BoxFuture<'_, Result<Looked, String>>;
}

/// What a look into the calendar finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// What was found, in order.
    pub events: Vec<Appointment>,
    /// What could not be read: a sentence for each.
    pub left_out: Vec<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<CalendarWire>, Refusal> {
    let now = app.ports().clock.now();
    let zone = now.time_zone().clone();
    let Window { from, to } = Window::read(wanted.ok().map(|Query(wanted)| wanted), &now)?;
    let found = app.ports().calendar.between(from.to_zoned(zone.clone()), to.to_zoned(zone)).await;
    let looked = found.map_err(Refusal::broken)?;
    let left_out = looked.events.len().saturating_sub(MOST);
    let mut notes = looked.left_out;
    if left_out > 0 {
        notes.push(format!("{left_out} more events are not shown here."));
    }
    let events = looked.events.into_iter().take(MOST).map(|event| EventWire::new(event, &now)).collect();
    Ok(Json(CalendarWire { events, notes }))
}

/// What the calendar says.
#[derive(Serialize)]
pub(super) struct CalendarWire {
    /// In order.
    events: Vec<EventWire>,
    /// What is not among them.
    notes: Vec<String>,
}

/// One event.
#[derive(Serialize)]
struct EventWire {
    name: String,
    place: Option<String>,
    from: String,
    to: String,
    /// `day`, if it is on whole days, otherwise `time`.
    kind: &'static str,
}

impl EventWire {
    fn new(event: Appointment, now: &Zoned) -> Self {
        let zone = now.time_zone();
        let midnight = |day: Date| {
            let at = zone.to_zoned(day.to_datetime(jiff::civil::Time::midnight()));
            at.map_or(Timestamp::MIN, |at| at.timestamp())
        };
        let (from, to, kind) = match event.when {
            Slot::Timed(from, to) => (from, to, "time"),
            Slot::Days(from, to) => (midnight(from), midnight(to), "day"),
        };
        let name = event.name;
        let place = event.place;
        Self { name, place, from: moment(from, zone), to: moment(to, zone), kind }
    }
}
