//! Checks requests and produces the vendors' error texts.
//!
//! The names of the fields are those of the vendor's own client (PyPI `openai` 3.51.0,
//! `types/chat`), limited to those our client sends: a new field must be added here deliberately.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Style;
use crate::scripted_replies::ErrorReply;

/// Checks `request` against the rules of a server of this style.
pub fn check(request: &Value, style: Style) -> Result<(), ErrorReply> {
    let refusal = |kind: &str, message: String| ErrorReply {
        status: 400,
        kind: kind.to_owned(),
        message,
        retry_after: None,
    };
    check_style(request, style).map_err(|error_text| refusal("api_error", error_text))?;
    let standard_rules = || {
        check_fields(request)?;
        let messages = list(&request["messages"]);
        if rejects_unknown_fields(style) {
            check_field_names(request, messages)?;
        }
        for (at, message) in messages.iter().enumerate() {
            check_message(message).map_err(|wrong| format!("messages[{at}]: {wrong}"))?;
        }
        check_calls(messages)
    };
    standard_rules().map_err(|error_text| refusal("invalid_request_error", error_text))
}

fn check_style(request: &Value, style: Style) -> Result<(), String> {
    let messages = list(&request["messages"]);
    match style {
        Style::NoTools => {
            let model = request["model"].as_str().unwrap_or_default();
            let uses_tools = |message: &Value| message["role"] == "tool" || !message["tool_calls"].is_null();
            match (request.get("tools").is_some(), messages.iter().any(uses_tools)) {
                (true, _) => Err(format!("{model} does not support tools")),
                (_, true) => Err("the template of this model has no place for tools".to_owned()),
                (false, false) => Ok(()),
            }
        }
        Style::LlamaCpp => {
            let same_role = |pair: &[Value]| pair[0]["role"] == pair[1]["role"] && pair[0]["role"] != "tool";
            // The text of the templates of Qwen3.5 and later (QwenLM/Qwen3.8#244, vllm-project/vllm#41114).
            if messages.iter().skip(1).any(|message| message["role"] == "system") {
                return Err("System message must be at the beginning.".to_owned());
            }
            if messages.windows(2).any(same_role) {
                Err("Conversation roles must alternate user/assistant/user/assistant/...".to_owned())
            } else {
                Ok(())
            }
        }
        Style::OpenAi
        | Style::Ollama
        | Style::Sloppy
        | Style::Plain
        | Style::DeepSeek
        | Style::Gemini
        | Style::OpenRouter
        | Style::Vllm
        | Style::OpenAiCurrent => Ok(()),
    }
}

fn check_fields(request: &Value) -> Result<(), String> {
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".to_owned());
    }
    if list(&request["messages"]).is_empty() {
        return Err("[] is too short - 'messages'".to_owned());
    }
    if request["stream"] != true && !request["stream_options"].is_null() {
        return Err("The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned());
    }
    for field in ["max_tokens", "max_completion_tokens"] {
        if !request[field].is_null() && request[field].as_u64().is_none_or(|tokens| tokens == 0) {
            return Err(format!("Invalid '{field}': integer below minimum value"));
        }
    }
    if request["tools"].as_array().is_some_and(Vec::is_empty) {
        return Err("Invalid 'tools': empty array".to_owned());
    }
    list(&request["tools"]).iter().enumerate().try_for_each(|(at, tool)| check_tool(tool, at))
}

/// Returns true if servers of this style refuse unknown fields. The others ignore them.
fn rejects_unknown_fields(style: Style) -> bool {
    matches!(style, Style::OpenAi | Style::OpenAiCurrent)
}

