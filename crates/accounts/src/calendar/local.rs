//! A calendar in a local file.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;

use super::{Calendar, Event, EventChange, EventQueryResult};
use crate::file_store::{self, FileStore};
use crate::ical::{self, Budget, CalendarDocument, ChangeContext};
use crate::{AccountError, random};

/// The maximum size of the file in bytes.
const MAX_BYTES: usize = 32_000_000;

/// A calendar in an iCalendar file.
pub struct LocalCalendar {
    file: file_store::StoredFile,
    clock: Arc<dyn Clock>,
}

impl LocalCalendar {
    /// Creates the calendar in the file at `path`, which may not exist yet.
    pub fn new(store: Arc<dyn FileStore>, path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { file: file_store::StoredFile::new(store, path, MAX_BYTES), clock }
    }

    fn read(&self) -> Result<Vec<u8>, AccountError> {
        Ok(self.file.read()?.unwrap_or_else(ical::empty_calendar))
    }

    fn query_events(&self, from: &Zoned, until: &Zoned) -> Result<EventQueryResult, AccountError> {
        let bytes = self.read()?;
        Ok(ical::events_between(
            &CalendarDocument::parse(&self.file.name(), &bytes)?,
            from,
            until,
            &mut Budget::new(),
        ))
    }

    fn get_event(&self, id: &str) -> Result<Event, AccountError> {
        let bytes = self.read()?;
        ical::find_event(
            &CalendarDocument::parse(&self.file.name(), &bytes)?,
            id,
            self.clock.now().time_zone(),
        )
    }

    async fn change(
        &self,
        make: impl Fn(&str, &[u8], &ChangeContext) -> Result<(Vec<u8>, Event), AccountError>,
    ) -> Result<Event, AccountError> {
        let stamp = ChangeContext { now: self.clock.now(), random: random::random_bytes()? };
        let changed = |bytes: Option<&[u8]>| {
            let (bytes, event) = match bytes {
                Some(bytes) => make(&self.file.name(), bytes, &stamp)?,
                None => make(&self.file.name(), &ical::empty_calendar(), &stamp)?,
            };
            Ok((Some(bytes), event))
        };
        self.file.change(changed).await
    }
}

impl Calendar for LocalCalendar {
    fn events_between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, AccountError>> {
        async move { Ok(self.query_events(&from, &until)?.events) }.boxed()
    }

    fn query(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<EventQueryResult, AccountError>> {
        async move { self.query_events(&from, &until) }.boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move { self.get_event(id) }.boxed()
    }

    fn add(&self, new: EventChange) -> BoxFuture<'_, Result<Event, AccountError>> {
        async move { self.change(|name, bytes, stamp| ical::add_event(name, bytes, &new, stamp)).await }
            .boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: EventChange) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move { self.change(|name, bytes, stamp| ical::update_event(name, bytes, id, &change, stamp)).await }
            .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, AccountError>> {
        async move { self.change(|name, bytes, stamp| ical::delete_event(name, bytes, id, stamp)).await }
            .boxed()
    }
}
