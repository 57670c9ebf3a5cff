//! HTTP handling: queued faults, authorization, and dispatch.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::{GoogleAccount, GoogleRequest, calendar, gmail, tasks, tokens};

/// A response: a status, and JSON or null for an empty body.
pub(super) type JsonResponse = (u16, Value);

/// Returns the server's routes.
pub(super) fn routes(account: Arc<Mutex<GoogleAccount>>) -> Router {
    Router::new().fallback(handle).with_state(account)
}

async fn handle(State(account): State<Arc<Mutex<GoogleAccount>>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    let google_request = GoogleRequest {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: parse_form(head.uri.query().unwrap_or_default()),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
    account.requests.push(google_request.clone());
    if let Some(at) = account.faults.iter().position(|fault| google_request.path.contains(fault.path))
        && let Some(fault) = account.faults.remove(at)
    {
        let response = Response::builder().status(fault.status);
        let response = match fault.retry_after {
            Some(seconds) => response.header(RETRY_AFTER, seconds),
            None => response,
        };
        return response.body(Body::from(fault.body)).unwrap_or_default();
    }
    if google_request.path == "/o/oauth2/v2/auth" {
        return match tokens::consent(&mut account, &google_request) {
            Some(address) => {
                let response = Response::builder().status(StatusCode::FOUND).header(LOCATION, address);
                response.body(Body::empty()).unwrap_or_default()
            }
            None => http_response((400, json!("invalid request"))),
        };
    }
    http_response(dispatch(&mut account, &google_request, token.as_deref()))
}

fn dispatch(account: &mut GoogleAccount, request: &GoogleRequest, token: Option<&str>) -> JsonResponse {
    match request.path.as_str() {
        "/token" => return tokens::exchange_token(account, &parse_form(&request.body)),
        "/revoke" => return tokens::revoke(account, &parse_form(&request.body)),
        _ => {}
    }
    if !token.is_some_and(|token| account.access_tokens.iter().any(|good| good == token)) {
        return error_response(401, "authError", "Request had invalid authentication credentials.");
    }
    let parts: Vec<String> = request.path.split('/').skip(1).map(percent_decode).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["gmail", "v1", "users", "me", rest @ ..] => gmail::handle(account, request, rest),
        ["tasks", "v1", "lists", "@default", "tasks", rest @ ..] => tasks::handle(account, request, rest),
        ["calendar", "v3", "calendars", "primary", "events", rest @ ..] => {
            calendar::handle(account, request, rest)
        }
        _ => error_response(404, "notFound", "Not Found"),
    }
}

fn http_response((status, value): JsonResponse) -> Response<Body> {
    let response = Response::builder().status(status);
    match value.is_null() {
        true => response.body(Body::empty()),
        false => response.header(CONTENT_TYPE, "application/json").body(Body::from(value.to_string())),
    }
    .unwrap_or_default()
}

/// Returns an error in the format of the Google APIs.
pub(super) fn error_response(code: u16, reason: &str, message: &str) -> JsonResponse {
    let errors = json!([{ "domain": "global", "reason": reason, "message": message }]);
    (code, json!({ "error": { "code": code, "message": message, "errors": errors } }))
}

/// Returns a page of `items` under the field `name`.
pub(super) fn list_page(
    account: &GoogleAccount,
    request: &GoogleRequest,
    name: &str,
    items: &[Value],
) -> JsonResponse {
    let requested = request.query_value("maxResults").and_then(|max| max.parse().ok()).unwrap_or(100);
    let max = account.page_size.unwrap_or(usize::MAX).min(requested).max(1);
    let from: usize =
        request.query_value("pageToken").and_then(|token| token.parse().ok()).unwrap_or_default();
    let visible: Vec<&Value> = items.iter().skip(from).take(max).collect();
    let mut answer = json!({ "kind": "list" });
    if !visible.is_empty() {
        answer[name] = json!(visible);
    }
    if from + max < items.len() {
        answer["nextPageToken"] = json!((from + max).to_string());
    }
    (200, answer)
}

/// Parses the pairs of a form or a query.
pub(crate) fn parse_form(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (percent_decode(key), percent_decode(value)))
        .collect()
}

fn percent_decode(text: &str) -> String {
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
