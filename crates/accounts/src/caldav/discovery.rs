//! Finds the calendar from the configured URL, as the standards describe.

use reqwest::{StatusCode, Url};

use super::door::Door;
use super::multistatus::{self, Resource, Thing};
use super::requests::{Kind, look};
use crate::Trouble;

/// The path at which servers announce CalDAV.
const WELL_KNOWN: &str = "/.well-known/caldav";

/// Returns the calendar for `kind` with the configured name, or else the first one.
pub(super) async fn find(door: &Door, kind: Kind) -> Result<Url, Trouble> {
    let starts = if door.url.path() == "/" { [WELL_KNOWN, "/"] } else { [door.url.path(), WELL_KNOWN] };
    let mut missing = None;
    for start in starts {
        let start = door.within(&door.url, start)?;
        match at(door, &start, kind).await {
            Ok(found) => return Ok(found),
            // It may be at the other starting point.
            Err(trouble @ Trouble::Missing(_)) => missing = missing.or(Some(trouble)),
            Err(trouble) => return Err(trouble),
        }
    }
    Err(missing.unwrap_or_else(|| door.garbled()))
}

async fn at(door: &Door, start: &Url, kind: Kind) -> Result<Url, Trouble> {
    let (url, things) = asked(door, start, "0").await?;
    let Some(here) = things.first() else { return Err(nowhere(door, kind)) };
    let named = door.settings().name.is_some();
    if here.said.kind == Resource::Calendar && !named && takes(here, kind) {
        return Ok(as_folder(url));
    }
    let home = match (&here.said.home, &here.said.principal) {
        (Some(home), _) => door.within(&url, home)?,
        (None, Some(principal)) => home_of(door, &door.within(&url, principal)?).await?,
        // Some users configure the folder of their calendars itself.
        (None, None) => url,
    };
    let (url, things) = asked(door, &home, "1").await?;
    chosen(door, &url, &things, kind)
}

async fn home_of(door: &Door, principal: &Url) -> Result<Url, Trouble> {
    let (url, things) = asked(door, principal, "0").await?;
    let home = things.iter().find_map(|thing| thing.said.home.clone());
    home.map_or_else(|| Err(door.garbled()), |home| door.within(&url, &home))
}

async fn asked(door: &Door, url: &Url, depth: &'static str) -> Result<(Url, Vec<Thing>), Trouble> {
    let answer = door.ask(url, &look(depth)).await.map_err(Trouble::from)?;
    let not_here = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED, StatusCode::BAD_REQUEST];
    if not_here.contains(&answer.status) {
        return Err(Trouble::Missing(format!(
            "there is no CalDAV at {}. check OLLIM_CALDAV_URL.",
            answer.url
        )));
    }
    if !answer.status.is_success() {
        return Err(door.refused(&answer));
    }
    let things = multistatus::read(&answer.body).ok_or_else(|| door.garbled())?;
    Ok((answer.url, things))
}

fn takes(thing: &Thing, kind: Kind) -> bool {
    thing.said.takes.is_empty() || thing.said.takes.iter().any(|taken| taken == kind.name())
}

fn chosen(door: &Door, url: &Url, things: &[Thing], kind: Kind) -> Result<Url, Trouble> {
    let mut calendars: Vec<_> =
        things.iter().filter(|thing| thing.said.kind == Resource::Calendar && takes(thing, kind)).collect();
    // Servers may list them in any order, and the first one must be stable.
    calendars.sort_by(|a, b| a.href.cmp(&b.href));
    let found = match &door.settings().name {
        None => calendars.first(),
        Some(name) => calendars.iter().find(|thing| {
            let folder = thing.href.trim_end_matches('/').rsplit('/').next();
            folder == Some(name)
                || thing.said.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name))
        }),
    };
    match (found, &door.settings().name) {
        (Some(thing), _) => Ok(as_folder(door.within(url, &thing.href)?)),
        (None, None) => Err(nowhere(door, kind)),
        (None, Some(name)) => {
            let known: Vec<_> =
                calendars.iter().filter_map(|thing| thing.said.name.as_deref()).take(20).collect();
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has: {}", known.join(", "))
            };
            let kind = kind.plural();
            Err(Trouble::Missing(format!("there is no calendar `{name}` that takes {kind}. {known}.")))
        }
    }
}

fn nowhere(door: &Door, kind: Kind) -> Trouble {
    let user = &door.settings().user;
    let kind = kind.plural();
    Trouble::Missing(format!("`{user}` has no calendar there that takes {kind}. make one first."))
}

/// Adds the final slash that relative URLs of objects need.
fn as_folder(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url
}
