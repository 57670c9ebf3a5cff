//! The default answer of a server without a script: repeats the user's text, and calls tools on
//! demand.

use serde_json::Value;

use super::prompt::{Spoken, list, spoken};
use super::search;
use crate::play::Act;

/// Answers `request`: `call NAME {input}` calls a tool, any other text is echoed.
pub fn echo(request: &Value) -> Act {
    let messages = spoken(request);
    let Some(last) = messages.iter().rfind(|message| message.role != "system") else {
        return Act::says("nobody said anything.");
    };
    if let Some(result) = last.blocks.iter().rfind(|block| block["type"] == "tool_result") {
        return Act::says(&format!("the tool said: {}", text(&result["content"])));
    }
    let words = words(last);
    if search::offered(request) {
        return Act::searches_for(&words);
    }
    match wanted(request, &words) {
        Some((name, input)) => Act::calls(name, &input),
        None => Act::says(&format!("you said: {words}")),
    }
}

fn words(message: &Spoken) -> String {
    message.blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default().to_owned()
}

fn text(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// Parses an instruction to call a tool. A preamble may precede it, so it is searched for anywhere
/// in the text.
fn wanted<'a>(request: &'a Value, words: &str) -> Option<(&'a str, Value)> {
    let (_, order) = words.split_once("call ")?;
    let (name, input) = order.split_once(' ').unwrap_or((order, "{}"));
    let mut names = list(&request["tools"]).iter().filter_map(|tool| tool["name"].as_str());
    let name = names.find(|tool| *tool == name.trim())?;
    let input: Value = serde_json::from_str(input.trim()).ok()?;
    input.is_object().then_some((name, input))
}
