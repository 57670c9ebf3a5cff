//! Webhook endpoint: accepts calls of other programs. The payload is stored before the caller gets
//! a response.
//!
//! A call is authenticated, read within limits, validated against the schema of its file, and
//! passed to the assistant, which decides what to do with it.

mod call_handler;
mod hmac;
mod listener;
mod payload;
mod proof;
pub mod schema;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use axum::http::HeaderName;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::schedule::WebhookSpec;
use engine::handle::AssistantHandle;
use engine::ports::Clock;
use serde_json::{Value, json};

pub use hmac::hmac_sha256;
pub use listener::{WebhookListener, bind, serve};
pub use payload::{PayloadError, build_delivery, check_payload};
pub use proof::{WebhookCall, can_prove, sign};

pub use crate::attempts::{FailedAttempts, MAX_FAILURES_PER_MINUTE};

/// Status for a body that is too long.
pub const TOO_LARGE: StatusCode = StatusCode::PAYLOAD_TOO_LARGE;

/// The configured webhooks. Both methods are called for every request.
pub trait Webhooks: Send + Sync {
    /// Returns the webhook with this name, if it is usable.
    fn find(&self, id: &str) -> Option<WebhookSpec>;

    /// Returns the secret of a webhook; without one, all calls are refused.
    fn secret(&self, id: &str) -> Option<String>;
}

/// Dependencies of the webhook endpoint.
#[derive(Clone)]
pub struct WebhookPorts {
    pub assistant: AssistantHandle,
    pub webhooks: Arc<dyn Webhooks>,
    pub clock: Arc<dyn Clock>,
    /// Header in which the user's proxy passes the address of the caller.
    pub address_header: Option<HeaderName>,
}

/// Answers a call from `address` that did not arrive through the listener.
pub async fn handle_call(
    ports: &WebhookPorts,
    attempts: &FailedAttempts,
    address: IpAddr,
    call: Request<impl call_handler::CallBody>,
) -> WebhookReply {
    let (head, body) = call.into_parts();
    call_handler::CallHandler { ports, attempts, peer: &call_handler::AddressOnly(address) }
        .handle(&head, body)
        .await
}

/// Limits for connections.
#[derive(Clone, Copy, Debug)]
pub struct WebhookLimits {
    /// Connections that have not shown the secret.
    pub unproven: usize,
    /// Connections that have shown it.
    pub proven: usize,
    /// How long a connection without the secret may be silent before it can be dropped for another
    /// one.
    pub grace: Duration,
    /// Timeout for sending a whole call.
    pub call_timeout: Duration,
}

impl WebhookLimits {
    /// F4: the limits in production.
    pub const DEFAULT: Self = Self {
        unproven: 64,
        proven: 64,
        grace: Duration::from_secs(1),
        call_timeout: Duration::from_secs(10),
    };
}

/// Reply to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookReply {
    /// Stored; the run follows.
    Accepted,
    /// Stored before.
    Repeat,
    /// Reply to a ping of GitHub.
    Pong,
    Refused(StatusCode, Value),
}

impl WebhookReply {
    pub fn refuse(status: StatusCode, why: impl fmt::Display) -> Self {
        Self::Refused(status, json!({ "error": why.to_string() }))
    }

    /// WH-3: the caller does not know the secret.
    pub fn unauthorized() -> Self {
        Self::refuse(StatusCode::UNAUTHORIZED, "unauthorized")
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::Accepted | Self::Repeat => StatusCode::ACCEPTED,
            Self::Pong => StatusCode::OK,
            Self::Refused(status, _) => *status,
        }
    }

    /// Returns the response body.
    pub fn body(&self) -> Value {
        match self {
            Self::Accepted => json!({ "status": "accepted" }),
            Self::Repeat => json!({ "status": "accepted", "repeat": true }),
            Self::Pong => json!({ "status": "pong" }),
            Self::Refused(_, body) => body.clone(),
        }
    }
}

impl IntoResponse for WebhookReply {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.body().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if self.status() == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        if self.status() == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}
