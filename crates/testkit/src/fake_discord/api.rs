//! Requests and responses of the REST API, independent of HTTP.

use std::time::Duration;

use serde_json::Value;

/// A request to the REST API.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with its query, with or without `/api/v10`, or an absolute URL.
    pub path: String,
    /// The `Authorization` header as it was sent.
    pub token: Option<String>,
    pub body: Body,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Empty,
    Json(Value),
    /// JSON and files.
    Multipart {
        /// `payload_json`.
        payload: Value,
        /// `files[n]`, by name.
        files: Vec<(String, Vec<u8>)>,
    },
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedReply {
    /// The delay before the caller gets the reply.
    pub delay: Duration,
    pub reply: ApiReply,
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiReply {
    Response(ApiResponse),
    /// The connection broke. The caller cannot know whether the request was carried out.
    Lost,
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResponse {
    pub status: u16,
    /// The headers, including the content type.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl DelayedReply {
    /// Waits for the delay, in the time of the runtime, and returns the reply.
    pub async fn wait(self) -> ApiReply {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.reply
    }

    /// Returns the response, if there is one, without waiting.
    pub fn response(&self) -> Option<&ApiResponse> {
        match &self.reply {
            ApiReply::Response(answer) => Some(answer),
            ApiReply::Lost => None,
        }
    }
}

impl ApiResponse {
    /// Returns the same response with another status.
    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Returns the body as JSON; null if it is not valid JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Returns a header; names are case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        let matches = |(given, _): &&(String, String)| given.eq_ignore_ascii_case(name);
        self.headers.iter().find(matches).map(|(_, value)| value.as_str())
    }
}

impl ApiRequest {
    /// Creates a request without a body.
    pub fn get(path: &str, token: &str) -> Self {
        Self::new("GET", path, token, Body::Empty)
    }

    /// Creates a request with a JSON body.
    pub fn json(method: &str, path: &str, token: &str, body: Value) -> Self {
        Self::new(method, path, token, Body::Json(body))
    }

    /// Creates a request of the bot with `token`.
    pub fn new(method: &str, path: &str, token: &str, body: Body) -> Self {
        Self { method: method.into(), path: path.into(), token: Some(format!("Bot {token}")), body }
    }
}

impl Body {
    /// Returns the JSON of the body; null if there is none.
    pub(super) fn payload(&self) -> &Value {
        match self {
            Self::Empty => &Value::Null,
            Self::Json(value) | Self::Multipart { payload: value, .. } => value,
        }
    }

    /// Returns the files of the body.
    pub(super) fn files(&self) -> &[(String, Vec<u8>)] {
        match self {
            Self::Empty | Self::Json(_) => &[],
            Self::Multipart { files, .. } => files,
        }
    }
}
