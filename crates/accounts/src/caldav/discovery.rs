//! Finds the calendar from the configured URL, as the standards describe.

use reqwest::{StatusCode, Url};

use super::client::DavClient;
use super::multistatus::{self, ResourceType, ResponseItem};
use super::requests::{ObjectKind, propfind};
use crate::AccountError;

/// The path at which servers announce CalDAV.
const WELL_KNOWN: &str = "/.well-known/caldav";

/// Returns the calendar for `kind` with the configured name, or else the first one.
pub(super) async fn find_calendar(door: &DavClient, kind: ObjectKind) -> Result<Url, AccountError> {
    let starts = if door.url.path() == "/" { [WELL_KNOWN, "/"] } else { [door.url.path(), WELL_KNOWN] };
    let mut missing = None;
    for start in starts {
        let start = door.resolve(&door.url, start)?;
        match discover_from(door, &start, kind).await {
            Ok(found) => return Ok(found),
            // It may be at the other starting point.
            Err(trouble @ AccountError::NotFound(_)) => missing = missing.or(Some(trouble)),
            Err(trouble) => return Err(trouble),
        }
    }
    Err(missing.unwrap_or_else(|| door.invalid_response()))
}

async fn discover_from(door: &DavClient, start: &Url, kind: ObjectKind) -> Result<Url, AccountError> {
    let (url, things) = query_properties(door, start, "0").await?;
    let Some(here) = things.first() else { return Err(no_calendar(door, kind)) };
    let named = door.settings().name.is_some();
    if here.properties.kind == ResourceType::Calendar && !named && supports(here, kind) {
        return Ok(with_final_slash(url));
    }
    let home = match (&here.properties.calendar_home, &here.properties.principal) {
        (Some(home), _) => door.resolve(&url, home)?,
        (None, Some(principal)) => calendar_home(door, &door.resolve(&url, principal)?).await?,
        // Some users configure the folder of their calendars itself.
        (None, None) => url,
    };
    let (url, things) = query_properties(door, &home, "1").await?;
    select_calendar(door, &url, &things, kind)
}

async fn calendar_home(door: &DavClient, principal: &Url) -> Result<Url, AccountError> {
    let (url, things) = query_properties(door, principal, "0").await?;
    let home = things.iter().find_map(|thing| thing.properties.calendar_home.clone());
    home.map_or_else(|| Err(door.invalid_response()), |home| door.resolve(&url, &home))
}

async fn query_properties(
    door: &DavClient,
    url: &Url,
    depth: &'static str,
) -> Result<(Url, Vec<ResponseItem>), AccountError> {
    let answer = door.send(url, &propfind(depth)).await.map_err(AccountError::from)?;
    let not_here = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED, StatusCode::BAD_REQUEST];
    if not_here.contains(&answer.status) {
        return Err(AccountError::NotFound(format!(
            "there is no CalDAV at {}. check OLLIM_CALDAV_URL.",
            answer.url
        )));
    }
    if !answer.status.is_success() {
        return Err(door.status_error(&answer));
    }
    let things = multistatus::parse(&answer.body).ok_or_else(|| door.invalid_response())?;
    Ok((answer.url, things))
}

fn supports(thing: &ResponseItem, kind: ObjectKind) -> bool {
    thing.properties.components.is_empty()
        || thing.properties.components.iter().any(|taken| taken == kind.component_name())
}

fn select_calendar(
    door: &DavClient,
    url: &Url,
    things: &[ResponseItem],
    kind: ObjectKind,
) -> Result<Url, AccountError> {
    let mut calendars: Vec<_> = things
        .iter()
        .filter(|thing| thing.properties.kind == ResourceType::Calendar && supports(thing, kind))
        .collect();
    // Servers may list them in any order, and the first one must be stable.
    calendars.sort_by(|a, b| a.href.cmp(&b.href));
    let found = match &door.settings().name {
        None => calendars.first(),
        Some(name) => calendars.iter().find(|thing| {
            let folder = thing.href.trim_end_matches('/').rsplit('/').next();
            folder == Some(name)
                || thing.properties.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name))
        }),
    };
    match (found, &door.settings().name) {
        (Some(thing), _) => Ok(with_final_slash(door.resolve(url, &thing.href)?)),
        (None, None) => Err(no_calendar(door, kind)),
        (None, Some(name)) => {
            let known: Vec<_> =
                calendars.iter().filter_map(|thing| thing.properties.name.as_deref()).take(20).collect();
            let known = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("it has: {}", known.join(", "))
            };
            let kind = kind.plural();
            Err(AccountError::NotFound(format!("there is no calendar `{name}` that takes {kind}. {known}.")))
        }
    }
}

fn no_calendar(door: &DavClient, kind: ObjectKind) -> AccountError {
    let user = &door.settings().user;
    let kind = kind.plural();
    AccountError::NotFound(format!("`{user}` has no calendar there that takes {kind}. make one first."))
}

/// Adds the final slash that relative URLs of objects need.
fn with_final_slash(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url
}
