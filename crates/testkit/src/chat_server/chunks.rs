//! Encodes a reply as the chunks of a stream, or as one completion, in the dialect of a style.

use domain::conversation::Usage;
use serde_json::{Value, json};

use super::Style;
use crate::play::frames::Written;
use crate::play::{Act, Piece, split};

/// Metadata of an answer.
#[derive(Clone, Debug)]
pub struct Title {
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
pub enum Counting {
    Wanted,
    NotWanted,
}

/// Encodes `reply` as a stream.
pub fn written(act: &Act, title: &Title, counting: Counting) -> Written {
    let mut events: Vec<_> = chunks(act, title, counting).iter().map(encoded).collect();
    if title.style != Style::Sloppy {
        events.push(b"data: [DONE]\n\n".to_vec());
    }
    Written { events, error, bad_json: b"data: {\"id\": \"chatcm\n\n" }
}

/// Encodes `reply` as one completion.
pub fn completion(act: &Act, title: &Title) -> Value {
    let calls: Vec<_> = calls(act, title).map(|(id, call)| with_id(id, call)).collect();
    let text: String = act.pieces.iter().filter_map(words).collect();
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({"role": "assistant", "content": content});
    let reasoning = thoughts(act);
    if !reasoning.is_empty() {
        message["reasoning"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": reason(act, title.style)});
    let mut whole = head(title, "chat.completion");
    whole["choices"] = json!([choice]);
    whole["usage"] = usage(title.usage);
    whole
}

/// Returns the tokens that `reply` produces.
pub fn output_tokens(act: &Act) -> u64 {
    let bytes: usize = act.pieces.iter().map(|piece| format!("{piece:?}").len()).sum();
    bytes.div_ceil(4) as u64
}

fn chunks(act: &Act, title: &Title, counting: Counting) -> Vec<Value> {
    let first = json!({"role": "assistant", "content": ""});
    let mut deltas = vec![first];
    let mut calls = 0;
    for (at, piece) in act.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) | Piece::Note(text) => {
                deltas.extend(split(text).into_iter().map(|part| said(title.style, &part)))
            }
            Piece::Thinking { thinking, .. } => {
                deltas.extend(split(thinking).into_iter().map(|part| thought(title.style, &part)));
            }
            Piece::Call { name, input } => {
                deltas
                    .extend(called(title.style, &Called { id: call_id(title, at), at: calls, name, input }));
                calls += 1;
            }
            Piece::Raw(delta) => deltas.push(delta.clone()),
            Piece::Search { .. } | Piece::Cited { .. } => {}
        }
    }
    let mut chunks: Vec<_> = deltas.into_iter().map(|delta| chunk(title, &delta, &Value::Null)).collect();
    let mut last = chunk(title, &json!({}), &reason(act, title.style));
    match (title.style, counting) {
        (Style::LlamaCpp | Style::Sloppy, _) => {
            last["usage"] = usage(title.usage);
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
            | Style::Current,
            Counting::Wanted,
        ) => {
            let mut count = head(title, "chat.completion.chunk");
            count["choices"] = json!([]);
            count["usage"] = usage(title.usage);
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
            | Style::Current,
            Counting::NotWanted,
        ) => chunks.push(last),
    }
    chunks
}

fn said(style: Style, part: &str) -> Value {
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
        | Style::Current => {
            json!({"content": part})
        }
    }
}

fn thought(style: Style, part: &str) -> Value {
    match style {
        Style::LlamaCpp | Style::DeepSeek => json!({"reasoning_content": part}),
        Style::OpenRouter => {
            let detail = json!({"type": "reasoning.text", "index": 0, "format": "unknown", "text": part});
            json!({"content": "", "reasoning": part, "reasoning_details": [detail]})
        }
        Style::Gemini => json!({"content": ""}),
        Style::Sloppy => json!({"thinking": part, "content": null}),
        Style::OpenAi | Style::Ollama | Style::Plain | Style::NoTools | Style::Vllm | Style::Current => {
            json!({"content": "", "reasoning": part})
        }
    }
}

struct Called<'a> {
    id: String,
    at: usize,
    name: &'a str,
    input: &'a str,
}

