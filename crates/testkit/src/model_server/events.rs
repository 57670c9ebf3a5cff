//! Encodes a reply as the events of a stream, or as one message.

use domain::conversation::Usage;
use serde_json::{Value, json};

use crate::scripted_replies::stream::EncodedStream;
use crate::scripted_replies::{ReplyPiece, ScriptedReply, split_into_deltas};

/// Metadata of an answer.
#[derive(Clone, Debug)]
pub struct MessageMeta {
    pub serial: usize,
    /// The requested model.
    pub model: String,
    /// The charged usage.
    pub usage: Usage,
    /// The value of `input_transformations`, if the request enabled the report.
    pub transformations: Option<Vec<Value>>,
    /// The value of `usage.server_tool_use`, if the request had such a tool.
    pub server_tool_use: Option<Value>,
}

/// Encodes `reply` as a stream.
pub fn stream(reply: &ScriptedReply, meta: &MessageMeta) -> EncodedStream {
    let bad_json = b"event: content_block_delta\ndata: {\"type\": \"content_blo\n\n";
    EncodedStream {
        events: stream_events(reply, meta).iter().map(encode_event).collect(),
        error: error_event,
        bad_json,
    }
}

fn stream_events(reply: &ScriptedReply, meta: &MessageMeta) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": message_start(meta)})];
    for (index, piece) in reply.pieces.iter().enumerate() {
        let (start, deltas) = block_events(piece, &call_id(meta, index));
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.insert(events.len().min(2), json!({"type": "ping"}));
    let mut used = json!({"output_tokens": meta.usage.output});
    if let Some(tools) = &meta.server_tool_use {
        used["server_tool_use"] = tools.clone();
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null, "stop_details": reply.stop_details()},
        "usage": used,
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

/// Encodes `reply` as one message.
pub fn message(reply: &ScriptedReply, meta: &MessageMeta) -> Value {
    let content =
        reply.pieces.iter().enumerate().map(|(index, piece)| complete_block(piece, &call_id(meta, index)));
    let mut message = message_start(meta);
    message["content"] = content.collect();
    message["stop_reason"] = stop_reason(reply).into();
    message["stop_details"] = json!(reply.stop_details());
    message["usage"] = usage(meta, meta.usage.output);
    if let Some(used) = &meta.server_tool_use {
        message["usage"]["server_tool_use"] = used.clone();
    }
    message
}

/// Returns the tokens that `reply` produces.
pub fn output_tokens(reply: &ScriptedReply) -> u64 {
    let bytes: usize = reply.pieces.iter().map(|piece| complete_block(piece, "").to_string().len()).sum();
    bytes.div_ceil(4) as u64
}

fn message_start(meta: &MessageMeta) -> Value {
    let mut message = json!({
        "id": format!("msg_{:06}", meta.serial),
        "type": "message",
        "role": "assistant",
        "model": meta.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
        "usage": usage(meta, 1),
    });
    if let Some(transformations) = &meta.transformations {
        message["input_transformations"] = json!(transformations);
    }
    message
}

fn usage(meta: &MessageMeta, output: u64) -> Value {
    let usage = meta.usage;
    json!({
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

fn call_id(meta: &MessageMeta, index: usize) -> String {
    format!("toolu_{:06}_{index}", meta.serial)
}

/// Returns the block at `index` of a reply, as in the complete message.
pub fn block_at(piece: &ReplyPiece, meta: &MessageMeta, index: usize) -> Value {
    complete_block(piece, &call_id(meta, index))
}

fn block_events(piece: &ReplyPiece, id: &str) -> (Value, Vec<Value>) {
    match piece {
        ReplyPiece::Text(text) | ReplyPiece::Note(text) => {
            let deltas =
                split_into_deltas(text).into_iter().map(|part| json!({"type": "text_delta", "text": part}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        ReplyPiece::Thinking { thinking, signature } => {
            let mut deltas: Vec<_> = split_into_deltas(thinking)
                .into_iter()
                .map(|part| json!({"type": "thinking_delta", "thinking": part}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        ReplyPiece::Call { name, input } => {
            let parts = std::iter::once(String::new()).chain(split_into_deltas(input));
            let deltas = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
        ReplyPiece::Raw(block) => (block.clone(), Vec::new()),
        ReplyPiece::Search { .. } | ReplyPiece::Citation { .. } => {
            (json!({"type": "text", "text": ""}), Vec::new())
        }
    }
}

fn complete_block(piece: &ReplyPiece, id: &str) -> Value {
    match piece {
        ReplyPiece::Text(text) | ReplyPiece::Note(text) => json!({"type": "text", "text": text}),
        ReplyPiece::Thinking { thinking, signature } => {
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }
        ReplyPiece::Call { name, input } => {
            let input: Value = serde_json::from_str(input).unwrap_or_default();
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        ReplyPiece::Raw(block) => block.clone(),
        // These were expanded earlier; see `search::expand_searches`.
        ReplyPiece::Search { .. } | ReplyPiece::Citation { .. } => json!({"type": "text", "text": ""}),
    }
}

/// Returns the stop reason of `reply`.
fn stop_reason(reply: &ScriptedReply) -> &str {
    match &reply.stop {
        Some(reason) => reason,
        None if reply.calls_tools() => "tool_use",
        None => "end_turn",
    }
}

fn encode_event(event: &Value) -> Vec<u8> {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n").into_bytes()
}

fn error_event(kind: &str) -> Vec<u8> {
    encode_event(&json!({"type": "error", "error": {"type": kind, "message": "it broke on our side"}}))
}
