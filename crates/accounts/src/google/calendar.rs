//! The primary Google calendar. Google expands recurring events.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::api_request::{GoogleRequest, validate_id};
use super::endpoints::append_path;
use super::responses::{EventBoundary, EventListPage, GoogleEvent as Sent};
use super::{Google, Service};
use crate::AccountError;
use crate::calendar::{Calendar, Details, Event, EventChange, EventTime};
use crate::mail::sanitized_text;

/// The page size.
const PAGE_SIZE: &str = "250";
/// The maximum number of listed events.
const MAX_EVENTS: usize = 10_000;
/// The maximum number of characters of a summary, a location or a link.
const MAX_LINE_CHARS: usize = 1_024;

impl Calendar for Google {
    fn events_between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, AccountError>> {
        async move {
            let min = from.timestamp().to_string();
            let max = until.timestamp().to_string();
            let words = [("timeMin", min.as_str()), ("timeMax", &max), ("maxResults", PAGE_SIZE)];
            let ask = GoogleRequest::get(Service::Calendar, self.endpoints.calendar.clone(), "events")
                .with_query(&words);
            let ask = ask.with_query(&[("singleEvents", "true"), ("orderBy", "startTime")]);
            let zone = from.time_zone();
            let events = self.list_all::<EventListPage>(&ask, MAX_EVENTS).await?;
            Ok(events.into_iter().filter_map(|sent| parse_event(sent, zone)).collect())
        }
        .boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move {
            let (address, about) = self.event_url(id)?;
            self.fetch_event(&GoogleRequest::get(Service::Calendar, address, about)).await
        }
        .boxed()
    }

    fn add(&self, new: EventChange) -> BoxFuture<'_, Result<Event, AccountError>> {
        async move {
            self.fetch_event(&GoogleRequest::post(
                Service::Calendar,
                self.endpoints.calendar.clone(),
                change_fields(&new),
                "calendar",
            ))
            .await
        }
        .boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: EventChange) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move {
            let (address, about) = self.event_url(id)?;
            self.fetch_event(&GoogleRequest::patch(Service::Calendar, address, change_fields(&change), about))
                .await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move {
            let (address, about) = self.event_url(id)?;
            let was = self
                .fetch_event(&GoogleRequest::get(Service::Calendar, address.clone(), about.clone()))
                .await?;
            self.execute(&GoogleRequest::delete(Service::Calendar, address, about)).await?;
            Ok(was)
        }
        .boxed()
    }
}

impl Google {
    fn event_url(&self, id: &str) -> Result<(Url, String), AccountError> {
        Ok((append_path(&self.endpoints.calendar, &[validate_id(id, "event")?]), format!("event `{id}`")))
    }

    async fn fetch_event(&self, ask: &GoogleRequest) -> Result<Event, AccountError> {
        let sent: Sent = self.fetch(ask).await?;
        let zone = self.clock.now().time_zone().clone();
        parse_event(sent, &zone)
            .ok_or_else(|| AccountError::Unreadable("google does not say when that event is.".to_owned()))
    }
}

/// Returns the fields to change. Changing between whole days and times clears the other field.
fn change_fields(change: &EventChange) -> Value {
    let mut fields = Map::new();
    for (name, value) in [("summary", &change.summary), ("description", &change.description)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    for (name, value) in [("start", &change.start), ("end", &change.end)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), boundary(value));
        }
    }
    Value::Object(fields)
}

fn boundary(time: &Zoned) -> Value {
    let written = time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    match time.time_zone().iana_name() {
        Some(zone) => json!({ "dateTime": written, "timeZone": zone, "date": null }),
        None => json!({ "dateTime": written, "date": null }),
    }
}

/// Converts an event, or returns `None` if it has no time.
fn parse_event(sent: Sent, zone: &TimeZone) -> Option<Event> {
    let line = |text: &String| sanitized_text::single_line(text, MAX_LINE_CHARS);
    let when = event_time(sent.start.as_ref()?, sent.end.as_ref(), zone)?;
    let details = Details {
        location: sent.location.as_ref().map(line),
        description: sent.description.as_deref().map(sanitized_text::multi_line),
        link: sent.html_link.as_ref().map(line),
        attendees: sent.attendees.iter().filter_map(|one| one.email.as_ref()).map(line).collect(),
        status: sent.status.as_ref().map(line),
    };
    Some(Event { id: line(&sent.id), when, summary: line(&sent.summary), details })
}

fn event_time(start: &EventBoundary, end: Option<&EventBoundary>, zone: &TimeZone) -> Option<EventTime> {
    let day = |edge: &EventBoundary| edge.date.as_ref()?.parse::<Date>().ok();
    let time = |edge: &EventBoundary| {
        let time = edge.date_time.as_ref()?.parse::<Timestamp>().ok()?;
        Some(time.to_zoned(zone.clone()))
    };
    if let Some(first) = day(start) {
        let last = end.and_then(day).or_else(|| first.tomorrow().ok())?;
        return Some(EventTime::Days(first, last));
    }
    let first = time(start)?;
    let last = end.and_then(time).unwrap_or_else(|| first.clone());
    Some(EventTime::Timed(first, last))
}