fn called(style: Style, call: &Called<'_>) -> Vec<Value> {
    let Called { id, at, name, input } = call;
    let delta = |call: Value| json!({ "tool_calls": [call] });
    let piece = |part: &str| delta(json!({"index": at, "function": {"arguments": part}}));
    match style {
        Style::Ollama => {
            vec![delta(
                json!({"index": 0, "type": "function", "function": {"name": name, "arguments": input}}),
            )]
        }
        Style::Sloppy => sloppily(call),
        // Gemini sends a call whole, and signs only the first one.
        Style::Gemini => {
            let function = json!({"name": name, "arguments": input});
            let mut call = json!({"index": at, "id": id, "type": "function", "function": function});
            if *at == 0 {
                call["extra_content"] = super::dialect::signature(id);
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
        | Style::Current => {
            let function = json!({"name": name, "arguments": ""});
            let first = delta(json!({"index": at, "id": id, "type": "function", "function": function}));
            std::iter::once(first).chain(split(input).iter().map(|part| piece(part))).collect()
        }
    }
}

/// Sends every other call as an object and without an index, the rest in pieces that repeat a name
/// and the same id for all calls.
fn sloppily(call: &Called<'_>) -> Vec<Value> {
    let Called { at, name, input, .. } = call;
    let object: Option<Value> = serde_json::from_str(input).ok();
    if let (1, Some(object)) = (at % 2, object) {
        let call = json!({"id": format!("call_{at}"), "function": {"name": name, "arguments": object}});
        return vec![json!({ "tool_calls": [call] })];
    }
    let piece = |part: String| {
        let function = json!({"name": name, "arguments": part});
        json!({"tool_calls": [{"index": at, "id": "call_0", "function": function}]})
    };
    std::iter::once(String::new()).chain(split(input)).map(piece).collect()
}

fn calls<'a>(act: &'a Act, title: &'a Title) -> impl Iterator<Item = (String, Value)> + 'a {
    act.pieces.iter().enumerate().filter_map(|(at, piece)| match piece {
        Piece::Call { name, input } => {
            Some((call_id(title, at), json!({"function": {"name": name, "arguments": input}})))
        }
        Piece::Text(_)
        | Piece::Note(_)
        | Piece::Thinking { .. }
        | Piece::Raw(_)
        | Piece::Search { .. }
        | Piece::Cited { .. } => None,
    })
}

fn with_id(id: String, mut call: Value) -> Value {
    call["id"] = json!(id);
    call["type"] = json!("function");
    call
}

fn words(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Text(text) | Piece::Note(text) => Some(text),
        Piece::Thinking { .. }
        | Piece::Call { .. }
        | Piece::Raw(_)
        | Piece::Search { .. }
        | Piece::Cited { .. } => None,
    }
}

pub fn thoughts(act: &Act) -> String {
    let thoughts = act.pieces.iter().filter_map(|piece| match piece {
        Piece::Thinking { thinking, .. } => Some(thinking.as_str()),
        Piece::Text(_)
        | Piece::Note(_)
        | Piece::Call { .. }
        | Piece::Raw(_)
        | Piece::Search { .. }
        | Piece::Cited { .. } => None,
    });
    thoughts.collect()
}

/// Returns the stop reason; the text `null` means a JSON null.
fn reason(act: &Act, style: Style) -> Value {
    match (&act.stop, style) {
        (Some(reason), _) if reason == "null" => Value::Null,
        (Some(reason), _) => json!(reason),
        (None, Style::LlamaCpp) => json!("stop"),
        (None, _) => {
            json!(if act.wants_tools() { "tool_calls" } else { "stop" })
        }
    }
}

fn chunk(title: &Title, delta: &Value, reason: &Value) -> Value {
    let mut chunk = head(title, "chat.completion.chunk");
    chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
    chunk["usage"] = Value::Null;
    chunk
}

fn head(title: &Title, object: &str) -> Value {
    let id = format!("chatcmpl-{:06}", title.serial);
    json!({"id": id, "object": object, "created": 0, "model": title.model})
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

pub fn call_id(title: &Title, at: usize) -> String {
    format!("call_{:06}_{at}", title.serial)
}

pub fn encoded(chunk: &Value) -> Vec<u8> {
    format!("data: {chunk}\n\n").into_bytes()
}

pub fn error(kind: &str) -> Vec<u8> {
    let error = json!({"message": "it broke on our side", "type": kind, "param": null, "code": null});
    encoded(&json!({ "error": error }))
}
