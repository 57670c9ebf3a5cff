//! The HTTP endpoints of the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::book::{Book, Decision, Received, Refusal};
use super::events::{message, written};
use crate::play::sending::{self, event_stream, html};
use crate::play::{At, Fault, Refused};

/// The maximum size of a request, equal to the vendor's limit.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The prefix of the user agent of the vendor's own program, whose beta headers are not published.
const CLAUDE_CODE: &str = "claude-cli/";

#[derive(Clone)]
struct House {
    book: Arc<Mutex<Book>>,
    stop: CancellationToken,
}

impl House {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the server's routes.
pub fn routes(book: Arc<Mutex<Book>>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/models", get(models))
        .route("/v1/models/{id}", get(model))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .with_state(House { book, stop })
}

async fn messages(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    let received = received(&headers, &body);
    let streamed = received.json["stream"] == true;
    let decision = house.book().decide(received);
    let (act, title) = match decision {
        Decision::Refuse(refusal) => return refuse(&refusal),
        Decision::Play(act, title) => (act, title),
    };
    if let Some((At::Head, gate)) = &act.hold {
        house.stop.run_until_cancelled(gate.pass()).await;
    }
    if let Some(Fault::Refuse(refused)) = &act.fault {
        let refused = refused.clone();
        let error_code = act.error_code();
        return refuse(&Refusal { refused, error_code, serial: title.serial });
    }
    if act.fault == Some(Fault::Html) {
        return html();
    }
    if streamed {
        with_id(event_stream(&act, &written(&act, &title), house.stop), title.serial)
    } else {
        with_id(Json(message(&act, &title)), title.serial)
    }
}

async fn count_tokens(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    let counted = house.book().count(&received(&headers, &body));
    answer(counted.map(|tokens| json!({"input_tokens": tokens})))
}

async fn models(
    State(house): State<House>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    answer(house.book().models(None, &query, &received(&headers, b"")))
}

async fn model(State(house): State<House>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    answer(house.book().models(Some(&id), &[], &received(&headers, b"")))
}

fn answer(answer: Result<Value, Refused>) -> Response {
    match answer {
        Ok(body) => with_id(Json(body), 0),
        Err(refused) => refuse(&Refusal { refused, error_code: None, serial: 0 }),
    }
}

fn received(headers: &HeaderMap, body: &[u8]) -> Received {
    let header =
        |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    // The vendor's own clients have moved from one header to the other; the vendor accepts both.
    let bearer = || Some(header("authorization")?.strip_prefix("Bearer ")?.to_owned());
    let given = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let mut betas: Vec<String> =
        given.flat_map(|value| value.split(',')).map(|beta| beta.trim().to_owned()).collect();
    if header("user-agent").is_some_and(|agent| agent.starts_with(CLAUDE_CODE)) {
        betas.retain(|beta| super::betas::is_known(beta));
    }
    Received {
        key: header("x-api-key").or_else(bearer),
        version: header("anthropic-version"),
        betas,
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn refuse(refusal: &Refusal) -> Response {
    let refused = &refusal.refused;
    let mut error = json!({"type": refused.kind, "message": refused.message});
    if let Some(code) = &refusal.error_code {
        error["details"] = json!({ "error_code": code });
    }
    let body = json!({"type": "error", "error": error, "request_id": request_id(refusal.serial)});
    with_id(sending::refusal(refused, body), refusal.serial)
}

fn with_id(response: impl IntoResponse, serial: usize) -> Response {
    ([("request-id", request_id(serial))], response).into_response()
}

fn request_id(serial: usize) -> String {
    format!("req_{serial:06}")
}
