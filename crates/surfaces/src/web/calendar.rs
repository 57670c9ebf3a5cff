//! Appointments from the user's external calendar, shown next to the schedule. They may come from
//! another machine, so they are a request of their own and nothing waits for them.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

use super::App;
use super::api_error::ApiError;
use super::schedule::window::{Window, WindowQuery};
use super::sessions::format_time;

/// Maximum number of events returned.
const MAX_EVENTS: usize = 200;

/// An appointment of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appointment {
    pub name: String,
    pub place: Option<String>,
    pub when: AppointmentTime,
}

/// Time of an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppointmentTime {
    /// Start and end.
    Timed(Timestamp, Timestamp),
    /// Whole days: the first, and the day after the last.
    Days(Date, Date),
}

/// Source of appointments.
pub trait Calendar: Send + Sync {
    /// Returns the appointments that overlap the range, in order, with notes about what could not
    /// be read; or an error text.
    fn between(&self, from: Zoned, to: Zoned) -> BoxFuture<'_, Result<CalendarEvents, String>>;
}

/// Result of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalendarEvents {
    /// In order.
    pub events: Vec<Appointment>,
    /// One sentence for each calendar that could not be read.
    pub notes: Vec<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    wanted: Result<Query<WindowQuery>, QueryRejection>,
) -> Result<Json<CalendarDto>, ApiError> {
    let now = app.ports().clock.now();
    let zone = now.time_zone().clone();
    let Window { from, to } = Window::parse(wanted.ok().map(|Query(wanted)| wanted), &now)?;
    let found = app.ports().calendar.between(from.to_zoned(zone.clone()), to.to_zoned(zone)).await;
    let looked = found.map_err(ApiError::internal)?;
    let left_out = looked.events.len().saturating_sub(MAX_EVENTS);
    let mut notes = looked.notes;
    if left_out > 0 {
        notes.push(format!("{left_out} more events are not shown here."));
    }
    let events = looked.events.into_iter().take(MAX_EVENTS).map(|event| EventDto::new(event, &now)).collect();
    Ok(Json(CalendarDto { events, notes }))
}

/// The appointments.
#[derive(Serialize)]
pub(super) struct CalendarDto {
    /// In order.
    events: Vec<EventDto>,
    /// Notes about missing events.
    notes: Vec<String>,
}

/// One appointment.
#[derive(Serialize)]
struct EventDto {
    name: String,
    place: Option<String>,
    from: String,
    to: String,
    /// `day` for whole days, otherwise `time`.
    kind: &'static str,
}

impl EventDto {
    fn new(event: Appointment, now: &Zoned) -> Self {
        let zone = now.time_zone();
        let midnight = |day: Date| {
            let at = zone.to_zoned(day.to_datetime(jiff::civil::Time::midnight()));
            at.map_or(Timestamp::MIN, |at| at.timestamp())
        };
        let (from, to, kind) = match event.when {
            AppointmentTime::Timed(from, to) => (from, to, "time"),
            AppointmentTime::Days(from, to) => (midnight(from), midnight(to), "day"),
        };
        let name = event.name;
        let place = event.place;
        Self { name, place, from: format_time(from, zone), to: format_time(to, zone), kind }
    }
}
