//! The server's state: the script, the received requests, and the charged usage.

use std::io::Write;

use domain::conversation::Usage;
use serde_json::{Value, json};

use super::cache::PrefixCache;
use super::chunks::{CompletionMeta, output_tokens};
use super::reasoning_rules::{self, IssuedReasoning};
use super::{Options, Style, echo, responses, rules};
use crate::scripted_replies::reply_queue::ReplyQueue;
use crate::scripted_replies::{ErrorReply, ReplyFault, ScriptedReply};

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
pub struct ChatRequest {
    pub api: Api,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    pub body: String,
    /// The body as JSON; null if it is not valid JSON.
    pub json: Value,
}

/// The reaction to a request.
#[derive(Debug)]
pub enum Decision {
    Reply(ScriptedReply, CompletionMeta),
    Refuse(ErrorReply),
}

/// The whole state of a server.
pub struct ChatServerState {
    pub replies: ReplyQueue,
    pub received: Vec<ChatRequest>,
    pub usage: Vec<Usage>,
    /// The reasoning that was issued, so that a modified one is refused.
    pub issued: IssuedReasoning,
    cache: PrefixCache,
    key: Option<String>,
    style: Style,
    /// The file of `--record`.
    record: Option<std::fs::File>,
}

impl ChatServerState {
    pub fn new(options: Options, record: Option<std::fs::File>) -> Self {
        Self {
            replies: ReplyQueue::default(),
            received: Vec::new(),
            usage: Vec::new(),
            issued: IssuedReasoning::default(),
            cache: PrefixCache::default(),
            key: options.key,
            style: options.style,
            record,
        }
    }

    /// Records a request and decides how to react.
    pub fn decide(&mut self, chat_request: ChatRequest) -> Decision {
        let is_response = chat_request.api == Api::Responses;
        let rules = match chat_request.api {
            Api::Chat => rules::check(&chat_request.json, self.style),
            Api::Responses => responses::check(&chat_request.json, &self.issued),
        };
        let dialect = || match chat_request.api {
            Api::Chat => reasoning_rules::check(&chat_request.json, self.style, &self.issued).err(),
            Api::Responses => None,
        };
        let refusal = self.check_key(&chat_request).or_else(|| rules.err()).or_else(dialect);
        let body = chat_request.json.clone();
        self.record_request(&chat_request, refusal.as_ref());
        self.received.push(chat_request);
        if let Some(refused) = refusal {
            return Decision::Refuse(refused);
        }
        let echo = if is_response { responses::echo } else { echo::echo };
        match self.replies.next(&body, echo) {
            ScriptedReply { fault: Some(ReplyFault::Refuse(refused)), wait_at: None, .. } => {
                Decision::Refuse(refused)
            }
            mut reply => {
                if is_response || reasoning_rules::always_thinks(self.style) {
                    reasoning_rules::add_thinking(&mut reply, self.received.len());
                }
                let usage = self.charge(&body, &reply);
                let model = body["model"].as_str().unwrap_or_default().to_owned();
                let meta = CompletionMeta { serial: self.received.len(), model, usage, style: self.style };
                if is_response {
                    responses::record_items(&reply, &meta, &mut self.issued)
                } else {
                    reasoning_rules::record_reasoning(&reply, &meta, &mut self.issued)
                }
                Decision::Reply(reply, meta)
            }
        }
    }

    /// Writes a request to the file of `--record`, with the refusal if one of the server's rules
    /// refused it.
    fn record_request(&mut self, received: &ChatRequest, refusal: Option<&ErrorReply>) {
        let Some(file) = &mut self.record else { return };
        let path = match received.api {
            Api::Chat => "/v1/chat/completions",
            Api::Responses => "/v1/responses",
        };
        let line = json!({
            "path": path,
            "body": received.json,
            "status": refusal.map_or(200, |refusal| refusal.status),
            "refusal": refusal.map(|refusal| &refusal.message),
        });
        // A failed write (such as a full disk) fails the test that reads the file.
        let _ = writeln!(file, "{line}");
    }

    pub fn style(&self) -> Style {
        self.style
    }

    /// Returns the refusal if `received` does not carry the expected key.
    pub fn check_key(&self, received: &ChatRequest) -> Option<ErrorReply> {
        let expected = self.key.as_ref().map(|key| format!("Bearer {key}"));
        let authorized = expected.is_none() || expected == received.authorization;
        let message = match &received.authorization {
            Some(_) => "Incorrect API key provided.",
            None => "You didn't provide an API key.",
        };
        (!authorized).then(|| ErrorReply {
            status: 401,
            kind: "invalid_api_key".to_owned(),
            message: message.to_owned(),
            retry_after: None,
        })
    }

    fn charge(&mut self, request: &Value, reply: &ScriptedReply) -> Usage {
        let (total, read) = self.cache.charge(request);
        let usage = Usage {
            input: total - read,
            cache_read: read,
            cache_write: 0,
            cache_write_1h: 0,
            output: output_tokens(reply),
        };
        let usage = reply.charge.as_deref().copied().unwrap_or(usage);
        self.usage.push(usage);
        usage
    }
}
