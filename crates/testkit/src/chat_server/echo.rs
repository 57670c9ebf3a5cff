//! The default answer of a server without a script: repeats the user's text, and calls tools on
//! demand.

use serde_json::Value;

use crate::scripted_replies::ScriptedReply;

/// Answers `request`: `call NAME {input}` calls a tool, any other text is echoed.
pub fn echo(request: &Value) -> ScriptedReply {
    let Some(last) = request["messages"].as_array().and_then(|messages| messages.last()) else {
        return ScriptedReply::text("nobody said anything.");
    };
    let words = last_text(&last["content"]);
    if last["role"] == "tool" {
        return ScriptedReply::text(&format!("the tool said: {words}"));
    }
    match requested_call(request, &words) {
        Some((name, input)) => ScriptedReply::tool_call(&name, &input),
        None => ScriptedReply::text(&format!("you said: {words}")),
    }
}

fn last_text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let last = parts.filter_map(|part| part["text"].as_str()).next_back();
    content.as_str().or(last).unwrap_or_default().to_owned()
}

/// Parses an instruction to call a tool. A preamble may precede it, so it is searched for anywhere
/// in the text.
fn requested_call(request: &Value, words: &str) -> Option<(String, Value)> {
    let (_, instruction) = words.split_once("call ")?;
    let (name, input) = instruction.split_once(' ').unwrap_or((instruction, "{}"));
    let tools = request["tools"].as_array()?;
    let known = tools.iter().any(|tool| tool["function"]["name"] == name.trim());
    let input: Value = serde_json::from_str(input.trim()).ok()?;
    (known && input.is_object()).then(|| (name.trim().to_owned(), input))
}
