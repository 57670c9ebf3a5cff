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

use super::events::{message, stream};
use super::state::{Decision, MessagesRequest, ModelServerState, RefusalResponse};
use crate::scripted_replies::http_responses::{self, event_stream, html_page};
use crate::scripted_replies::{ErrorReply, ReplyFault, WaitPoint};

/// The maximum size of a request, equal to the vendor's limit.
const MAX_REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// The prefix of the user agent of the vendor's own program, whose beta headers are not published.
const CLAUDE_CODE_USER_AGENT: &str = "claude-cli/";

#[derive(Clone)]
struct ServerContext {
    state: Arc<Mutex<ModelServerState>>,
    stop: CancellationToken,
}

impl ServerContext {
    fn state(&self) -> MutexGuard<'_, ModelServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the server's routes.
pub fn routes(book: Arc<Mutex<ModelServerState>>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/messages", post(create_message))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/models", get(list_models))
        .route("/v1/models/{id}", get(get_model))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .with_state(ServerContext { state: book, stop })
}

async fn create_message(State(server): State<ServerContext>, headers: HeaderMap, body: Bytes) -> Response {
    let received = parse_request(&headers, &body);
    let streamed = received.json["stream"] == true;
    let decision = server.state().decide(received);
    let (reply, meta) = match decision {
        Decision::Refuse(refusal) => return error_response(&refusal),
        Decision::Reply(reply, meta) => (reply, meta),
    };
    if let Some((WaitPoint::Head, gate)) = &reply.wait_at {
        server.stop.run_until_cancelled(gate.pass()).await;
    }
    if let Some(ReplyFault::Refuse(refused)) = &reply.fault {
        let refused = refused.clone();
        let error_code = reply.error_code();
        return error_response(&RefusalResponse { refusal: refused, error_code, serial: meta.serial });
    }
    if reply.fault == Some(ReplyFault::Html) {
        return html_page();
    }
    if streamed {
        with_request_id(event_stream(&reply, &stream(&reply, &meta), server.stop), meta.serial)
    } else {
        with_request_id(Json(message(&reply, &meta)), meta.serial)
    }
}

async fn count_tokens(State(server): State<ServerContext>, headers: HeaderMap, body: Bytes) -> Response {
    let counted = server.state().count_tokens(&parse_request(&headers, &body));
    json_response(counted.map(|tokens| json!({"input_tokens": tokens})))
}

async fn list_models(
    State(server): State<ServerContext>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    json_response(server.state().models(None, &query, &parse_request(&headers, b"")))
}

async fn get_model(
    State(server): State<ServerContext>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    json_response(server.state().models(Some(&id), &[], &parse_request(&headers, b"")))
}

fn json_response(result: Result<Value, ErrorReply>) -> Response {
    match result {
        Ok(body) => with_request_id(Json(body), 0),
        Err(refusal) => error_response(&RefusalResponse { refusal, error_code: None, serial: 0 }),
    }
}

fn parse_request(headers: &HeaderMap, body: &[u8]) -> MessagesRequest {
    let header =
        |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    // The vendor's own clients have moved from one header to the other; the vendor accepts both.
    let bearer = || Some(header("authorization")?.strip_prefix("Bearer ")?.to_owned());
    let given = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let mut betas: Vec<String> =
        given.flat_map(|value| value.split(',')).map(|beta| beta.trim().to_owned()).collect();
    if header("user-agent").is_some_and(|agent| agent.starts_with(CLAUDE_CODE_USER_AGENT)) {
        betas.retain(|beta| super::betas::is_known(beta));
    }
    MessagesRequest {
        key: header("x-api-key").or_else(bearer),
        version: header("anthropic-version"),
        betas,
        body: String::from_utf8_lossy(body).into_owned(),
        json: serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn error_response(refusal: &RefusalResponse) -> Response {
    let refused = &refusal.refusal;
    let mut error = json!({"type": refused.kind, "message": refused.message});
    if let Some(code) = &refusal.error_code {
        error["details"] = json!({ "error_code": code });
    }
    let body = json!({"type": "error", "error": error, "request_id": request_id(refusal.serial)});
    with_request_id(http_responses::error_response(refused, body), refusal.serial)
}

fn with_request_id(response: impl IntoResponse, serial: usize) -> Response {
    ([("request-id", request_id(serial))], response).into_response()
}

fn request_id(serial: usize) -> String {
    format!("req_{serial:06}")
}
