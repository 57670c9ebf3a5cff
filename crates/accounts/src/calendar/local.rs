//! A calendar in a local file.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;

use super::{Calendar, Change, Event, Look};
use crate::ical::{self, Budget, Sheet, Stamp};
use crate::shelf::{self, Shelf};
use crate::{Trouble, dice};

/// The maximum size of the file in bytes.
const BIGGEST: usize = 32_000_000;

/// A calendar in an iCalendar file.
pub struct LocalCalendar {
    file: shelf::Sheet,
    clock: Arc<dyn Clock>,
}

impl LocalCalendar {
    /// Creates the calendar in the file at `path`, which may not exist yet.
    pub fn new(shelf: Arc<dyn Shelf>, path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { file: shelf::Sheet::new(shelf, path, BIGGEST), clock }
    }

    fn read(&self) -> Result<Vec<u8>, Trouble> {
        Ok(self.file.read()?.unwrap_or_else(ical::empty))
    }

    fn looked(&self, from: &Zoned, until: &Zoned) -> Result<Look, Trouble> {
        let bytes = self.read()?;
        Ok(ical::look(&Sheet::read(&self.file.name(), &bytes)?, from, until, &mut Budget::new()))
    }

    fn shown(&self, id: &str) -> Result<Event, Trouble> {
        let bytes = self.read()?;
        ical::find(&Sheet::read(&self.file.name(), &bytes)?, id, self.clock.now().time_zone())
    }

    async fn change(
        &self,
        make: impl Fn(&str, &[u8], &Stamp) -> Result<(Vec<u8>, Event), Trouble>,
    ) -> Result<Event, Trouble> {
        let stamp = Stamp { now: self.clock.now(), dice: dice::rolled()? };
        let changed = |bytes: Option<&[u8]>| {
            let (bytes, event) = match bytes {
                Some(bytes) => make(&self.file.name(), bytes, &stamp)?,
                None => make(&self.file.name(), &ical::empty(), &stamp)?,
            };
            Ok((Some(bytes), event))
        };
        self.file.change(changed).await
    }
}

impl Calendar for LocalCalendar {
    fn between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, Trouble>> {
        async move { Ok(self.looked(&from, &until)?.events) }.boxed()
    }

    fn look(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Look, Trouble>> {
        async move { self.looked(&from, &until) }.boxed()
    }

    fn show<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move { self.shown(id) }.boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Event, Trouble>> {
        async move { self.change(|name, bytes, stamp| ical::add(name, bytes, &new, stamp)).await }.boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move { self.change(|name, bytes, stamp| ical::update(name, bytes, id, &change, stamp)).await }
            .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move { self.change(|name, bytes, stamp| ical::delete(name, bytes, id, stamp)).await }.boxed()
    }
}
