//! The rules of servers that want their reasoning back, with their own error texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Style;
use super::chunks::{Title, thoughts};
use crate::play::{Act, Piece, Refused};

/// The reasoning that a server wrote.
#[derive(Debug, Default)]
pub struct Issued {
    /// Reasoning texts of chat completions.
    pub texts: BTreeSet<String>,
    /// Output items of the Responses API by their ids, and the id of the reasoning before each.
    pub items: BTreeMap<String, (Value, Option<String>)>,
}

/// Whether servers of this style always think.
pub fn thinks(style: Style) -> bool {
    matches!(style, Style::DeepSeek | Style::OpenRouter)
}

/// Adds thinking to an act that has none.
pub fn add_thinking(act: &mut Act, serial: usize) {
    if !act.pieces.iter().any(|piece| matches!(piece, Piece::Thinking { .. })) {
        let thinking = format!("Thoughts of answer {serial}.");
        act.pieces.insert(0, Piece::Thinking { thinking, signature: String::new() });
    }
}

/// Records the reasoning of `act`.
pub fn issue(act: &Act, title: &Title, issued: &mut Issued) {
    if thinks(title.style) {
        issued.texts.insert(thoughts(act));
    }
}

/// Gemini's signature of the call `id`.
pub fn signature(id: &str) -> Value {
    json!({ "google": { "thought_signature": format!("signed-{id}") } })
}

/// Says what is wrong with the reasoning in `request`.
pub fn check(request: &Value, style: Style, issued: &Issued) -> Result<(), Refused> {
    let refused = |message: String| Refused {
        status: 400,
        kind: "invalid_request_error".to_owned(),
        message,
        retry_after: None,
    };
    let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let model = request["model"].as_str().unwrap_or_default();
    if style == Style::Current && request["tools"].is_array() && request["reasoning_effort"] != "none" {
        return Err(refused(format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use \
             function tools, use /v1/responses or set reasoning_effort to 'none'."
        )));
    }
    for (at, message) in messages.iter().enumerate() {
        let Some(calls) = message["tool_calls"].as_array() else { continue };
        let is_own = |text: &Value| text.as_str().is_some_and(|text| issued.texts.contains(text));
        match style {
            Style::DeepSeek if !is_own(&message["reasoning_content"]) => {
                return Err(refused(
                    "The reasoning_content in the thinking mode must be passed back to the API.".to_owned(),
                ));
            }
            Style::Gemini => {
                let first = &calls[0];
                let id = first["id"].as_str().unwrap_or_default();
                let given = &first["extra_content"]["google"]["thought_signature"];
                if given != "skip_thought_signature_validator" && first["extra_content"] != signature(id) {
                    let name = first["function"]["name"].as_str().unwrap_or_default();
                    return Err(refused(format!(
                        "Function call is missing a thought_signature in functionCall parts. This is required for \
                         tools to work correctly. Additional data, function call `default_api:{name}`, position {at}."
                    )));
                }
            }
            Style::OpenRouter if !message["reasoning_details"].is_null() => {
                let details = message["reasoning_details"].as_array().map_or(&[][..], Vec::as_slice);
                if details.len() != 1 || !is_own(&details[0]["text"]) {
                    return Err(refused(format!("messages[{at}].reasoning_details: not as they were sent")));
                }
            }
            Style::DeepSeek
            | Style::OpenRouter
            | Style::OpenAi
            | Style::Ollama
            | Style::LlamaCpp
            | Style::Sloppy
            | Style::Plain
            | Style::NoTools
            | Style::Current => {}
        }
    }
    Ok(())
}
