//! A calendar on a CalDAV server.

use std::sync::Arc;

use engine::ports::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Zoned};

use super::Settings;
use super::collection::{Collection, Fate, Object};
use super::requests::{Kind, Wanted};
use crate::calendar::{Calendar, Change, Event, Look, missing};
use crate::ical::{self, Budget, Sheet, Stamp};
use crate::{Trouble, dice};

/// Servers may interpret whole days in another time zone, so one more day is requested on either
/// side.
const A_DAY: SignedDuration = SignedDuration::from_hours(24);

/// A calendar on a CalDAV server.
pub struct CalDavCalendar {
    objects: Collection,
    clock: Arc<dyn Clock>,
}

impl CalDavCalendar {
    /// Creates a client for the calendar of the settings, without a request.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, Trouble> {
        Ok(Self { objects: Collection::new(settings, Kind::Event)?, clock })
    }

    async fn looked(&self, from: &Zoned, until: &Zoned) -> Result<Look, Trouble> {
        let beyond = |_| Trouble::Wrong("that is beyond all calendars.".to_owned());
        let wanted = Wanted::Between(
            from.timestamp().checked_sub(A_DAY).map_err(beyond)?,
            until.timestamp().checked_add(A_DAY).map_err(beyond)?,
        );
        let mut all = Look::default();
        let mut budget = Budget::new();
        let found = self.objects.objects(&wanted).await?;
        all.left_out = found.left_out;
        for object in found.objects {
            match Sheet::read(&self.objects.name(), &object.bytes) {
                Ok(sheet) => {
                    let look = ical::look(&sheet, from, until, &mut budget);
                    all.events.extend(look.events);
                    all.left_out.extend(look.left_out);
                }
                Err(_) => {
                    all.left_out.push(format!("{}: it is no calendar, so it is left out.", object.url.path()))
                }
            }
        }
        ical::sort(&mut all.events, from.time_zone());
        Ok(all)
    }

    /// Returns the object with the event `id`, or with the series of this occurrence.
    async fn object(&self, id: &str) -> Result<Object, Trouble> {
        let series = ical::series_of(id);
        for uid in [Some(id), series].into_iter().flatten() {
            for object in self.objects.objects(&Wanted::Called(Kind::Event, uid)).await?.objects {
                let sheet = Sheet::read(&self.objects.name(), &object.bytes);
                if sheet.is_ok_and(|sheet| ical::find(&sheet, id, self.clock.now().time_zone()).is_ok()) {
                    return Ok(object);
                }
            }
        }
        Err(missing(id))
    }

    async fn shown(&self, id: &str) -> Result<Event, Trouble> {
        let object = self.object(id).await?;
        ical::find(&Sheet::read(&self.objects.name(), &object.bytes)?, id, self.clock.now().time_zone())
    }

    fn stamp(&self) -> Result<Stamp, Trouble> {
        Ok(Stamp { now: self.clock.now(), dice: dice::rolled()? })
    }

    async fn added(&self, new: &Change) -> Result<Event, Trouble> {
        let (bytes, event) = ical::add(&self.objects.name(), &ical::empty(), new, &self.stamp()?)?;
        self.objects.add(&event.id, bytes).await?;
        Ok(event)
    }

    async fn updated(&self, id: &str, change: &Change) -> Result<Event, Trouble> {
        let object = self.object(id).await?;
        let stamp = self.stamp()?;
        let make = |bytes: &[u8]| {
            let (bytes, event) = ical::update(&self.objects.name(), bytes, id, change, &stamp)?;
            Ok((Fate::Holds(bytes), event))
        };
        self.objects.change(&object.url, make).await
    }

    async fn deleted(&self, id: &str) -> Result<Event, Trouble> {
        let object = self.object(id).await?;
        let stamp = self.stamp()?;
        let make = |bytes: &[u8]| {
            let (bytes, event) = ical::delete(&self.objects.name(), bytes, id, &stamp)?;
            let left = Sheet::read(&self.objects.name(), &bytes)?.blocks(ical::Kind::Event).count();
            Ok((if left == 0 { Fate::Goes } else { Fate::Holds(bytes) }, event))
        };
        self.objects.change(&object.url, make).await
    }
}

impl Calendar for CalDavCalendar {
    fn between(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Vec<Event>, Trouble>> {
        async move { Ok(self.looked(&from, &until).await?.events) }.boxed()
    }

    fn look(&self, from: Zoned, until: Zoned) -> BoxFuture<'_, Result<Look, Trouble>> {
        async move { self.looked(&from, &until).await }.boxed()
    }

    fn show<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        self.shown(id).boxed()
    }

    fn add(&self, new: Change) -> BoxFuture<'_, Result<Event, Trouble>> {
        async move { self.added(&new).await }.boxed()
    }

    fn update<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Event, Trouble>> {
        async move { self.updated(id, &change).await }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Event, Trouble>> {
        self.deleted(id).boxed()
    }
}
