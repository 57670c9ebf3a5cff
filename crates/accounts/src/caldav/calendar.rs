//! A calendar on a CalDAV server.

use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Zoned};

use super::CalDavSettings;
use super::collection::{Collection, Object, ObjectUpdate};
use super::requests::{ObjectFilter, ObjectKind};
use crate::calendar::{Calendar, Event, EventChange, EventQueryResult, unknown_event};
use crate::ical::{self, Budget, CalendarDocument, ChangeContext};
use crate::{AccountError, random};

/// Servers may interpret whole days in another time zone, so one more day is requested on either
/// side.
const QUERY_MARGIN: SignedDuration = SignedDuration::from_hours(24);

/// A calendar on a CalDAV server.
pub struct CalDavCalendar {
    collection: Collection,
    clock: Arc<dyn Clock>,
}

impl CalDavCalendar {
    /// Creates a client for the calendar of the settings, without a request.
    pub fn new(settings: CalDavSettings, clock: Arc<dyn Clock>) -> Result<Self, AccountError> {
        Ok(Self { collection: Collection::new(settings, ObjectKind::Event)?, clock })
    }

    async fn query_events(&self, from: &Zoned, until: &Zoned) -> Result<EventQueryResult, AccountError> {
        let beyond = |_| AccountError::InvalidRequest("that is beyond all calendars.".to_owned());
        let filter = ObjectFilter::Between(
            from.timestamp().checked_sub(QUERY_MARGIN).map_err(beyond)?,
            until.timestamp().checked_add(QUERY_MARGIN).map_err(beyond)?,
        );
        let mut all = EventQueryResult::default();
        let mut budget = Budget::new();
        let found = self.collection.query_objects(&filter).await?;
        all.problems = found.problems;
        for object in found.objects {
            match CalendarDocument::parse(&self.collection.source_name(), &object.bytes) {
                Ok(sheet) => {
                    let look = ical::events_between(&sheet, from, until, &mut budget);
                    all.events.extend(look.events);
                    all.problems.extend(look.problems);
                }
                Err(_) => {
                    all.problems.push(format!("{}: it is no calendar, so it is left out.", object.url.path()))
                }
            }
        }
        ical::sort_events(&mut all.events, from.time_zone());
        Ok(all)
    }

    /// Returns the object with the event `id`, or with the series of this occurrence.
    async fn find_object(&self, id: &str) -> Result<Object, AccountError> {
        let series = ical::series_id(id);
        for uid in [Some(id), series].into_iter().flatten() {
            for object in
                self.collection.query_objects(&ObjectFilter::ByUid(ObjectKind::Event, uid)).await?.objects
            {
                let sheet = CalendarDocument::parse(&self.collection.source_name(), &object.bytes);
                if sheet.is_ok_and(|sheet| ical::find_event(&sheet, id, self.clock.now().time_zone()).is_ok())
                {
                    return Ok(object);
                }
            }
        }
        Err(unknown_event(id))
    }

    async fn get_event(&self, id: &str) -> Result<Event, AccountError> {
        let object = self.find_object(id).await?;
        ical::find_event(
            &CalendarDocument::parse(&self.collection.source_name(), &object.bytes)?,
            id,
            self.clock.now().time_zone(),
        )
    }

    fn stamp(&self) -> Result<ChangeContext, AccountError> {
        Ok(ChangeContext { now: self.clock.now(), random: random::random_bytes()? })
    }

    async fn add_event(&self, new: &EventChange) -> Result<Event, AccountError> {
        let (bytes, event) =
            ical::add_event(&self.collection.source_name(), &ical::empty_calendar(), new, &self.stamp()?)?;
        self.collection.add(&event.id, bytes).await?;
        Ok(event)
    }

    async fn update_event(&self, id: &str, change: &EventChange) -> Result<Event, AccountError> {
        let object = self.find_object(id).await?;
        let stamp = self.stamp()?;
        let make = |bytes: &[u8]| {
            let (bytes, event) =
                ical::update_event(&self.collection.source_name(), bytes, id, change, &stamp)?;
            Ok((ObjectUpdate::Replace(bytes), event))
        };
        self.collection.change(&object.url, make).await
    }

    async fn delete_event(&self, id: &str) -> Result<Event, AccountError> {
        let object = self.find_object(id).await?;
        let stamp = self.stamp()?;
        let make = |bytes: &[u8]| {
            let (bytes, event) = ical::delete_event(&self.collection.source_name(), bytes, id, &stamp)?;
            let remaining = CalendarDocument::parse(&self.collection.source_name(), &bytes)?
                .components(ical::ComponentKind::Event)
                .count();
            Ok((if remaining == 0 { ObjectUpdate::Delete } else { ObjectUpdate::Replace(bytes) }, event))
        };
        self.collection.change(&object.url, make).await
    }
}

impl Calendar for CalDavCalendar {
    fn events_between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, AccountError>> {
        async move { Ok(self.query_events(&from, &until).await?.events) }.boxed()
    }

    fn query(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<EventQueryResult, AccountError>> {
        async move { self.query_events(&from, &until).await }.boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        self.get_event(id).boxed()
    }

    fn add(&self, new: EventChange) -> BoxFuture<'_, Result<Event, AccountError>> {
        async move { self.add_event(&new).await }.boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: EventChange) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move { self.update_event(id, &change).await }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        self.delete_event(id).boxed()
    }
}
