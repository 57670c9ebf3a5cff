//! What the server says when nobody told it what to say: the human's words, and calls on demand.

use serde_json::Value;

use super::prompt::{Spoken, list, spoken};
use super::search;
use crate::play::Act;

/// The answer to `request`: `call NAME {input}` calls a tool, everything else comes back.
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

/// A preface may stand before the words, so the order is looked for anywhere in them.
fn wanted<'a>(request: &'a Value, words: &str) -> Option<(&'a str, Value)> {
    let (_, order) = words.split_once("call ")?;
    let (name, input) = order.split_once(' ').unwrap_or((order, "{}"));
    let mut names = list(&request["tools"]).iter().filter_map(|tool| tool["name"].as_str());
    let name = names.find(|tool| *tool == name.trim())?;
    let input: Value = serde_json::from_str(input.trim()).ok()?;
    input.is_object().then_some((name, input))
}
