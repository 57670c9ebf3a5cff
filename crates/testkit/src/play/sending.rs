//! HTTP responses of the scripted servers.

use std::collections::VecDeque;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::act::{Act, Refused};
use super::frames::{Frame, Written, frames};

/// Returns a response that streams `written` with the waits and faults of `reply`.
pub fn event_stream(act: &Act, written: &Written, stop: CancellationToken) -> Response {
    let frames = VecDeque::from(frames(act, written));
    let body = stream::unfold((frames, stop), |(mut frames, stop)| async move {
        let sent = next_bytes(&mut frames, &stop).await?;
        Some((sent, (frames, stop)))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    (kind, Body::from_stream(body)).into_response()
}

/// Returns an error response with `body`.
pub fn refusal(refused: &Refused, body: Value) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match refused.retry_after.clone() {
        Some(seconds) => (status, [(header::RETRY_AFTER, seconds)], Json(body)).into_response(),
        None => (status, Json(body)).into_response(),
    }
}

/// Returns an HTML page.
pub fn html() -> Response {
    let page = "<!doctype html><title>Sign in</title><p>Please sign in to the network.";
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
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
                // Yields, so that the connection can flush what was sent before.
                tokio::task::yield_now().await;
                return Some(Err(std::io::Error::other("cut by the script")));
            }
        }
    }
}
