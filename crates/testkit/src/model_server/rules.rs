//! What the vendor accepts, and the words with which it refuses the rest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::prompt::{Spoken, list, parts, spoken};

/// The most marks in one request.
const MARKS: usize = 4;

/// The pictures the vendor can see.
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Says what is wrong with `request`.
pub fn check(request: &Value) -> Result<(), String> {
    check_fields(request)?;
    for (at, message) in list(&request["messages"]).iter().enumerate() {
        check_role(at, message).map_err(|wrong| format!("messages.{at}.{wrong}"))?;
        check_message(message).map_err(|wrong| format!("messages.{at}.{wrong}"))?;
    }
    check_marks(request)?;
    check_calls(&spoken(request))?;
    check_last_words(request)
}

fn check_fields(request: &Value) -> Result<(), String> {
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err("model: Field required".to_owned());
    }
    if request["max_tokens"].is_null() {
        return Err("max_tokens: Field required".to_owned());
    }
    if request["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        return Err("max_tokens: Input should be greater than or equal to 1".to_owned());
    }
    check_thinking(&request["thinking"], &request["max_tokens"])?;
    if list(&request["messages"]).is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        if tool["name"].as_str().is_none_or(str::is_empty) {
            return Err(format!("tools.{at}.custom.name: Field required"));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("tools.{at}.custom.input_schema.type: Input should be 'object'"));
        }
    }
    list(&request["system"]).iter().try_for_each(check_text)
}

