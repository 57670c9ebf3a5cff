//! Adapter from the configured calendar (file, CalDAV or Google) to the page's calendar view.

use std::sync::Arc;

use accounts::Trouble;
use accounts::calendar::{Calendar as Kept, Event, When};
use futures_util::future::BoxFuture;
use jiff::Zoned;
use surfaces::web::calendar::{Appointment, Calendar, Looked, Slot};

/// The configured calendar, or why it cannot be used.
pub struct Appointments(pub Result<Arc<dyn Kept>, Trouble>);

impl Calendar for Appointments {
    fn between(&self, from: Zoned, to: Zoned) -> BoxFuture<'_, Result<Looked, String>> {
        Box::pin(async move {
            let kept = self.0.as_ref().map_err(ToString::to_string)?;
            let look = kept.look(from, to).await.map_err(|trouble| trouble.to_string())?;
            let events = look.events.into_iter().map(appointment).collect();
            Ok(Looked { events, left_out: look.left_out })
        })
    }
}

fn appointment(event: Event) -> Appointment {
    let when = match event.when {
        When::Timed(from, to) => Slot::Timed(from.timestamp(), to.timestamp()),
        When::Days(from, to) => Slot::Days(from, to),
    };
    let name = if event.summary.trim().is_empty() { "(no title)".to_owned() } else { event.summary };
    Appointment { name, place: event.details.location, when }
}
