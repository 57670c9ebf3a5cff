//! Encodes a reply as the chunks of a stream, or as one completion, in the dialect of a style.

use domain::conversation::Usage;
use serde_json::{Value, json};

use super::Style;
use crate::scripted_replies::stream::EncodedStream;
use crate::scripted_replies::{ReplyPiece, ScriptedReply, split_into_deltas};

/// Metadata of an answer.
#[derive(Clone, Debug)]
pub struct CompletionMeta {
    /// The number of the request.
    pub serial: usize,
    /// The requested model.
    pub model: String,
    /// The charged usage.
    pub usage: Usage,
    pub style: Style,
}

/// Selects if a stream reports its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageReport {
    Requested,
    NotRequested,
}

/// Encodes `reply` as a stream.
pub fn stream(reply: &ScriptedReply, meta: &CompletionMeta, counting: UsageReport) -> EncodedStream {
    let mut events: Vec<_> = chunks(reply, meta, counting).iter().map(encode_event).collect();
    if meta.style != Style::Sloppy {
        events.push(b"data: [DONE]\n\n".to_vec());
    }
    EncodedStream { events, error: error_event, bad_json: b"data: {\"id\": \"chatcm\n\n" }
}

/// Encodes `reply` as one completion.
pub fn completion(reply: &ScriptedReply, meta: &CompletionMeta) -> Value {
    let calls: Vec<_> = tool_calls(reply, meta).map(|(id, call)| with_id(id, call)).collect();
    let text: String = reply.pieces.iter().filter_map(text).collect();
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content});
    let reasoning = thinking(reply);
    if !reasoning.is_empty() {
        message["reasoning"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": stop_reason(reply, meta.style)});
    let mut whole = envelope(meta, "chat.completion");
    whole["choices"] = json!([choice]);
    whole["usage"] = usage(meta.usage);
    whole
}

/// Returns the tokens that `reply` produces.
pub fn output_tokens(reply: &ScriptedReply) -> u64 {
    let bytes: usize = reply.pieces.iter().map(|piece| format!("{piece:?}").len()).sum();
    bytes.div_ceil(4) as u64
}

fn chunks(reply: &ScriptedReply, meta: &CompletionMeta, counting: UsageReport) -> Vec<Value> {
    let first = json!({"role": "assistant", "content": ""});
    let mut deltas = vec![first];
    let mut calls = 0;
    for (at, piece) in reply.pieces.iter().enumerate() {
        match piece {
            ReplyPiece::Text(text) | ReplyPiece::Note(text) => {
                deltas.extend(split_into_deltas(text).into_iter().map(|part| text_delta(meta.style, &part)))
            }
            ReplyPiece::Thinking { thinking, .. } => {
                deltas.extend(
                    split_into_deltas(thinking).into_iter().map(|part| thinking_delta(meta.style, &part)),
                );
            }
            ReplyPiece::Call { name, input } => {
                deltas.extend(tool_call_deltas(
                    meta.style,
                    &ToolCallPart { id: call_id(meta, at), index: calls, name, input },
                ));
                calls += 1;
            }
            ReplyPiece::Raw(delta) => deltas.push(delta.clone()),
            ReplyPiece::Search { .. } | ReplyPiece::Citation { .. } => {}
        }
    }
    let mut chunks: Vec<_> =
        deltas.into_iter().map(|delta| delta_chunk(meta, &delta, &Value::Null)).collect();
    let mut last = delta_chunk(meta, &json!({}), &stop_reason(reply, meta.style));
    match (meta.style, counting) {
        (Style::LlamaCpp | Style::Sloppy, _) => {
            last["usage"] = usage(meta.usage);
            chunks.push(last);
        }
        (
            Style::OpenAi
            | Style::Plain
            | Style::NoTools
            | Style::DeepSeek
            | Style::Gemini
            | Style::OpenRouter
            | Style::Vllm
            | Style::OpenAiCurrent,
            UsageReport::Requested,
        ) => {
            let mut count = envelope(meta, "chat.completion.chunk");
            count["choices"] = json!([]);
            count["usage"] = usage(meta.usage);
            chunks.extend([last, count]);
        }
        (Style::Ollama, _)
        | (
            Style::OpenAi
            | Style::Plain
            | Style::NoTools
            | Style::DeepSeek
            | Style::Gemini
            | Style::OpenRouter
            | Style::Vllm
            | Style::OpenAiCurrent,
            UsageReport::NotRequested,
        ) => chunks.push(last),
    }
    chunks
}

fn text_delta(style: Style, part: &str) -> Value {
    match style {
        Style::Sloppy => json!({"content": [{"type": "text", "text": part}]}),
        Style::OpenAi
        | Style::Ollama
        | Style::LlamaCpp
        | Style::Plain
        | Style::NoTools
        | Style::DeepSeek
        | Style::Gemini
        | Style::OpenRouter
        | Style::Vllm
        | Style::OpenAiCurrent => {
            json!({"content": part})
        }
    }
}

fn thinking_delta(style: Style, part: &str) -> Value {
    match style {
        Style::LlamaCpp | Style::DeepSeek => json!({"reasoning_content": part}),
        Style::OpenRouter => {
            let detail = json!({"type": "reasoning.text", "index": 0, "format": "unknown", "text": part});
            json!({"content": "", "reasoning": part, "reasoning_details": [detail]})
        }
        Style::Gemini => json!({"content": ""}),
        Style::Sloppy => json!({"thinking": part, "content": null}),
        Style::OpenAi
        | Style::Ollama
        | Style::Plain
        | Style::NoTools
        | Style::Vllm
        | Style::OpenAiCurrent => {
            json!({"content": "", "reasoning": part})
        }
    }
}

struct ToolCallPart<'a> {
    id: String,
    index: usize,
    name: &'a str,
    input: &'a str,
}

