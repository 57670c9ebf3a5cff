//! Server-specific reasoning fields of chat completions.
//!
//! DeepSeek writes `reasoning_content`, vLLM `reasoning`, OpenRouter `reasoning_details`, Gemini
//! signatures in the `extra_content` of each tool call. They are stored as one opaque part of the
//! reply and sent back under the same names to the same server and model. DeepSeek requires the
//! reasoning of every message of a turn with tool calls, including the last one, and otherwise
//! refuses the conversation from then on.

use domain::conversation::Block;
use serde_json::{Map, Value, json};

use super::profile::ReasoningReplay;
use super::protocol::Delta;
use crate::assembly::json_bytes;

/// The most bytes of reasoning that are stored for one reply.
const MAX_REASONING_BYTES: usize = 1024 * 1024;

/// The field of an opaque part that holds the `extra_content` of calls by their ids.
const CALLS_FIELD: &str = "calls";

/// The signature that Gemini accepts for calls that it did not write.
const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// The reasoning fields of an incomplete reply.
#[derive(Debug, Default)]
pub struct PartialReasoning {
    content: String,
    text: String,
    details: Vec<Value>,
    extra: Value,
    /// The bytes received.
    byte_count: usize,
}

impl PartialReasoning {
    /// Returns the number of bytes received.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Adds the fields of one delta.
    pub fn add_delta(&mut self, delta: &Delta<'_>) {
        let fields =
            [&delta.reasoning_content, &delta.reasoning, &delta.reasoning_details, &delta.extra_content];
        self.byte_count += fields.into_iter().map(json_bytes).sum::<usize>();
        append_text(&mut self.content, &delta.reasoning_content);
        append_text(&mut self.text, &delta.reasoning);
        for detail in delta.reasoning_details.as_array().into_iter().flatten() {
            self.add_detail(detail);
        }
        if !delta.extra_content.is_null() {
            self.extra = delta.extra_content.clone();
        }
    }

    /// Adds one detail. A stream sends a detail in fragments with the same type and index.
    fn add_detail(&mut self, detail: &Value) {
        let last = self.details.last_mut().filter(|last| {
            !detail["index"].is_null() && last["index"] == detail["index"] && last["type"] == detail["type"]
        });
        let (Some(Value::Object(last)), Value::Object(piece)) = (last, detail) else {
            return self.details.push(detail.clone());
        };
        for (name, value) in piece {
            match (last.get_mut(name), value) {
                (Some(Value::String(text)), Value::String(more))
                    if ["text", "summary", "data"].contains(&name.as_str()) =>
                {
                    text.push_str(more);
                }
                (Some(_), Value::Null) => {}
                _ => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// Returns the opaque part of the reply. Plain reasoning text is stored only if the reply
    /// belongs to a turn with tool calls: no server needs it otherwise.
    pub fn into_json(self, used_tools: bool, extras: Map<String, Value>) -> Option<String> {
        let mut fields = Map::new();
        let mut keep = |name: &str, text: String| {
            if used_tools && !text.is_empty() {
                fields.insert(name.to_owned(), Value::String(text));
            }
        };
        keep("reasoning_content", self.content);
        // The details contain the same text.
        if self.details.is_empty() {
            keep("reasoning", self.text);
        } else {
            fields.insert("reasoning_details".to_owned(), Value::Array(self.details));
        }
        if self.extra.is_object() {
            fields.insert("extra_content".to_owned(), self.extra);
        }
        if !extras.is_empty() {
            fields.insert(CALLS_FIELD.to_owned(), Value::Object(extras));
        }
        let json = Value::Object(fields.clone()).to_string();
        (!fields.is_empty() && json.len() <= MAX_REASONING_BYTES).then_some(json)
    }
}

fn append_text(text: &mut String, more: &Value) {
    if let Some(more) = more.as_str() {
        text.push_str(more);
    }
}

/// The reasoning fields of one reply, in the form in which they are sent back.
#[derive(Debug, Default)]
pub struct ReplayedFields {
    /// Fields of the assistant message.
    pub fields: Map<String, Value>,
    calls: Map<String, Value>,
}

impl ReplayedFields {
    /// Returns the `extra_content` of the call `id`, or Gemini's placeholder if there is none and
    /// `placeholder` is set.
    pub fn call_extra(&mut self, id: &str, placeholder: bool) -> Option<Value> {
        let signature = || json!({ "google": { "thought_signature": PLACEHOLDER_SIGNATURE } });
        self.calls.remove(id).or_else(|| placeholder.then(signature))
    }
}

/// Returns the reasoning fields of the reply `blocks` for the server and model of `origin`.
pub fn replayed_fields(blocks: &[Block], origin: &str, replay: ReasoningReplay) -> ReplayedFields {
    if replay == ReasoningReplay::Withheld {
        return ReplayedFields::default();
    }
    let own = blocks.iter().find_map(|block| match block {
        Block::Opaque(opaque) if opaque.origin == origin => Some(&opaque.json.0),
        Block::Opaque(_) | Block::Text(_) | Block::Call(_) => None,
    });
    let mut fields: Map<String, Value> =
        own.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let calls = match fields.remove(CALLS_FIELD) {
        Some(Value::Object(calls)) => calls,
        Some(_) | None => Map::new(),
    };
    if replay == ReasoningReplay::OrEmpty && !fields.contains_key("reasoning_content") {
        fields.insert("reasoning_content".to_owned(), Value::String(String::new()));
    }
    ReplayedFields { fields, calls }
}
