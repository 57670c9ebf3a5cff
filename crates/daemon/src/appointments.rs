//! Adapter from the configured calendar (file, CalDAV or Google) to the page's calendar view.

use std::sync::Arc;

use accounts::AccountError;
use accounts::calendar::{Calendar as Kept, Event, EventTime};
use futures_util::future::BoxFuture;
use jiff::Zoned;
use surfaces::web::calendar::{Appointment, AppointmentTime, Calendar, CalendarEvents};

/// The configured calendar, or why it cannot be used.
pub struct Appointments(pub Result<Arc<dyn Kept>, AccountError>);

impl Calendar for Appointments {
    fn between(&self, from: Zoned, to: Zoned) -> BoxFuture<'_, Result<CalendarEvents, String>> {
        Box::pin(async move {
            let kept = self.0.as_ref().map_err(ToString::to_string)?;
            let look = kept.query(from, to).await.map_err(|trouble| trouble.to_string())?;
            let events = look.events.into_iter().map(appointment).collect();
            Ok(CalendarEvents { events, notes: look.problems })
        })
    }
}

fn appointment(event: Event) -> Appointment {
    let when = match event.when {
        EventTime::Timed(from, to) => AppointmentTime::Timed(from.timestamp(), to.timestamp()),
        EventTime::Days(from, to) => AppointmentTime::Days(from, to),
    };
    let name = if event.summary.trim().is_empty() { "(no title)".to_owned() } else { event.summary };
    Appointment { name, place: event.details.location, when }
}
