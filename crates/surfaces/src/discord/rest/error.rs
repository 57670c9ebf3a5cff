//! Errors of requests, by how to handle them.

use serde_json::Value;

use crate::discord::transport::{Auth, HttpRequest, HttpResponse, Method, TransportError};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscordError {
    /// The user must provide another token.
    #[error("Discord does not accept the token; make a new one on the Bot page of discord.com/developers")]
    InvalidToken,
    /// The user must permit it. 50007 and 50278: no messages accepted; 50001: no access to the
    /// channel.
    #[error("Discord does not allow it: {message} ({code})")]
    Forbidden {
        /// Discord's error code.
        code: u64,
        /// Discord's error message.
        message: String,
    },
    /// The target no longer exists. 10003 channel, 10008 message, 10062 interaction, 10015
    /// interaction token.
    #[error("Discord no longer has it ({code})")]
    NotFound {
        /// Discord's error code.
        code: u64,
    },
    /// The request is invalid and would fail again.
    #[error("Discord refuses it: {message} ({code})")]
    Rejected {
        /// Discord's error code.
        code: u64,
        /// Discord's error message.
        message: String,
    },
    /// It was not executed and can be retried.
    #[error("{0}")]
    Unavailable(String),
    /// It may have been executed; the caller must check before retrying.
    #[error("it is not known whether Discord did it: {0}")]
    OutcomeUnknown(String),
}

/// Returns the response if it is successful.
pub fn check_status(call: &HttpRequest, answer: HttpResponse) -> Result<HttpResponse, DiscordError> {
    let (code, message) = error_details(&answer);
    match answer.status {
        200..=299 => Ok(answer),
        401 if call.auth == Auth::Bot => Err(DiscordError::InvalidToken),
        // A proxy in front of Discord sends no JSON, and may accept the request later.
        status @ 400..=499 if !is_json(&answer) => {
            Err(unavailable_or_unknown(call.method, format!("something before Discord answered {status}")))
        }
        403 => Err(DiscordError::Forbidden { code, message }),
        401 | 404 | 410 => Err(DiscordError::NotFound { code }),
        // Only this status says that nothing was executed.
        503 => Err(DiscordError::Unavailable("Discord is busy (503)".to_owned())),
        status @ 500..=599 => Err(unavailable_or_unknown(call.method, format!("Discord answered {status}"))),
        _ => Err(DiscordError::Rejected { code, message }),
    }
}

fn is_json(answer: &HttpResponse) -> bool {
    serde_json::from_slice::<Value>(&answer.body).is_ok()
}

/// Converts a failure without a response.
pub fn from_transport(method: Method, broken: TransportError) -> DiscordError {
    match broken {
        TransportError::NotSent(_) => DiscordError::Unavailable(broken.to_string()),
        TransportError::MaybeSent(_) => unavailable_or_unknown(method, broken.to_string()),
    }
}

/// Reports a successful response with an invalid body.
pub fn invalid_body(method: Method, why: &str) -> DiscordError {
    unavailable_or_unknown(method, format!("its answer cannot be read: {why}"))
}

/// Only a POST creates something, so only a POST must not be repeated.
fn unavailable_or_unknown(method: Method, why: String) -> DiscordError {
    match method {
        Method::Post => DiscordError::OutcomeUnknown(why),
        Method::Get | Method::Put | Method::Patch | Method::Delete => DiscordError::Unavailable(why),
    }
}

fn error_details(answer: &HttpResponse) -> (u64, String) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut message = body["message"].as_str().unwrap_or("it gives no reason").to_owned();
    if let Some(errors) = body.get("errors") {
        message = format!("{message} {errors}");
    }
    (body["code"].as_u64().unwrap_or_default(), message.chars().take(500).collect())
}
