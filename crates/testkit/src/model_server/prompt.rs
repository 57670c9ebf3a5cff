//! The parts of a request in the order in which the model reads them: tools, system and messages.

use serde_json::Value;

/// One block of a prompt with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptPart {
    /// `tools`, `system`, or the role of a message.
    pub section: String,
    /// The block, without its cache mark.
    pub block: Value,
    /// Its `cache_control`.
    pub mark: Option<Value>,
    /// Its path in the request, such as `messages.1.content.0`.
    pub path: String,
}

/// Consecutive messages of one role, which the model reads as one.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedMessage {
    pub role: String,
    pub blocks: Vec<Value>,
}

/// Returns every block of `request`, in the order of the cache.
pub fn prompt_parts(request: &Value) -> Vec<PromptPart> {
    let section = |name: &'static str| {
        let placed = blocks(&request[name]).into_iter().enumerate();
        placed.map(move |(at, block)| new_part(name, format!("{name}.{at}"), block))
    };
    let messages = list(&request["messages"]).iter().enumerate().flat_map(|(at, message)| {
        let role = message["role"].as_str().unwrap_or_default();
        let placed = blocks(&message["content"]).into_iter().enumerate();
        placed
            .map(|(index, block)| new_part(role, format!("messages.{at}.content.{index}"), block))
            .collect::<Vec<_>>()
    });
    section("tools").chain(section("system")).chain(messages).collect()
}

/// Returns the messages of `request`, with consecutive messages of one role merged.
pub fn merged_messages(request: &Value) -> Vec<MergedMessage> {
    let mut merged: Vec<MergedMessage> = Vec::new();
    for message in list(&request["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        let blocks = blocks(&message["content"]);
        match merged.last_mut() {
            Some(last) if last.role == role => last.blocks.extend(blocks),
            Some(_) | None => merged.push(MergedMessage { role: role.to_owned(), blocks }),
        }
    }
    merged
}

/// Returns the elements of an array; empty for any other value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns content as blocks; a string is one text block.
pub fn blocks(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn new_part(section: &str, path: String, mut block: Value) -> PromptPart {
    let mark = block.as_object_mut().and_then(|fields| fields.remove("cache_control"));
    PromptPart { section: section.to_owned(), block, mark: mark.filter(|mark| !mark.is_null()), path }
}
