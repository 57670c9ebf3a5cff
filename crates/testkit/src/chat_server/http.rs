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

use super::chunks::{UsageReport, completion, stream};
use super::state::{Api, ChatRequest, ChatServerState, Decision};
use super::{Style, responses};
use crate::scripted_replies::http_responses::{self, event_stream, html_page};
use crate::scripted_replies::{ErrorReply, ReplyFault, WaitPoint};

/// The maximum size of a request.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Clone)]
struct ServerContext {
    state: Arc<Mutex<ChatServerState>>,
    stop: CancellationToken,
}

/// Returns the server's routes.
pub fn routes(book: Arc<Mutex<ChatServerState>>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat_completions))
        .route("/v1/responses", post(create_response))
        .route("/v1/models", get(list_models))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(ServerContext { state: book, stop })
}

impl ServerContext {
    fn state(&self) -> MutexGuard<'_, ChatServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn chat_completions(State(server): State<ServerContext>, headers: HeaderMap, body: Bytes) -> Response {
    let received = parse_request(&headers, &body);
    let streamed = received.json["stream"] == true;
    let counting = if received.json["stream_options"]["include_usage"] == true {
        UsageReport::Requested
    } else {
        UsageReport::NotRequested
    };
    let decision = server.state().decide(received);
    let (reply, meta) = match decision {
        Decision::Refuse(refusal) => return error_response(&refusal),
        Decision::Reply(reply, meta) => (reply, meta),
    };
    if let Some((WaitPoint::Head, gate)) = &reply.wait_at {
        server.stop.run_until_cancelled(gate.pass()).await;
    }
    if let Some(ReplyFault::Refuse(refusal)) = &reply.fault {
        return error_response(refusal);
    }
    if reply.fault == Some(ReplyFault::Html) {
        return html_page();
    }
    if streamed && meta.style != Style::Plain {
        event_stream(&reply, &stream(&reply, &meta, counting), server.stop)
    } else {
        Json(completion(&reply, &meta)).into_response()
    }
}

async fn create_response(State(server): State<ServerContext>, headers: HeaderMap, body: Bytes) -> Response {
    if server.state().style() != Style::OpenAiCurrent {
        return StatusCode::NOT_FOUND.into_response();
    }
    let received = ChatRequest { api: Api::Responses, ..parse_request(&headers, &body) };
    let streamed = received.json["stream"] == true;
    let decision = server.state().decide(received);
    let (reply, meta) = match decision {
        Decision::Refuse(refused) => return error_response(&refused),
        Decision::Reply(reply, meta) => (reply, meta),
    };
    if let Some((WaitPoint::Head, gate)) = &reply.wait_at {
        server.stop.run_until_cancelled(gate.pass()).await;
    }
    match &reply.fault {
        Some(ReplyFault::Refuse(refused)) => error_response(refused),
        Some(ReplyFault::Html) => html_page(),
        _ if streamed => event_stream(&reply, &responses::stream(&reply, &meta), server.stop),
        _ => Json(responses::response(&reply, &meta)).into_response(),
    }
}

async fn list_models(State(server): State<ServerContext>, headers: HeaderMap) -> Response {
    let refusal = server.state().check_key(&parse_request(&headers, b""));
    match refusal {
        Some(refused) => error_response(&refused),
        None => {
            let model = json!({"id": "played", "object": "model", "created": 0, "owned_by": "testkit"});
            Json(json!({"object": "list", "data": [model]})).into_response()
        }
    }
}

fn parse_request(headers: &HeaderMap, body: &[u8]) -> ChatRequest {
    let authorization = headers.get("authorization");
    ChatRequest {
        api: Api::Chat,
        authorization: authorization.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn error_response(refusal: &ErrorReply) -> Response {
    let kind = refusal.kind.as_str();
    let code = match kind {
        "insufficient_quota" | "invalid_api_key" | "model_not_found" | "invalid_encrypted_content" => {
            json!(kind)
        }
        _ => Value::Null,
    };
    let about_effort = refusal.message.contains("reasoning_effort");
    let param = if about_effort { json!("reasoning_effort") } else { Value::Null };
    let error = json!({"message": refusal.message, "type": kind, "param": param, "code": code});
    http_responses::error_response(refusal, json!({ "error": error }))
}
