//! The HTTP side of the server.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::book::{Book, Decision, Received};
use super::cache::prompt_tokens;
use super::events::{message, written};
use crate::play::sending::{self, event_stream, html};
use crate::play::{At, Fault, Refused};

/// The most bytes of a request, as the vendor has it.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Clone)]
struct House {
    book: Arc<Mutex<Book>>,
    stop: CancellationToken,
}

/// The two doors of the server.
pub fn routes(book: Arc<Mutex<Book>>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .with_state(House { book, stop })
}

async fn messages(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    let received = received(&headers, &body);
    let streamed = received.json["stream"] == true;
    let decision = house.book.lock().unwrap_or_else(PoisonError::into_inner).decide(received);
    let (act, title) = match decision {
        Decision::Refuse(refused, serial) => return refusal(&refused, serial),
        Decision::Play(act, title) => (act, title),
    };
    if let Some((At::Head, gate)) = &act.hold {
        house.stop.run_until_cancelled(gate.pass()).await;
    }
    if let Some(Fault::Refuse(refused)) = &act.fault {
        return refusal(refused, title.serial);
    }
    if act.fault == Some(Fault::Html) {
        return html();
    }
    match streamed {
        true => with_id(event_stream(&act, &written(&act, &title), house.stop), title.serial),
        false => with_id(Json(message(&act, &title)), title.serial),
    }
}

async fn count_tokens(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    let mut received = received(&headers, &body);
    let tokens = prompt_tokens(&received.json);
    // What is only counted is not asked for, so it needs no length.
    if received.json.is_object() {
        received.json["max_tokens"] = json!(1);
    }
    let wrong = house.book.lock().unwrap_or_else(PoisonError::into_inner).wrong(&received);
    match wrong {
        Some(refused) => refusal(&refused, 0),
        None => with_id(Json(json!({"input_tokens": tokens})), 0),
    }
}

fn received(headers: &HeaderMap, body: &[u8]) -> Received {
    let header =
        |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    // The vendor's own clients have moved from the one header to the other; it takes both.
    let bearer = || Some(header("authorization")?.strip_prefix("Bearer ")?.to_owned());
    Received {
        key: header("x-api-key").or_else(bearer),
        version: header("anthropic-version"),
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn refusal(refused: &Refused, serial: usize) -> Response {
    let error = json!({"type": refused.kind, "message": refused.message});
    let body = json!({"type": "error", "error": error, "request_id": request_id(serial)});
    with_id(sending::refusal(refused, body), serial)
}

fn with_id(response: impl IntoResponse, serial: usize) -> Response {
    ([("request-id", request_id(serial))], response).into_response()
}

fn request_id(serial: usize) -> String {
    format!("req_{serial:06}")
}
