//! The primary Google calendar. Google expands recurring events.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::addresses::below;
use super::call::{Ask, checked};
use super::wire::{Edge, Event as Sent, Events};
use super::{Google, Service};
use crate::Trouble;
use crate::calendar::{Calendar, Change, Details, Event, When};
use crate::mail::legible;

/// The page size.
const PAGE: &str = "250";
/// The maximum number of listed events.
const MOST: usize = 10_000;
/// The maximum number of characters of a summary, a location or a link.
const LINE: usize = 1_024;

impl Calendar for Google {
    fn between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, Trouble>> {
        async move {
            let min = from.timestamp().to_string();
            let max = until.timestamp().to_string();
            let words = [("timeMin", min.as_str()), ("timeMax", &max), ("maxResults", PAGE)];
            let ask = Ask::get(Service::Calendar, self.addresses.calendar.clone(), "events").with(&words);
            let ask = ask.with(&[("singleEvents", "true"), ("orderBy", "startTime")]);
            let zone = from.time_zone();
            let events = self.listed::<Events>(&ask, MOST).await?;
            Ok(events.into_iter().filter_map(|sent| event(sent, zone)).collect())
        }
        .boxed()
    }

    fn show<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move {
            let (address, about) = self.event(id)?;
            self.event_of(&Ask::get(Service::Calendar, address, about)).await
        }
        .boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Event, Trouble>> {
        async move {
            self.event_of(&Ask::post(
                Service::Calendar,
                self.addresses.calendar.clone(),
                fields(&new),
                "calendar",
            ))
            .await
        }
        .boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move {
            let (address, about) = self.event(id)?;
            self.event_of(&Ask::patch(Service::Calendar, address, fields(&change), about)).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move {
            let (address, about) = self.event(id)?;
            let was = self.event_of(&Ask::get(Service::Calendar, address.clone(), about.clone())).await?;
            self.told(&Ask::delete(Service::Calendar, address, about)).await?;
            Ok(was)
        }
        .boxed()
    }
}

impl Google {
    fn event(&self, id: &str) -> Result<(Url, String), Trouble> {
        Ok((below(&self.addresses.calendar, &[checked(id, "event")?]), format!("event `{id}`")))
    }

    async fn event_of(&self, ask: &Ask) -> Result<Event, Trouble> {
        let sent: Sent = self.asked(ask).await?;
        let zone = self.clock.now().time_zone().clone();
        event(sent, &zone)
            .ok_or_else(|| Trouble::Garbled("google does not say when that event is.".to_owned()))
    }
}

/// Returns the fields to change. Changing between whole days and times clears the other field.
fn fields(change: &Change) -> Value {
    let mut fields = Map::new();
    for (name, value) in [("summary", &change.summary), ("description", &change.description)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    for (name, value) in [("start", &change.start), ("end", &change.end)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), edge(value));
        }
    }
    Value::Object(fields)
}

fn edge(time: &Zoned) -> Value {
    let written = time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    match time.time_zone().iana_name() {
        Some(zone) => json!({ "dateTime": written, "timeZone": zone, "date": null }),
        None => json!({ "dateTime": written, "date": null }),
    }
}

/// Converts an event, or returns `None` if it has no time.
fn event(sent: Sent, zone: &TimeZone) -> Option<Event> {
    let line = |text: &String| legible::line(text, LINE);
    let when = when(sent.start.as_ref()?, sent.end.as_ref(), zone)?;
    let details = Details {
        location: sent.location.as_ref().map(line),
        description: sent.description.as_deref().map(legible::lines),
        link: sent.html_link.as_ref().map(line),
        attendees: sent.attendees.iter().filter_map(|one| one.email.as_ref()).map(line).collect(),
        status: sent.status.as_ref().map(line),
    };
    Some(Event { id: line(&sent.id), when, summary: line(&sent.summary), details })
}

fn when(start: &Edge, end: Option<&Edge>, zone: &TimeZone) -> Option<When> {
    let day = |edge: &Edge| edge.date.as_ref()?.parse::<Date>().ok();
    let time = |edge: &Edge| {
        let time = edge.date_time.as_ref()?.parse::<Timestamp>().ok()?;
        Some(time.to_zoned(zone.clone()))
    };
    if let Some(first) = day(start) {
        let last = end.and_then(day).or_else(|| first.tomorrow().ok())?;
        return Some(When::Days(first, last));
    }
    let first = time(start)?;
    let last = end.and_then(time).unwrap_or_else(|| first.clone());
    Some(When::Timed(first, last))
}
