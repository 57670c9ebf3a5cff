//! The rules of servers that require their reasoning back, with their own error texts.
//!
//! Sources of the rules:
//! - DeepSeek: its guide on the thinking mode. After a turn with tool calls, every assistant message of that turn has to
//!   come back with its `reasoning_content`. Seen in earendil-works/pi#3743 and NousResearch/hermes-agent#15353: the last
//!   message of the turn counts too, and an empty text stands for the reasoning of another model. The text for a missing
//!   field is that of decolua/9router#355.
//! - Gemini: its guide on thought signatures.
//! - OpenRouter and vLLM accept a tool loop without reasoning, and the model answers worse. To make
//!   that visible in a test, this server refuses it with an error text of its own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Style;
use super::chunks::{CompletionMeta, call_id, thinking};
use crate::scripted_replies::{ErrorReply, ReplyPiece, ScriptedReply};

/// The reasoning that a server issued.
#[derive(Debug, Default)]
pub struct IssuedReasoning {
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

impl IssuedReasoning {
    /// Returns the reasoning of the reply that `message` repeats, if `model` wrote it.
    fn find_reasoning(&self, message: &Value, model: &str) -> Option<&str> {
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
pub fn always_thinks(style: Style) -> bool {
    matches!(style, Style::DeepSeek | Style::OpenRouter | Style::Vllm)
}

/// Adds thinking to an act that has none.
pub fn add_thinking(reply: &mut ScriptedReply, serial: usize) {
    if !reply.pieces.iter().any(|piece| matches!(piece, ReplyPiece::Thinking { .. })) {
        let thinking = format!("Thoughts of answer {serial}.");
        reply.pieces.insert(0, ReplyPiece::Thinking { thinking, signature: String::new() });
    }
}

/// Records the reasoning of `scripted`.
pub fn record_reasoning(scripted: &ScriptedReply, meta: &CompletionMeta, issued: &mut IssuedReasoning) {
    if !always_thinks(meta.style) {
        return;
    }
    let mut reply = IssuedReply {
        model: meta.model.clone(),
        calls: Vec::new(),
        text: String::new(),
        reasoning: thinking(scripted),
    };
    for (at, piece) in scripted.pieces.iter().enumerate() {
        match piece {
            ReplyPiece::Text(text) | ReplyPiece::Note(text) => reply.text.push_str(text),
            ReplyPiece::Call { .. } => reply.calls.push(call_id(meta, at)),
            ReplyPiece::Thinking { .. }
            | ReplyPiece::Raw(_)
            | ReplyPiece::Search { .. }
            | ReplyPiece::Citation { .. } => {}
        }
    }
    issued.replies.push(reply);
}

/// Returns Gemini's signature of the call `id`.
pub fn signature(id: &str) -> Value {
    json!({ "google": { "thought_signature": format!("signed-{id}") } })
}

/// Checks the reasoning in `request`.
pub fn check(request: &Value, style: Style, issued: &IssuedReasoning) -> Result<(), ErrorReply> {
    let model = request["model"].as_str().unwrap_or_default();
    if style == Style::OpenAiCurrent && request["tools"].is_array() && request["reasoning_effort"] != "none" {
        return Err(invalid_request(format!(
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
            check_message(message, at, style, issued.find_reasoning(message, model))
                .map_err(invalid_request)?;
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
            Some(returned) if returned != reasoning.unwrap_or_default() => {
                Err("The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned())
            }
            Some(_) => Ok(()),
        },
        Style::Gemini => check_signature(message, at),
        Style::OpenRouter | Style::Vllm => {
            let returned = if style == Style::Vllm {
                &message["reasoning"]
            } else {
                &message["reasoning_details"][0]["text"]
            };
            if returned.as_str() == reasoning {
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
        | Style::OpenAiCurrent => Ok(()),
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

fn invalid_request(message: String) -> ErrorReply {
    ErrorReply { status: 400, kind: "invalid_request_error".to_owned(), message, retry_after: None }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
