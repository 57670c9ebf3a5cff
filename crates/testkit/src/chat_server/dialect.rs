//! The rules of servers that require their reasoning back, with their own error texts.
//!
//! Sources of the rules:
//! - DeepSeek: its guide on the thinking mode. After a turn with tool calls, every assistant message of that turn has to
//!   come back with its `reasoning_content`. Seen in earendil-works/pi#3743 and NousResearch/hermes-agent#15353: the last
//!   message of the turn counts too, and an empty text stands for the reasoning of another model. The text for a missing
//!   field is that of decolua/9router#355.
//! - Gemini: its guide on thought signatures.
//! - OpenRouter and vLLM accept a tool loop without reasoning, and the model answers worse. To make
//! that visible in a test, this server refuses it with an error text of its own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Style;
use super::chunks::{Title, call_id, thoughts};
use crate::play::{Act, Piece, Refused};

/// The reasoning that a server issued.
#[derive(Debug, Default)]
pub struct Issued {
    /// Replies of chat completions.
    replies: Vec<IssuedReply>,
    /// Output items of the Responses API by their ids, and the id of the reasoning before each.
    pub items: BTreeMap<String, (Value, Option<String>)>,
}

/// A reply with reasoning.
#[derive(Debug)]
struct IssuedReply {
    model: String,
    calls: Vec<String>,
    text: String,
    reasoning: String,
}

impl Issued {
    /// Returns the reasoning of the reply that `message` repeats, if `model` wrote it.
    fn reasoning_of(&self, message: &Value, model: &str) -> Option<&str> {
        let calls: Vec<_> = list(&message["tool_calls"]).iter().map(|call| call["id"].as_str()).collect();
        let text = message["content"].as_str().unwrap_or_default();
        let reply = self.replies.iter().rev().find(|reply| {
            let same_calls = reply.calls.iter().map(|id| Some(id.as_str())).eq(calls.iter().copied());
            reply.model == model && same_calls && (!calls.is_empty() || reply.text == text)
        });
        reply.map(|reply| reply.reasoning.as_str())
    }
}

/// Returns true if servers of this style always think.
pub fn thinks(style: Style) -> bool {
    matches!(style, Style::DeepSeek | Style::OpenRouter | Style::Vllm)
}

/// Adds thinking to an act that has none.
pub fn add_thinking(act: &mut Act, serial: usize) {
    if !act.pieces.iter().any(|piece| matches!(piece, Piece::Thinking { .. })) {
        let thinking = format!("Thoughts of answer {serial}.");
        act.pieces.insert(0, Piece::Thinking { thinking, signature: String::new() });
    }
}

/// Records the reasoning of `scripted`.
pub fn issue(act: &Act, title: &Title, issued: &mut Issued) {
    if !thinks(title.style) {
        return;
    }
    let mut reply = IssuedReply {
        model: title.model.clone(),
        calls: Vec::new(),
        text: String::new(),
        reasoning: thoughts(act),
    };
    for (at, piece) in act.pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) | Piece::Note(text) => reply.text.push_str(text),
            Piece::Call { .. } => reply.calls.push(call_id(title, at)),
            Piece::Thinking { .. } | Piece::Raw(_) | Piece::Search { .. } | Piece::Cited { .. } => {}
        }
    }
    issued.replies.push(reply);
}

/// Returns Gemini's signature of the call `id`.
pub fn signature(id: &str) -> Value {
    json!({ "google": { "thought_signature": format!("signed-{id}") } })
}

/// Checks the reasoning in `request`.
pub fn check(request: &Value, style: Style, issued: &Issued) -> Result<(), Refused> {
    let model = request["model"].as_str().unwrap_or_default();
    if style == Style::Current && request["tools"].is_array() && request["reasoning_effort"] != "none" {
        return Err(refused(format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use \
             function tools, use /v1/responses or set reasoning_effort to 'none'."
        )));
    }
    // True once a message of the current turn has tool calls.
    let mut used_tools = false;
    for (at, message) in list(&request["messages"]).iter().enumerate() {
        if message["role"] == "user" {
            used_tools = false;
        }
        if message["role"] != "assistant" {
            continue;
        }
        used_tools |= message["tool_calls"].is_array();
        if used_tools {
            check_message(message, at, style, issued.reasoning_of(message, model)).map_err(refused)?;
        }
    }
    Ok(())
}

/// Checks an assistant message of a turn with tool calls. `reasoning` is the reasoning that the
/// server issued with it.
fn check_message(message: &Value, at: usize, style: Style, reasoning: Option<&str>) -> Result<(), String> {
    match style {
        Style::DeepSeek => match message["reasoning_content"].as_str() {
            None => Err(format!(
                "Missing `reasoning_content` field in the assistant message at message index {at}. For more \
                 information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
            )),
            Some(given) if given != reasoning.unwrap_or_default() => {
                Err("The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned())
            }
            Some(_) => Ok(()),
        },
        Style::Gemini => check_signature(message, at),
        Style::OpenRouter | Style::Vllm => {
            let given = if style == Style::Vllm {
                &message["reasoning"]
            } else {
                &message["reasoning_details"][0]["text"]
            };
            if given.as_str() == reasoning {
                Ok(())
            } else {
                Err(format!("messages[{at}]: the reasoning is not as it was sent"))
            }
        }
        Style::OpenAi
        | Style::Ollama
        | Style::LlamaCpp
        | Style::Sloppy
        | Style::Plain
        | Style::NoTools
        | Style::Current => Ok(()),
    }
}

fn check_signature(message: &Value, at: usize) -> Result<(), String> {
    let Some(first) = list(&message["tool_calls"]).first() else { return Ok(()) };
    let id = first["id"].as_str().unwrap_or_default();
    let given = &first["extra_content"]["google"]["thought_signature"];
    if given == "skip_thought_signature_validator" || first["extra_content"] == signature(id) {
        return Ok(());
    }
    let name = first["function"]["name"].as_str().unwrap_or_default();
    Err(format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
         correctly. Additional data, function call `default_api:{name}`, position {at}."
    ))
}

fn refused(message: String) -> Refused {
    Refused { status: 400, kind: "invalid_request_error".to_owned(), message, retry_after: None }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
