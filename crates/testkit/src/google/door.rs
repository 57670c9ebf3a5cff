//! HTTP handling: queued faults, authorization, and dispatch.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::{Received, World, calendar, gmail, tasks, tokens};

/// A response: a status, and JSON or null for an empty body.
pub(super) type Answer = (u16, Value);

/// Returns the server's routes.
pub(super) fn routes(world: Arc<Mutex<World>>) -> Router {
    Router::new().fallback(answer).with_state(world)
}

async fn answer(State(world): State<Arc<Mutex<World>>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    let received = Received {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: pairs(head.uri.query().unwrap_or_default()),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
    world.requests.push(received.clone());
    if let Some(at) = world.faults.iter().position(|fault| received.path.contains(fault.path))
        && let Some(fault) = world.faults.remove(at)
    {
        let response = Response::builder().status(fault.status);
        let response = match fault.retry_after {
            Some(seconds) => response.header(RETRY_AFTER, seconds),
            None => response,
        };
        return response.body(Body::from(fault.body)).unwrap_or_default();
    }
    if received.path == "/o/oauth2/v2/auth" {
        return match tokens::consent(&mut world, &received) {
            Some(address) => {
                let response = Response::builder().status(StatusCode::FOUND).header(LOCATION, address);
                response.body(Body::empty()).unwrap_or_default()
            }
            None => written((400, json!("invalid request"))),
        };
    }
    written(dispatch(&mut world, &received, token.as_deref()))
}

fn dispatch(world: &mut World, received: &Received, token: Option<&str>) -> Answer {
    match received.path.as_str() {
        "/token" => return tokens::token(world, &pairs(&received.body)),
        "/revoke" => return tokens::revoke(world, &pairs(&received.body)),
        _ => {}
    }
    if !token.is_some_and(|token| world.access.iter().any(|good| good == token)) {
        return refused(401, "authError", "Request had invalid authentication credentials.");
    }
    let parts: Vec<String> = received.path.split('/').skip(1).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["gmail", "v1", "users", "me", rest @ ..] => gmail::answer(world, received, rest),
        ["tasks", "v1", "lists", "@default", "tasks", rest @ ..] => tasks::answer(world, received, rest),
        ["calendar", "v3", "calendars", "primary", "events", rest @ ..] => {
            calendar::answer(world, received, rest)
        }
        _ => refused(404, "notFound", "Not Found"),
    }
}

fn written((status, value): Answer) -> Response<Body> {
    let response = Response::builder().status(status);
    match value.is_null() {
        true => response.body(Body::empty()),
        false => response.header(CONTENT_TYPE, "application/json").body(Body::from(value.to_string())),
    }
    .unwrap_or_default()
}

/// Returns an error in the format of the Google APIs.
pub(super) fn refused(code: u16, reason: &str, message: &str) -> Answer {
    let errors = json!([{ "domain": "global", "reason": reason, "message": message }]);
    (code, json!({ "error": { "code": code, "message": message, "errors": errors } }))
}

/// Returns a page of `items` under the field `name`.
pub(super) fn page(world: &World, received: &Received, name: &str, items: &[Value]) -> Answer {
    let asked = received.asks("maxResults").and_then(|most| most.parse().ok()).unwrap_or(100);
    let most = world.page.unwrap_or(usize::MAX).min(asked).max(1);
    let from: usize = received.asks("pageToken").and_then(|token| token.parse().ok()).unwrap_or_default();
    let here: Vec<&Value> = items.iter().skip(from).take(most).collect();
    let mut answer = json!({ "kind": "list" });
    if !here.is_empty() {
        answer[name] = json!(here);
    }
    if from + most < items.len() {
        answer["nextPageToken"] = json!((from + most).to_string());
    }
    (200, answer)
}

/// Parses the pairs of a form or a query.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (decoded(key), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        rest = match (byte, hex) {
            (b'%', Some(value)) => {
                bytes.push(value);
                &after[2..]
            }
            (byte, _) => {
                bytes.push(if *byte == b'+' { b' ' } else { *byte });
                after
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
