//! The default answer of a server without a script: repeats the user's text, and calls tools on
//! demand.

use serde_json::Value;

use super::prompt::{MergedMessage, list, merged_messages};
use super::search;
use crate::scripted_replies::ScriptedReply;

/// Answers `request`: `call NAME {input}` calls a tool, any other text is echoed.
pub fn echo(request: &Value) -> ScriptedReply {
    let messages = merged_messages(request);
    let Some(last) = messages.iter().rfind(|message| message.role != "system") else {
        return ScriptedReply::text("nobody said anything.");
    };
    if let Some(result) = last.blocks.iter().rfind(|block| block["type"] == "tool_result") {
        return ScriptedReply::text(&format!("the tool said: {}", text(&result["content"])));
    }
    let words = last_text(last);
    if search::is_offered(request) {
        return ScriptedReply::default_search(&words);
    }
    match requested_call(request, &words) {
        Some((name, input)) => ScriptedReply::tool_call(name, &input),
        None => ScriptedReply::text(&format!("you said: {words}")),
    }
}

fn last_text(message: &MergedMessage) -> String {
    message.blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default().to_owned()
}

fn text(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// Parses an instruction to call a tool. A preamble may precede it, so it is searched for anywhere
/// in the text.
fn requested_call<'a>(request: &'a Value, words: &str) -> Option<(&'a str, Value)> {
    let (_, instruction) = words.split_once("call ")?;
    let (name, input) = instruction.split_once(' ').unwrap_or((instruction, "{}"));
    let mut names = list(&request["tools"]).iter().filter_map(|tool| tool["name"].as_str());
    let name = names.find(|tool| *tool == name.trim())?;
    let input: Value = serde_json::from_str(input.trim()).ok()?;
    input.is_object().then_some((name, input))
}
