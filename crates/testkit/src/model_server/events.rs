//! Encodes a reply as the events of a stream, or as one message.

use domain::conversation::Usage;
use serde_json::{Value, json};

use crate::play::frames::Written;
use crate::play::{Act, Piece, split};

/// Metadata of an answer.
#[derive(Clone, Debug)]
pub struct Title {
    pub serial: usize,
    /// The requested model.
    pub model: String,
    /// The charged usage.
    pub usage: Usage,
    /// The part of the cache write that is cached for an hour.
    pub hour_write: u64,
    /// The value of `input_transformations`, if the request enabled the report.
    pub transformations: Option<Vec<Value>>,
    /// The value of `usage.server_tool_use`, if the request had such a tool.
    pub server_tool_use: Option<Value>,
}

/// Encodes `reply` as a stream.
pub fn written(act: &Act, title: &Title) -> Written {
    let bad_json = b"event: content_block_delta\ndata: {\"type\": \"content_blo\n\n";
    Written { events: events(act, title).iter().map(encoded).collect(), error, bad_json }
}

fn events(act: &Act, title: &Title) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": start(title)})];
    for (index, piece) in act.pieces.iter().enumerate() {
        let (begun, deltas) = block(piece, &call_id(title, index));
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.insert(events.len().min(2), json!({"type": "ping"}));
    let mut used = json!({"output_tokens": title.usage.output});
    if let Some(tools) = &title.server_tool_use {
        used["server_tool_use"] = tools.clone();
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason(act), "stop_sequence": null, "stop_details": act.stop_details()},
        "usage": used,
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

/// Encodes `reply` as one message.
pub fn message(act: &Act, title: &Title) -> Value {
    let content = act.pieces.iter().enumerate().map(|(index, piece)| whole(piece, &call_id(title, index)));
    let mut message = start(title);
    message["content"] = content.collect();
    message["stop_reason"] = reason(act).into();
    message["stop_details"] = json!(act.stop_details());
    message["usage"] = usage(title, title.usage.output);
    if let Some(used) = &title.server_tool_use {
        message["usage"]["server_tool_use"] = used.clone();
    }
    message
}

/// Returns the tokens that `reply` produces.
pub fn output_tokens(act: &Act) -> u64 {
    let bytes: usize = act.pieces.iter().map(|piece| whole(piece, "").to_string().len()).sum();
    bytes.div_ceil(4) as u64
}

fn start(title: &Title) -> Value {
    let mut message = json!({
        "id": format!("msg_{:06}", title.serial),
        "type": "message",
        "role": "assistant",
        "model": title.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
        "usage": usage(title, 1),
    });
    if let Some(transformations) = &title.transformations {
        message["input_transformations"] = json!(transformations);
    }
    message
}

fn usage(title: &Title, output: u64) -> Value {
    let usage = title.usage;
    json!({
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - title.hour_write,
            "ephemeral_1h_input_tokens": title.hour_write,
        },
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write.saturating_sub(usage.cache_write_1h),
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
    })
}

fn call_id(title: &Title, index: usize) -> String {
    format!("toolu_{:06}_{index}", title.serial)
}

/// Returns the block at `index` of a reply, as in the complete message.
pub fn whole_block(piece: &Piece, title: &Title, index: usize) -> Value {
    whole(piece, &call_id(title, index))
}

fn block(piece: &Piece, id: &str) -> (Value, Vec<Value>) {
    match piece {
        Piece::Text(text) | Piece::Note(text) => {
            let deltas = split(text).into_iter().map(|part| json!({"type": "text_delta", "text": part}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Piece::Thinking { thinking, signature } => {
            let mut deltas: Vec<_> = split(thinking)
                .into_iter()
                .map(|part| json!({"type": "thinking_delta", "thinking": part}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Piece::Call { name, input } => {
            let parts = std::iter::once(String::new()).chain(split(input));
            let deltas = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
        Piece::Raw(block) => (block.clone(), Vec::new()),
        Piece::Search { .. } | Piece::Cited { .. } => (json!({"type": "text", "text": ""}), Vec::new()),
    }
}

fn whole(piece: &Piece, id: &str) -> Value {
    match piece {
        Piece::Text(text) | Piece::Note(text) => json!({"type": "text", "text": text}),
        Piece::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        Piece::Call { name, input } => {
            let input: Value = serde_json::from_str(input).unwrap_or_default();
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Piece::Raw(block) => block.clone(),
        // These were expanded earlier; see `search::expand_searches`.
        Piece::Search { .. } | Piece::Cited { .. } => json!({"type": "text", "text": ""}),
    }
}

/// Returns the stop reason of `reply`.
fn reason(act: &Act) -> &str {
    match &act.stop {
        Some(reason) => reason,
        None if act.wants_tools() => "tool_use",
        None => "end_turn",
    }
}

fn encoded(event: &Value) -> Vec<u8> {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n").into_bytes()
}

fn error(kind: &str) -> Vec<u8> {
    encoded(&json!({"type": "error", "error": {"type": kind, "message": "it broke on our side"}}))
}
