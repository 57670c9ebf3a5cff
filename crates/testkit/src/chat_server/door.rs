//! The HTTP endpoints of the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::book::{Api, Book, Decision, Received};
use super::chunks::{Counting, completion, written};
use super::{Style, responses};
use crate::play::sending::{self, event_stream, html};
use crate::play::{At, Fault, Refused};

/// The maximum size of a request.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Clone)]
struct House {
    book: Arc<Mutex<Book>>,
    stop: CancellationToken,
}

/// Returns the server's routes.
pub fn routes(book: Arc<Mutex<Book>>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/responses", post(respond))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .with_state(House { book, stop })
}

impl House {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn complete(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    let received = received(&headers, &body);
    let streamed = received.json["stream"] == true;
    let counting = if received.json["stream_options"]["include_usage"] == true {
        Counting::Wanted
    } else {
        Counting::NotWanted
    };
    let decision = house.book().decide(received);
    let (act, title) = match decision {
        Decision::Refuse(refused) => return refusal(&refused),
        Decision::Play(act, title) => (act, title),
    };
    if let Some((At::Head, gate)) = &act.hold {
        house.stop.run_until_cancelled(gate.pass()).await;
    }
    if let Some(Fault::Refuse(refused)) = &act.fault {
        return refusal(refused);
    }
    if act.fault == Some(Fault::Html) {
        return html();
    }
    if streamed && title.style != Style::Plain {
        event_stream(&act, &written(&act, &title, counting), house.stop)
    } else {
        Json(completion(&act, &title)).into_response()
    }
}

async fn respond(State(house): State<House>, headers: HeaderMap, body: Bytes) -> Response {
    if house.book().style() != Style::Current {
        return StatusCode::NOT_FOUND.into_response();
    }
    let received = Received { path: Api::Responses, ..received(&headers, &body) };
    let streamed = received.json["stream"] == true;
    let decision = house.book().decide(received);
    let (act, title) = match decision {
        Decision::Refuse(refused) => return refusal(&refused),
        Decision::Play(act, title) => (act, title),
    };
    if let Some((At::Head, gate)) = &act.hold {
        house.stop.run_until_cancelled(gate.pass()).await;
    }
    match &act.fault {
        Some(Fault::Refuse(refused)) => refusal(refused),
        Some(Fault::Html) => html(),
        _ if streamed => event_stream(&act, &responses::written(&act, &title), house.stop),
        _ => Json(responses::response(&act, &title)).into_response(),
    }
}

async fn models(State(house): State<House>, headers: HeaderMap) -> Response {
    let stranger = house.book().stranger(&received(&headers, b""));
    match stranger {
        Some(refused) => refusal(&refused),
        None => {
            let model = json!({"id": "played", "object": "model", "created": 0, "owned_by": "testkit"});
            Json(json!({"object": "list", "data": [model]})).into_response()
        }
    }
}

fn received(headers: &HeaderMap, body: &[u8]) -> Received {
    let authorization = headers.get("authorization");
    Received {
        path: Api::Chat,
        authorization: authorization.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn refusal(refused: &Refused) -> Response {
    let kind = refused.kind.as_str();
    let code = match kind {
        "insufficient_quota" | "invalid_api_key" | "model_not_found" | "invalid_encrypted_content" => {
            json!(kind)
        }
        _ => Value::Null,
    };
    let about_effort = refused.message.contains("reasoning_effort");
    let param = if about_effort { json!("reasoning_effort") } else { Value::Null };
    let error = json!({"message": refused.message, "type": kind, "param": param, "code": code});
    sending::refusal(refused, json!({ "error": error }))
}