/// Checks the names of all fields.
fn check_field_names(request: &Value, messages: &[Value]) -> Result<(), String> {
    const FIELDS: [&str; 8] = [
        "model",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
        "tools",
        "messages",
    ];
    let unknown = |object: &Value, known: &[&str]| {
        let mut names = object.as_object().into_iter().flatten().map(|(name, _)| name);
        names.find(|name| !known.contains(&name.as_str())).cloned()
    };
    if let Some(name) = unknown(request, &FIELDS) {
        return Err(format!("Unrecognized request argument supplied: {name}"));
    }
    for (at, message) in messages.iter().enumerate() {
        let name = unknown(message, &["role", "content", "tool_calls", "tool_call_id"]);
        let calls = list(&message["tool_calls"]).iter();
        let name =
            name.or_else(|| calls.filter_map(|call| unknown(call, &["id", "type", "function"])).next());
        if let Some(name) = name {
            return Err(format!(
                "Additional properties are not allowed ('{name}' was unexpected) - 'messages.{at}'"
            ));
        }
    }
    Ok(())
}

fn check_tool(tool: &Value, at: usize) -> Result<(), String> {
    let function = &tool["function"];
    if tool["type"] != "function" || function["name"].as_str().is_none_or(str::is_empty) {
        return Err(format!("Missing required parameter: 'tools[{at}].function.name'."));
    }
    if function["parameters"]["type"] == "object" {
        Ok(())
    } else {
        Err(format!("Invalid schema for function 'tools[{at}]': schema must be of type object"))
    }
}

fn check_message(message: &Value) -> Result<(), String> {
    let content = &message["content"];
    match message["role"].as_str().unwrap_or_default() {
        "system" => check_text(content),
        "user" if !list(content).is_empty() => list(content).iter().try_for_each(check_part),
        "user" => check_text(content),
        "assistant" if content.is_null() => {
            if list(&message["tool_calls"]).is_empty() {
                Err("content or tool_calls must be set".to_owned())
            } else {
                list(&message["tool_calls"]).iter().try_for_each(check_call)
            }
        }
        "assistant" => {
            check_text(content)?;
            list(&message["tool_calls"]).iter().try_for_each(check_call)
        }
        "tool" if content.is_string() && message["tool_call_id"].is_string() => Ok(()),
        role => Err(format!("a message of role '{role}' that is unknown or incomplete")),
    }
}

fn check_text(content: &Value) -> Result<(), String> {
    if content.as_str().is_some_and(|text| !text.trim().is_empty()) {
        Ok(())
    } else {
        Err("content must not be empty".to_owned())
    }
}

fn check_part(part: &Value) -> Result<(), String> {
    match part["type"].as_str() {
        Some("text") => check_text(&part["text"]),
        Some("image_url") => {
            let url = part["image_url"]["url"].as_str().unwrap_or_default();
            let (kind, data) = url.split_once(";base64,").unwrap_or_default();
            let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            let whole = !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(base64);
            if kind.starts_with("data:image/") && whole {
                Ok(())
            } else {
                Err("Invalid base64 image_url.".to_owned())
            }
        }
        Some(_) | None => Err("a part of unknown type".to_owned()),
    }
}

fn check_call(call: &Value) -> Result<(), String> {
    let function = &call["function"];
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if call["type"] != "function" || !text(&call["id"]) || !text(&function["name"]) {
        return Err("a tool call without its type, id or name".to_owned());
    }
    let arguments: Option<Value> =
        function["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
    if arguments.is_some_and(|arguments| arguments.is_object()) {
        Ok(())
    } else {
        Err("the arguments of a tool call must be the text of a JSON object".to_owned())
    }
}

/// Every call must be answered by the next messages, and every answer must have its call.
fn check_calls(messages: &[Value]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if message["role"] == "tool" {
            if !open.remove(message["tool_call_id"].as_str().unwrap_or_default()) {
                return Err("messages with role 'tool' must be a response to a preceding message with \
                    'tool_calls'."
                    .to_owned());
            }
            continue;
        }
        check_all_answered(&open)?;
        for call in list(&message["tool_calls"]) {
            let id = call["id"].as_str().unwrap_or_default();
            if !seen.insert(id) {
                return Err(format!("Duplicate value for 'tool_call_id' of '{id}'"));
            }
            open.insert(id);
        }
    }
    check_all_answered(&open)
}

