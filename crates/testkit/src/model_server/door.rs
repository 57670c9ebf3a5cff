//! The HTTP side of the server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::act::{Act, At, Fault, Refused};
use super::book::{Book, Decision, Received};
use super::cache::prompt_tokens;
use super::events::{Title, events, message};
use super::frames::{Frame, frames};

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
        true => event_stream(&act, &title, house.stop),
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
    Received {
        key: header("x-api-key"),
        version: header("anthropic-version"),
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn refusal(refused: &Refused, serial: usize) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let error = json!({"type": refused.kind, "message": refused.message});
    let body = Json(json!({"type": "error", "error": error, "request_id": request_id(serial)}));
    let retry_after = refused.retry_after.as_ref().map(|seconds| [(header::RETRY_AFTER, seconds.clone())]);
    match retry_after {
        Some(header) => with_id((status, header, body), serial),
        None => with_id((status, body), serial),
    }
}

fn html() -> Response {
    let page = "<!doctype html><title>Sign in</title><p>Please sign in to the network.";
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

fn event_stream(act: &Act, title: &Title, stop: CancellationToken) -> Response {
    let frames = VecDeque::from(frames(act, &events(act, title)));
    let body = stream::unfold((frames, stop), |(mut frames, stop)| async move {
        let sent = next_bytes(&mut frames, &stop).await?;
        Some((sent, (frames, stop)))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    with_id((kind, Body::from_stream(body)), title.serial)
}

async fn next_bytes(
    frames: &mut VecDeque<Frame>,
    stop: &CancellationToken,
) -> Option<Result<Vec<u8>, std::io::Error>> {
    loop {
        match frames.pop_front()? {
            Frame::Send(bytes) => return Some(Ok(bytes)),
            Frame::Wait(gate) => {
                if stop.run_until_cancelled(gate.pass()).await.is_none() {
                    return Some(Err(std::io::Error::other("the server stops")));
                }
            }
            Frame::Break => {
                // What was sent before is only on its way once the connection had a moment to flush it.
                tokio::task::yield_now().await;
                return Some(Err(std::io::Error::other("cut by the script")));
            }
        }
    }
}

fn with_id(response: impl IntoResponse, serial: usize) -> Response {
    ([("request-id", request_id(serial))], response).into_response()
}

fn request_id(serial: usize) -> String {
    format!("req_{serial:06}")
}
