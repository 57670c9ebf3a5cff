//! The door for other programs: a webhook is called, and what it brought is on disk before the caller hears so.
//!
//! Nothing here decides what follows. A call is known by its proof, read within its limits, held against the schema of
//! its file, and handed over as a value.

mod body;
mod door;
mod mac;
mod proof;
pub mod schema;
mod taking;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use axum::http::HeaderName;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::schedule::WebhookSpec;
use engine::desk::Desk;
use engine::ports::Clock;
use serde_json::{Value, json};

pub use body::{Wrong, brought, checked};
pub use door::{HookDoor, bind, serve};
pub use mac::hmac_sha256;
pub use proof::{Called, can_prove, sign};

pub use crate::attempts::{Attempts, BAD_A_MINUTE};

/// The code for a body that is too long.
pub const TOO_LARGE: StatusCode = StatusCode::PAYLOAD_TOO_LARGE;

/// What the door knows of webhooks. Both are looked up at every call.
pub trait Hooks: Send + Sync {
    /// The webhook of this name, if there is one that can be used.
    fn find(&self, id: &str) -> Option<WebhookSpec>;

    /// What whoever calls it must know; nothing, if nobody is let in.
    fn secret(&self, id: &str) -> Option<String>;
}

/// What the door needs from the rest.
#[derive(Clone)]
pub struct Ports {
    /// How the assistant is reached.
    pub desk: Desk,
    /// The webhooks.
    pub hooks: Arc<dyn Hooks>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The header in which a proxy of the human tells who calls, if there is one.
    pub address_header: Option<HeaderName>,
}

/// Answers a call that came from `address` in another way than through the door.
pub async fn answer(
    ports: &Ports,
    attempts: &Attempts,
    address: IpAddr,
    call: Request<impl taking::Brings>,
) -> Reply {
    let (head, body) = call.into_parts();
    taking::Taking { ports, attempts, peer: &taking::Somebody(address) }.take(&head, body).await
}

/// How much is borne from whoever connects.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that have not shown the secret.
    pub strangers: usize,
    /// Connections that have.
    pub known: usize,
    /// How long a connection without the secret may be silent before another one takes its place.
    pub grace: Duration,
    /// The time to send all of a call.
    pub call: Duration,
}

impl Limits {
    /// F4: what the house allows.
    pub const HOUSE: Self =
        Self { strangers: 64, known: 64, grace: Duration::from_secs(1), call: Duration::from_secs(10) };
}

/// What a caller hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is on disk, and the run follows.
    Accepted,
    /// It was on disk before.
    Repeat,
    /// GitHub asked whether somebody is here.
    Pong,
    /// No, and why.
    Refused(StatusCode, Value),
}

impl Reply {
    /// No, because of this.
    pub fn no(status: StatusCode, why: impl fmt::Display) -> Self {
        Self::Refused(status, json!({ "error": why.to_string() }))
    }

    /// WH-3: whoever calls does not know the secret.
    pub fn unauthorized() -> Self {
        Self::no(StatusCode::UNAUTHORIZED, "unauthorized")
    }

    /// The code.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Accepted | Self::Repeat => StatusCode::ACCEPTED,
            Self::Pong => StatusCode::OK,
            Self::Refused(status, _) => *status,
        }
    }

    /// What the caller reads.
    pub fn told(&self) -> Value {
        match self {
            Self::Accepted => json!({ "status": "accepted" }),
            Self::Repeat => json!({ "status": "accepted", "repeat": true }),
            Self::Pong => json!({ "status": "pong" }),
            Self::Refused(_, body) => body.clone(),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.told().to_string()).into_response();
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
