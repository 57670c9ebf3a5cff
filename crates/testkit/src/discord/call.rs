//! Requests and answers, without the wire between them.

use std::time::Duration;

use serde_json::Value;

/// A request to the REST API.
#[derive(Clone, Debug)]
pub struct Call {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with its query, with or without `/api/v10`, or a whole address.
    pub path: String,
    /// The `Authorization` header as it was sent.
    pub token: Option<String>,
    /// What was sent.
    pub body: Body,
}

/// What a request carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Value),
    /// JSON and files.
    Multipart {
        /// `payload_json`.
        payload: Value,
        /// `files[n]`, by name.
        files: Vec<(String, Vec<u8>)>,
    },
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How long the caller has to wait for it.
    pub delay: Duration,
    /// What comes then.
    pub reply: Reply,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An answer.
    Answered(Answer),
    /// The connection broke. Whether the request was carried out, the caller cannot know.
    Lost,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, the content type among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Outcome {
    /// Waits as long as it takes, in the time of the runtime.
    pub async fn arrives(self) -> Reply {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        self.reply
    }

    /// The answer, if there is one, without waiting.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.reply {
            Reply::Answered(answer) => Some(answer),
            Reply::Lost => None,
        }
    }
}

impl Answer {
    /// The same answer with another status.
    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// A header, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let same = |(given, _): &&(String, String)| given.eq_ignore_ascii_case(name);
        self.headers.iter().find(same).map(|(_, value)| value.as_str())
    }
}

impl Call {
    /// A request without a body.
    pub fn get(path: &str, token: &str) -> Self {
        Self::new("GET", path, token, Body::Empty)
    }

    /// A request with JSON.
    pub fn json(method: &str, path: &str, token: &str, body: Value) -> Self {
        Self::new(method, path, token, Body::Json(body))
    }

    /// Any request of the bot with `token`.
    pub fn new(method: &str, path: &str, token: &str, body: Body) -> Self {
        Self { method: method.into(), path: path.into(), token: Some(format!("Bot {token}")), body }
    }
}

impl Body {
    /// The JSON in it; null if there is none.
    pub(super) fn payload(&self) -> &Value {
        match self {
            Self::Empty => &Value::Null,
            Self::Json(value) | Self::Multipart { payload: value, .. } => value,
        }
    }

    /// The files in it.
    pub(super) fn files(&self) -> &[(String, Vec<u8>)] {
        match self {
            Self::Empty | Self::Json(_) => &[],
            Self::Multipart { files, .. } => files,
        }
    }
}
