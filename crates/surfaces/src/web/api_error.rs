//! Error responses of the API, with a message that says what would be right.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::dto::{ErrorBody, ErrorResponse};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }

    /// The browser is not paired.
    pub fn unpaired() -> Self {
        let message = "this page isn't paired yet: run `ollim-bot open` and use the link it prints.";
        Self::new(StatusCode::UNAUTHORIZED, "unpaired", message)
    }

    pub fn too_many_connections() -> Self {
        let message = "Too many connections are open. Close other tabs, or try again in ten seconds.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "full", message)
    }

    pub fn too_many_attempts() -> Self {
        let message = "Too many failed tries in the last minute. Run `ollim-bot open` and use the link it prints: a new \
                       link works at once.";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-tries", message)
    }

    pub fn too_large(limit: usize) -> Self {
        let message =
            format!("that is too much at once: the most i take is {limit} bytes. send it in parts.");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    }

    /// The request does not have the expected form.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// The assistant refused the request.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", message)
    }

    /// Internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status;
        let body = ErrorResponse { ok: false, error: ErrorBody { kind: self.kind, message: self.message } };
        let mut response = (status, Json(body)).into_response();
        let retry_after = match status {
            StatusCode::TOO_MANY_REQUESTS => Some("60"),
            StatusCode::SERVICE_UNAVAILABLE => Some("10"),
            _ => None,
        };
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        response
    }
}