fn check_thinking(thinking: &Value, max_tokens: &Value) -> Result<(), String> {
    match (thinking["type"].as_str(), thinking["budget_tokens"].as_u64()) {
        _ if thinking.is_null() => Ok(()),
        (Some("disabled" | "adaptive"), None) => Ok(()),
        (Some("enabled"), Some(budget)) if budget < 1024 => {
            Err("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned())
        }
        (Some("enabled"), Some(budget)) if max_tokens.as_u64().is_some_and(|most| most > budget) => Ok(()),
        (Some("enabled"), Some(_)) => {
            Err("`max_tokens` must be greater than `thinking.budget_tokens`".to_owned())
        }
        _ => Err("thinking: Input tag does not match any of the expected tags or is incomplete".to_owned()),
    }
}

/// The system may speak in between, as the claude program lets it; the first word is never its own.
fn check_role(at: usize, message: &Value) -> Result<(), String> {
    match message["role"].as_str().unwrap_or_default() {
        "user" | "assistant" => Ok(()),
        "system" if at > 0 => Ok(()),
        _ => Err("role: Input should be 'user' or 'assistant'".to_owned()),
    }
}

fn check_message(message: &Value) -> Result<(), String> {
    let role = message["role"].as_str().unwrap_or_default();
    match &message["content"] {
        Value::String(text) if text.trim().is_empty() => Err("content: must not be empty".to_owned()),
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() => Err("content: must not be empty".to_owned()),
        Value::Array(blocks) => blocks.iter().enumerate().try_for_each(|(at, block)| {
            check_block(role, block).map_err(|wrong| format!("content.{at}.{wrong}"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("content: Input should be a valid list".to_owned())
        }
    }
}

fn check_block(role: &str, block: &Value) -> Result<(), String> {
    let kind = block["type"].as_str().unwrap_or_default();
    match (kind, role) {
        ("text", _) => check_text(block),
        ("image", "user") => check_picture(&block["source"]),
        ("tool_result", "user") if block["tool_use_id"].is_string() => Ok(()),
        ("tool_use", "assistant") => check_call(block),
        ("thinking", "assistant") if block["signature"].as_str().is_some_and(|it| !it.is_empty()) => Ok(()),
        ("redacted_thinking", "assistant") if block["data"].is_string() => Ok(()),
        ("server_tool_use" | "web_search_tool_result", "assistant") => Ok(()),
        _ => Err(format!("{kind}: does not match any of the expected tags or is incomplete")),
    }
}

fn check_text(block: &Value) -> Result<(), String> {
    match block["text"].as_str() {
        None => Err("text: Field required".to_owned()),
        Some("") => Err("text: text content blocks must be non-empty".to_owned()),
        Some(text) if text.trim().is_empty() => {
            Err("text: text content blocks must contain non-whitespace text".to_owned())
        }
        Some(_) => Ok(()),
    }
}

fn check_picture(source: &Value) -> Result<(), String> {
    let known = source["media_type"].as_str().is_some_and(|kind| PICTURES.contains(&kind));
    let data = source["data"].as_str().unwrap_or_default();
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    if source["type"] != "base64" || !known {
        return Err("image.source.media_type: Input should be a known kind of picture".to_owned());
    }
    if data.is_empty() || !data.len().is_multiple_of(4) || !data.bytes().all(base64) {
        return Err("image.source.base64: invalid base64 data".to_owned());
    }
    Ok(())
}

fn check_call(block: &Value) -> Result<(), String> {
    let id = block["id"].as_str().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if id.is_empty() || !id.bytes().all(plain) {
        return Err("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'".to_owned());
    }
    if block["name"].as_str().is_none_or(str::is_empty) {
        return Err("tool_use.name: Field required".to_owned());
    }
    if !block["input"].is_object() {
        return Err("tool_use.input: Input should be a valid dictionary".to_owned());
    }
    Ok(())
}

fn check_marks(request: &Value) -> Result<(), String> {
    let marked: Vec<_> = parts(request).into_iter().filter(|part| part.marked).collect();
    if marked.len() > MARKS {
        let found = marked.len();
        return Err(format!(
            "A maximum of {MARKS} blocks with cache_control may be provided. Found {found}."
        ));
    }
    let thinking = |kind: &Value| kind == "thinking" || kind == "redacted_thinking";
    match marked.iter().any(|part| thinking(&part.block["type"])) {
        true => Err("cache_control cannot be set for thinking blocks".to_owned()),
        false => Ok(()),
    }
}

/// Every call is answered at once, every answer has its call, and answers come before anything else.
fn check_calls(spoken: &[Spoken]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in spoken.iter().enumerate() {
        let results = message.blocks.iter().take_while(|block| block["type"] == "tool_result");
        for result in results {
            let id = result["tool_use_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(format!(
                    "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                ));
            }
        }
        if let Some(id) = open.first() {
            return Err(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
            ));
        }
        let late = message.blocks.iter().skip_while(|block| block["type"] == "tool_result");
        if late.clone().any(|block| block["type"] == "tool_result") {
            return Err(format!("messages.{at}: `tool_result` blocks must come first"));
        }
        for call in late.filter(|block| block["type"] == "tool_use") {
            let id = call["id"].as_str().unwrap_or_default();
            if !seen.insert(id) {
                return Err("messages: `tool_use` ids must be unique".to_owned());
            }
            open.insert(id);
        }
    }
    match open.first() {
        Some(id) => Err(format!(
            "messages: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
        )),
        None => Ok(()),
    }
}

fn check_last_words(request: &Value) -> Result<(), String> {
    let messages = spoken(request);
    let Some(last) = messages.last().filter(|last| last.role == "assistant") else { return Ok(()) };
    let text = last.blocks.last().and_then(|block| block["text"].as_str()).unwrap_or_default();
    match text.ends_with(char::is_whitespace) {
        true => Err("messages: final assistant content cannot end with trailing whitespace".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(change: impl FnOnce(&mut Value)) -> String {
        let mut request = json!({
            "model": "m", "max_tokens": 1,
            "tools": [{"name": "note", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "note", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "done"},
                    {"type": "text", "text": "and?"},
                ]},
            ],
        });
        change(&mut request);
        check(&request).err().unwrap_or_default()
    }

    #[test]
    fn what_the_vendor_refuses_is_refused() {
        let check = |expected: &str, change: fn(&mut Value)| {
            let said = wrong(change);
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{expected}: {said}");
        };
        check("", |_| {});
        check("max_tokens: Field required", |it| it["max_tokens"] = Value::Null);
        check("max_tokens", |it| it["max_tokens"] = json!(0));
        check("model", |it| it["model"] = json!(""));
        check("", |it| it["thinking"] = json!({"type": "adaptive"}));
        check("thinking: Input tag", |it| it["thinking"] = json!({"type": "enabled"}));
        check("or equal to 1024", |it| it["thinking"] = json!({"type": "enabled", "budget_tokens": 9}));
        check("must be greater", |it| it["thinking"] = json!({"type": "enabled", "budget_tokens": 1024}));
        check("at least one message", |it| it["messages"] = json!([]));
        check("messages.0.role", |it| it["messages"][0]["role"] = json!("system"));
        check("", |it| {
            let between = json!({"role": "system", "content": "It is late."});
            it["messages"].as_array_mut().unwrap().insert(1, between);
        });
        check("non-empty", |it| it["messages"][2]["content"][1]["text"] = json!(""));
        check("non-whitespace", |it| it["messages"][2]["content"][1]["text"] = json!(" \n"));
        check("unexpected `tool_use_id`", |it| it["messages"][2]["content"][0]["tool_use_id"] = json!("b"));
        check("immediately after: a", |it| it["messages"][2]["content"] = json!("never mind"));
        check("immediately after: a", |it| it["messages"].as_array_mut().unwrap().truncate(2));
        check("must come first", |it| {
            let late = json!({"type": "tool_result", "tool_use_id": "a"});
            it["messages"][2]["content"].as_array_mut().unwrap().push(late);
        });
        check("valid dictionary", |it| it["messages"][1]["content"][1]["input"] = json!([]));
        check("thinking", |it| it["messages"][1]["content"][0]["signature"] = json!(""));
        check("thinking blocks", |it| {
            it["messages"][1]["content"][0]["cache_control"] = json!({"type": "x"})
        });
        check("Found 5", |it| {
            let text = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
            it["system"] = Value::Array(vec![text; 5]);
        });
        check("trailing whitespace", |it| {
            it["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "so "}));
        });
        check("image", |it| it["messages"][0]["content"] = json!([{"type": "image", "source": {}}]));
    }
}
