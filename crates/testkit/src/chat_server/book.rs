//! The server's state: the script, the received requests, and the charged usage.

use std::io::Write;

use domain::conversation::Usage;
use serde_json::{Value, json};

use super::cache::Cache;
use super::chunks::{Title, output_tokens};
use super::dialect::{self, Issued};
use super::{Options, Style, echo, responses, rules};
use crate::play::programme::Programme;
use crate::play::{Act, Fault, Refused};

/// The API that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
}

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    pub path: Api,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    pub body: String,
    /// The body as JSON; null if it is not valid JSON.
    pub json: Value,
}

/// The reaction to a request.
#[derive(Debug)]
pub enum Decision {
    Play(Act, Title),
    Refuse(Refused),
}

/// The whole state of a server.
pub struct Book {
    pub programme: Programme,
    pub received: Vec<Received>,
    pub usage: Vec<Usage>,
    /// The reasoning that was issued, so that a modified one is refused.
    pub issued: Issued,
    cache: Cache,
    key: Option<String>,
    style: Style,
    /// The file of `--record`.
    record: Option<std::fs::File>,
}

impl Book {
    pub fn new(options: Options, record: Option<std::fs::File>) -> Self {
        Self {
            programme: Programme::default(),
            received: Vec::new(),
            usage: Vec::new(),
            issued: Issued::default(),
            cache: Cache::default(),
            key: options.key,
            style: options.style,
            record,
        }
    }

    /// Records a request and decides how to react.
    pub fn decide(&mut self, received: Received) -> Decision {
        let is_response = received.path == Api::Responses;
        let rules = match received.path {
            Api::Chat => rules::check(&received.json, self.style),
            Api::Responses => responses::check(&received.json, &self.issued),
        };
        let dialect = || match received.path {
            Api::Chat => dialect::check(&received.json, self.style, &self.issued).err(),
            Api::Responses => None,
        };
        let wrong = self.stranger(&received).or_else(|| rules.err()).or_else(dialect);
        let request = received.json.clone();
        self.write(&received, wrong.as_ref());
        self.received.push(received);
        if let Some(refused) = wrong {
            return Decision::Refuse(refused);
        }
        let echo = if is_response { responses::echo } else { echo::echo };
        match self.programme.next(&request, echo) {
            Act { fault: Some(Fault::Refuse(refused)), hold: None, .. } => Decision::Refuse(refused),
            mut act => {
                if is_response || dialect::thinks(self.style) {
                    dialect::add_thinking(&mut act, self.received.len());
                }
                let usage = self.charge(&request, &act);
                let model = request["model"].as_str().unwrap_or_default().to_owned();
                let title = Title { serial: self.received.len(), model, usage, style: self.style };
                if is_response {
                    responses::issue(&act, &title, &mut self.issued)
                } else {
                    dialect::issue(&act, &title, &mut self.issued)
                }
                Decision::Play(act, title)
            }
        }
    }

    /// Writes a request to the file of `--record`, with the refusal if one of the server's rules
    /// refused it.
    fn write(&mut self, received: &Received, refused: Option<&Refused>) {
        let Some(file) = &mut self.record else { return };
        let path = match received.path {
            Api::Chat => "/v1/chat/completions",
            Api::Responses => "/v1/responses",
        };
        let line = json!({
            "path": path,
            "body": received.json,
            "status": refused.map_or(200, |refused| refused.status),
            "refusal": refused.map(|refused| &refused.message),
        });
        // A failed write (such as a full disk) fails the test that reads the file.
        let _ = writeln!(file, "{line}");
    }

    pub fn style(&self) -> Style {
        self.style
    }

    /// Returns the refusal if `received` does not carry the expected key.
    pub fn stranger(&self, received: &Received) -> Option<Refused> {
        let expected = self.key.as_ref().map(|key| format!("Bearer {key}"));
        let known = expected.is_none() || expected == received.authorization;
        let message = match &received.authorization {
            Some(_) => "Incorrect API key provided.",
            None => "You didn't provide an API key.",
        };
        (!known).then(|| Refused {
            status: 401,
            kind: "invalid_api_key".to_owned(),
            message: message.to_owned(),
            retry_after: None,
        })
    }

    fn charge(&mut self, request: &Value, act: &Act) -> Usage {
        let (total, read) = self.cache.charge(request);
        let usage = Usage {
            input: total - read,
            cache_read: read,
            cache_write: 0,
            cache_write_1h: 0,
            output: output_tokens(act),
        };
        let usage = act.charge.as_deref().copied().unwrap_or(usage);
        self.usage.push(usage);
        usage
    }
}
