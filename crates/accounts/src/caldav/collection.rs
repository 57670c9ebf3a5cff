//! The objects of one calendar on a server, which are changed only if they are unchanged on the
//! server.

use reqwest::{Method, StatusCode, Url};
use tokio::sync::OnceCell;

use super::Settings;
use super::discovery;
use super::door::{Ask, Door, Unanswered};
use super::multistatus::{self, Thing};
use super::requests::{Depth, Kind, Wanted, multiget, query};
use crate::Trouble;

/// The number of objects per request when all together are too large.
const AT_ONCE: usize = 400;

/// The maximum number of objects.
const MOST: usize = 50_000;

const CALENDAR: &str = "text/calendar; charset=utf-8";

/// One calendar on a server. Its URL is discovered on first use.
pub(super) struct Collection {
    door: Door,
    kind: Kind,
    place: OnceCell<Url>,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) url: Url,
    pub(super) bytes: Vec<u8>,
}

/// The objects found, and those that were too large.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The objects, unordered.
    pub(super) objects: Vec<Object>,
    /// A sentence for each missing object.
    pub(super) left_out: Vec<String>,
}

/// The new state of an object.
pub(super) enum Fate {
    Holds(Vec<u8>),
    Goes,
}

impl Collection {
    /// Creates the collection for `kind` with these settings.
    pub(super) fn new(settings: Settings, kind: Kind) -> Result<Self, Trouble> {
        Ok(Self { door: Door::new(settings)?, kind, place: OnceCell::new() })
    }

    /// The name used in error messages.
    pub(super) fn name(&self) -> String {
        format!("what {} sent", self.door.url.host_str().unwrap_or("the server"))
    }

    async fn place(&self) -> Result<&Url, Trouble> {
        self.place.get_or_try_init(|| discovery::find(&self.door, self.kind)).await
    }

    /// Returns the matching objects: all in one request, or in several if the response is too
    /// large.
    pub(super) async fn objects(&self, wanted: &Wanted<'_>) -> Result<Found, Trouble> {
        let place = self.place().await?;
        match self.door.good(place, &query(wanted, Depth::Whole)).await {
            Ok(answer) => self.read(&answer.body),
            Err(Unanswered::TooBig(_)) => self.one_part_after_the_other(place, wanted).await,
            Err(Unanswered::Trouble(trouble)) => Err(trouble),
        }
    }

    async fn one_part_after_the_other(&self, place: &Url, wanted: &Wanted<'_>) -> Result<Found, Trouble> {
        let answer = self.door.good(place, &query(wanted, Depth::Names)).await?;
        let things = multistatus::read(&answer.body).ok_or_else(|| self.door.garbled())?;
        if things.len() > MOST {
            return Err(Trouble::Garbled(format!(
                "there are {} objects, and i read no more than {MOST} at once. ask for fewer days.",
                things.len()
            )));
        }
        let places: Vec<_> = things.into_iter().map(|thing| thing.href).collect();
        let mut parts: Vec<_> = places.chunks(AT_ONCE).collect();
        let mut found = Found::default();
        while let Some(part) = parts.pop() {
            match (self.door.good(place, &multiget(part)).await, part) {
                (Ok(answer), _) => found.objects.extend(self.read(&answer.body)?.objects),
                (Err(Unanswered::TooBig(_)), [only]) => {
                    found
                        .left_out
                        .push(format!("{only}: it is bigger than all i read at once, so it is left out."));
                }
                (Err(Unanswered::TooBig(_)), part) => {
                    parts.extend([&part[..part.len() / 2], &part[part.len() / 2..]])
                }
                (Err(Unanswered::Trouble(trouble)), _) => return Err(trouble),
            }
        }
        Ok(found)
    }

    fn read(&self, body: &[u8]) -> Result<Found, Trouble> {
        let things = multistatus::read(body).ok_or_else(|| self.door.garbled())?;
        let object = |thing: Thing| {
            let bytes = thing.said.data?.into_bytes();
            Some(self.door.within(&self.door.url, &thing.href).map(|url| Object { url, bytes }))
        };
        let objects = things.into_iter().filter_map(object).collect::<Result<_, _>>()?;
        Ok(Found { objects, left_out: Vec::new() })
    }

    /// Creates an object.
    pub(super) async fn add(&self, uid: &str, bytes: Vec<u8>) -> Result<(), Trouble> {
        let url = self.door.within(self.place().await?, &format!("{uid}.ics"))?;
        let only = Some(("If-None-Match", "*".to_owned()));
        self.door
            .good(&url, &Ask { method: Method::PUT, only, body: Some((CALENDAR, bytes)), depth: None })
            .await?;
        Ok(())
    }

    /// Changes an object with `make`. After a concurrent change, `make` is applied once more to the
    /// new content.
    pub(super) async fn change<T>(
        &self,
        url: &Url,
        make: impl Fn(&[u8]) -> Result<(Fate, T), Trouble>,
    ) -> Result<T, Trouble> {
        let mut tries = 2;
        loop {
            let now = self.door.good(url, &Ask { method: Method::GET, ..Ask::default() }).await?;
            let (fate, told) = make(&now.body)?;
            let only = Some(("If-Match", now.etag.unwrap_or_else(|| "*".to_owned())));
            let ask = match fate {
                Fate::Holds(bytes) => {
                    Ask { method: Method::PUT, only, body: Some((CALENDAR, bytes)), depth: None }
                }
                Fate::Goes => Ask { method: Method::DELETE, only, ..Ask::default() },
            };
            let answer = self.door.ask(url, &ask).await?;
            tries -= 1;
            match (answer.status.is_success(), answer.status == StatusCode::PRECONDITION_FAILED && tries > 0)
            {
                (true, _) => return Ok(told),
                (false, true) => {}
                (false, false) => return Err(self.door.refused(&answer)),
            }
        }
    }
}
