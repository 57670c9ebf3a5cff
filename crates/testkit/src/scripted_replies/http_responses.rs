//! HTTP responses of the scripted servers.

use std::collections::VecDeque;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::reply::{ErrorReply, ScriptedReply};
use super::stream::{EncodedStream, StreamStep, stream_steps};

/// Returns a response that streams `written` with the waits and faults of `reply`.
pub fn event_stream(reply: &ScriptedReply, written: &EncodedStream, stop: CancellationToken) -> Response {
    let steps = VecDeque::from(stream_steps(reply, written));
    let body = stream::unfold((steps, stop), |(mut steps, stop)| async move {
        let sent = next_bytes(&mut steps, &stop).await?;
        Some((sent, (steps, stop)))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    (kind, Body::from_stream(body)).into_response()
}

/// Returns an error response with `body`.
pub fn error_response(refusal: &ErrorReply, body: Value) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match refusal.retry_after.clone() {
        Some(seconds) => (status, [(header::RETRY_AFTER, seconds)], Json(body)).into_response(),
        None => (status, Json(body)).into_response(),
    }
}

/// Returns an HTML page.
pub fn html_page() -> Response {
    let page = "<!doctype html><title>Sign in</title><p>Please sign in to the network.";
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

async fn next_bytes(
    steps: &mut VecDeque<StreamStep>,
    stop: &CancellationToken,
) -> Option<Result<Vec<u8>, std::io::Error>> {
    loop {
        match steps.pop_front()? {
            StreamStep::Send(bytes) => return Some(Ok(bytes)),
            StreamStep::Wait(gate) => {
                if stop.run_until_cancelled(gate.pass()).await.is_none() {
                    return Some(Err(std::io::Error::other("the server stops")));
                }
            }
            StreamStep::Break => {
                // Yields, so that the connection can flush what was sent before.
                tokio::task::yield_now().await;
                return Some(Err(std::io::Error::other("cut by the script")));
            }
        }
    }
}