fn tool_call_deltas(style: Style, call: &ToolCallPart<'_>) -> Vec<Value> {
    let ToolCallPart { id, index: at, name, input } = call;
    let delta = |call: Value| json!({ "tool_calls": [call] });
    let piece = |part: &str| delta(json!({"index": at, "function": {"arguments": part}}));
    match style {
        Style::Ollama => {
            vec![delta(
                json!({"index": 0, "type": "function", "function": {"name": name, "arguments": input}}),
            )]
        }
        Style::Sloppy => sloppy_tool_call_deltas(call),
        // Gemini sends a call whole, and signs only the first one.
        Style::Gemini => {
            let function = json!({"name": name, "arguments": input});
            let mut call = json!({"index": at, "id": id, "type": "function", "function": function});
            if *at == 0 {
                call["extra_content"] = super::reasoning_rules::signature(id);
            }
            vec![delta(call)]
        }
        Style::OpenAi
        | Style::LlamaCpp
        | Style::Plain
        | Style::NoTools
        | Style::DeepSeek
        | Style::OpenRouter
        | Style::Vllm
        | Style::OpenAiCurrent => {
            let function = json!({"name": name, "arguments": ""});
            let first = delta(json!({"index": at, "id": id, "type": "function", "function": function}));
            std::iter::once(first).chain(split_into_deltas(input).iter().map(|part| piece(part))).collect()
        }
    }
}

/// Sends every other call as an object and without an index, the rest in pieces that repeat a name
/// and the same id for all calls.
fn sloppy_tool_call_deltas(call: &ToolCallPart<'_>) -> Vec<Value> {
    let ToolCallPart { index: at, name, input, .. } = call;
    let object: Option<Value> = serde_json::from_str(input).ok();
    if let (1, Some(object)) = (at % 2, object) {
        let call = json!({"id": format!("call_{at}"), "function": {"name": name, "arguments": object}});
        return vec![json!({ "tool_calls": [call] })];
    }
    let piece = |part: String| {
        let function = json!({"name": name, "arguments": part});
        json!({"tool_calls": [{"index": at, "id": "call_0", "function": function}]})
    };
    std::iter::once(String::new()).chain(split_into_deltas(input)).map(piece).collect()
}

fn tool_calls<'a>(
    reply: &'a ScriptedReply,
    meta: &'a CompletionMeta,
) -> impl Iterator<Item = (String, Value)> + 'a {
    reply.pieces.iter().enumerate().filter_map(|(at, piece)| match piece {
        ReplyPiece::Call { name, input } => {
            Some((call_id(meta, at), json!({"function": {"name": name, "arguments": input}})))
        }
        ReplyPiece::Text(_)
        | ReplyPiece::Note(_)
        | ReplyPiece::Thinking { .. }
        | ReplyPiece::Raw(_)
        | ReplyPiece::Search { .. }
        | ReplyPiece::Citation { .. } => None,
    })
}

fn with_id(id: String, mut call: Value) -> Value {
    call["id"] = json!(id);
    call["type"] = json!("function");
    call
}

fn text(piece: &ReplyPiece) -> Option<&str> {
    match piece {
        ReplyPiece::Text(text) | ReplyPiece::Note(text) => Some(text),
        ReplyPiece::Thinking { .. }
        | ReplyPiece::Call { .. }
        | ReplyPiece::Raw(_)
        | ReplyPiece::Search { .. }
        | ReplyPiece::Citation { .. } => None,
    }
}

pub fn thinking(reply: &ScriptedReply) -> String {
    let parts = reply.pieces.iter().filter_map(|piece| match piece {
        ReplyPiece::Thinking { thinking, .. } => Some(thinking.as_str()),
        ReplyPiece::Text(_)
        | ReplyPiece::Note(_)
        | ReplyPiece::Call { .. }
        | ReplyPiece::Raw(_)
        | ReplyPiece::Search { .. }
        | ReplyPiece::Citation { .. } => None,
    });
    parts.collect()
}

/// Returns the stop reason; the text `null` means a JSON null.
fn stop_reason(reply: &ScriptedReply, style: Style) -> Value {
    match (&reply.stop, style) {
        (Some(reason), _) if reason == "null" => Value::Null,
        (Some(reason), _) => json!(reason),
        (None, Style::LlamaCpp) => json!("stop"),
        (None, _) => {
            json!(if reply.calls_tools() { "tool_calls" } else { "stop" })
        }
    }
}

fn delta_chunk(meta: &CompletionMeta, delta: &Value, reason: &Value) -> Value {
    let mut chunk = envelope(meta, "chat.completion.chunk");
    chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
    chunk["usage"] = Value::Null;
    chunk
}

fn envelope(meta: &CompletionMeta, object: &str) -> Value {
    let id = format!("chatcmpl-{:06}", meta.serial);
    json!({"id": id, "object": object, "created": 0, "model": meta.model})
}

fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

pub fn call_id(meta: &CompletionMeta, at: usize) -> String {
    format!("call_{:06}_{at}", meta.serial)
}

pub fn encode_event(chunk: &Value) -> Vec<u8> {
    format!("data: {chunk}\n\n").into_bytes()
}

pub fn error_event(kind: &str) -> Vec<u8> {
    let error = json!({"message": "it broke on our side", "type": kind, "param": null, "code": null});
    encode_event(&json!({ "error": error }))
}