fn check_all_answered(open: &BTreeSet<&str>) -> Result<(), String> {
    match open.first() {
        Some(id) => Err(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following did not have response messages: {id}"
        )),
        None => Ok(()),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal_after(style: Style, change: impl FnOnce(&mut Value)) -> String {
        let call = json!({"id": "a", "type": "function", "function": {"name": "note", "arguments": "{}"}});
        let mut request = json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 9,
            "tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "a", "content": ""},
                {"role": "user", "content": "and?"},
            ],
        });
        change(&mut request);
        check(&request, style).err().map(|refusal| refusal.message).unwrap_or_default()
    }

    #[test]
    fn openai_style_refuses_invalid_requests() {
        let check = |expected: &str, change: fn(&mut Value)| {
            let message = refusal_after(Style::OpenAi, change);
            assert!(
                message.contains(expected) && message.is_empty() == expected.is_empty(),
                "{expected}: {message}"
            );
        };
        check("", |_| {});
        check("model parameter", |request| request["model"] = json!(""));
        check("too short", |request| request["messages"] = json!([]));
        check("only allowed when", |request| request["stream"] = json!(false));
        check("below minimum", |request| request["max_tokens"] = json!(0));
        check("empty array", |request| request["tools"] = json!([]));
        check("function.name", |request| request["tools"][0]["type"] = json!("tool"));
        check("type object", |request| request["tools"][0]["function"]["parameters"] = json!({}));
        check("", |request| request["messages"][4]["role"] = json!("system"));
        check("argument supplied: effort", |request| request["effort"] = json!("low"));
        check("'reasoning' was unexpected", |request| request["messages"][2]["reasoning"] = json!("hm"));
        check("'extra_content' was unexpected", |request| {
            request["messages"][2]["tool_calls"][0]["extra_content"] = json!({});
        });
        check("must not be empty", |request| request["messages"][1]["content"] = json!(" \n"));
        check("must not be empty", |request| request["messages"][1]["content"] = json!([]));
        check("image_url", |request| {
            let url = json!({"url": "https://a.b/c.png"});
            request["messages"][1]["content"] = json!([{"type": "image_url", "image_url": url}]);
        });
        check("content or tool_calls", |request| request["messages"][2]["tool_calls"] = Value::Null);
        check("type, id or name", |request| request["messages"][2]["tool_calls"][0]["id"] = json!(""));
        check("text of a JSON object", |request| {
            request["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!({});
        });
        check("did not have response messages: a", |request| {
            request["messages"][3] = json!({"role": "user", "content": "never mind"});
        });
        check("did not have response messages: a", |request| {
            request["messages"].as_array_mut().unwrap().truncate(3)
        });
        check("preceding message", |request| request["messages"][3]["tool_call_id"] = json!("b"));
        check("Duplicate", |request| {
            let messages = request["messages"].as_array_mut().unwrap();
            messages.extend([messages[2].clone(), messages[3].clone()]);
        });
    }

    #[test]
    fn each_style_enforces_its_own_rules() {
        let twice = |request: &mut Value| request["messages"][0]["role"] = json!("user");
        assert!(refusal_after(Style::LlamaCpp, twice).contains("must alternate"));
        assert_eq!(refusal_after(Style::LlamaCpp, |_| {}), "");
        let late = |request: &mut Value| request["messages"][4]["role"] = json!("system");
        assert!(refusal_after(Style::LlamaCpp, late).contains("must be at the beginning"));
        assert_eq!(
            refusal_after(Style::Vllm, |request| request["messages"][2]["reasoning"] = json!("hm")),
            ""
        );
        assert_eq!(refusal_after(Style::NoTools, |_| {}), "m does not support tools");
        let without = |request: &mut Value| {
            request.as_object_mut().unwrap().remove("tools");
        };
        assert!(refusal_after(Style::NoTools, without).contains("no place for tools"));
    }
}
