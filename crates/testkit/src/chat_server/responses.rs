//! The Responses API without stored state: its rules, and the events of a reply.
//!
//! Sources of the rules:
//! - Names of fields, allowed values and required fields: the request types of the vendor's own client (PyPI `openai`
//!   3.51.0: `types/responses/response_create_params.py`, `response_input_item_param.py`, `easy_input_message_param.py`,
//!   `response_reasoning_item_param.py`, `response_function_tool_call_param.py`, `function_tool_param.py`,
//!   `response_input_image_param.py`). Fields that our client does not send are left out on purpose.
//! - `max_output_tokens` of at least 16, a strict schema without `additionalProperties: false`, a call without an output,
//!   an output without a call, reasoning without the item after it and an item without its reasoning: the vendor's error
//!   texts, as they are quoted in public issues.
//! - Reasoning without `encrypted_content`: anomalyco/opencode#7724 and #8987. A server without stored
//!   state looks for the item by its id and does not find it.
//! - `none` is not an effort of this server's model: that holds for `gpt-6-astra` and `gpt-6.1-sol`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::chunks::{CompletionMeta, call_id, error_event};
use super::reasoning_rules::IssuedReasoning;
use crate::scripted_replies::stream::EncodedStream;
use crate::scripted_replies::{ErrorReply, ReplyPiece, ScriptedReply, split_into_deltas};

use super::search;

/// The fields of a request that the server knows.
const REQUEST_FIELDS: [&str; 10] = [
    "model",
    "stream",
    "store",
    "include",
    "max_output_tokens",
    "max_tool_calls",
    "reasoning",
    "instructions",
    "tools",
    "input",
];

/// The fields of a tool that the server knows.
const TOOL_FIELDS: [&str; 5] = ["type", "name", "description", "parameters", "strict"];

/// The maximum length of a tool name, in characters.
const MAX_NAME_LENGTH: usize = 64;

/// Checks `request` against the rules of the API.
pub fn check(request: &Value, issued: &IssuedReasoning) -> Result<(), ErrorReply> {
    let wrong = |message: String| bad_request("invalid_request_error", message);
    check_request(request).map_err(wrong)?;
    let input = list(&request["input"]);
    for (at, item) in input.iter().enumerate() {
        check_item(item, at).map_err(wrong)?;
    }
    check_reasoning(input, issued)?;
    check_calls(input).map_err(wrong)
}

fn bad_request(kind: &str, message: String) -> ErrorReply {
    ErrorReply { status: 400, kind: kind.to_owned(), message, retry_after: None }
}

/// Refuses the first field of `object` that is not in `known`. `path` is the object's path in the
/// request.
fn check_field_names(object: &Value, known: &[&str], path: &str) -> Result<(), String> {
    let mut names = object.as_object().into_iter().flatten().map(|(name, _)| name);
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("Unknown parameter: '{path}{name}'.")),
        None => Ok(()),
    }
}

fn check_request(request: &Value) -> Result<(), String> {
    check_field_names(request, &REQUEST_FIELDS, "")?;
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err("Missing required parameter: 'model'.".to_owned());
    }
    if list(&request["input"]).is_empty() {
        return Err("Missing required parameter: 'input'.".to_owned());
    }
    // Otherwise the vendor would store the response, and our client does not rely on stored
    // responses. Reasoning that is not sent back needs no encrypted form: a search is a request of
    // its own.
    let keeps_reasoning = request["include"] == json!(["reasoning.encrypted_content"]);
    if request["store"] != false || !(keeps_reasoning || search::is_only_tool(request)) {
        return Err(
            "this server keeps nothing: 'store' must be false and encrypted reasoning included".to_owned()
        );
    }
    let max_tokens = &request["max_output_tokens"];
    if !max_tokens.is_null() && max_tokens.as_u64().is_none_or(|max_tokens| max_tokens < 16) {
        return Err(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {max_tokens} instead."
        ));
    }
    check_effort(&request["reasoning"])?;
    search::check(request)?;
    let functions = list(&request["tools"]).iter().enumerate().filter(|(_, tool)| !search::is_hosted(tool));
    for (at, tool) in functions {
        check_tool(tool, at)?;
    }
    Ok(())
}

fn check_effort(reasoning: &Value) -> Result<(), String> {
    check_field_names(reasoning, &["effort", "summary"], "reasoning.")?;
    if !reasoning["summary"].is_null() && reasoning["summary"] != "auto" {
        return Err("Invalid value for 'reasoning.summary'. Supported values are: 'auto'.".to_owned());
    }
    let supported = ["low", "medium", "high", "xhigh"];
    match reasoning["effort"].as_str() {
        Some(effort) if !supported.contains(&effort) => Err(format!(
            "Unsupported value: 'reasoning.effort' does not support '{effort}' with this model. Supported values are: \
             'low', 'medium', 'high', and 'xhigh'."
        )),
        Some(_) | None => Ok(()),
    }
}

fn check_tool(tool: &Value, at: usize) -> Result<(), String> {
    let name = tool["name"].as_str().unwrap_or_default();
    if tool["type"] != "function" || name.is_empty() {
        return Err(format!("Missing required parameter: 'tools[{at}].name'."));
    }
    check_field_names(tool, &TOOL_FIELDS, &format!("tools[{at}]."))?;
    let known = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if name.len() > MAX_NAME_LENGTH || !name.chars().all(known) {
        return Err(format!(
            "Invalid 'tools[{at}].name': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ));
    }
    if tool["parameters"]["type"] != "object" {
        return Err(format!(
            "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
            tool["parameters"]["type"]
        ));
    }
    if tool["strict"] != false && tool["parameters"]["additionalProperties"] != false {
        return Err(format!(
            "Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and \
             to be false."
        ));
    }
    Ok(())
}

/// Returns the known fields of an item of this kind and role. Only the model's own messages have an
/// id.
fn item_fields(kind: &str, has_id: bool) -> &'static [&'static str] {
    match (kind, has_id) {
        ("message", false) => &["type", "role", "content", "phase"],
        ("message", true) => &["type", "role", "content", "phase", "id", "status"],
        ("reasoning", _) => &["type", "id", "summary", "content", "encrypted_content", "status"],
        ("function_call", _) => &["type", "id", "call_id", "name", "arguments", "status"],
        ("function_call_output", _) => &["type", "id", "call_id", "output", "status"],
        _ => &[],
    }
}

fn check_item(item: &Value, at: usize) -> Result<(), String> {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let kind = item["type"].as_str().unwrap_or("message");
    let has_id = item["role"] == "assistant" && text(&item["id"]);
    check_field_names(item, item_fields(kind, has_id), &format!("input[{at}]."))?;
    match (kind, item["role"].as_str()) {
        ("message", Some("user")) => {
            let known = |part: &Value| match part["type"].as_str() {
                Some("input_text") => text(&part["text"]),
                Some("input_image") => {
                    let detail = part["detail"].as_str().unwrap_or_default();
                    let url = part["image_url"].as_str().unwrap_or_default();
                    url.starts_with("data:image/") && ["auto", "low", "high", "original"].contains(&detail)
                }
                Some(_) | None => false,
            };
            let parts = list(&item["content"]);
            if text(&item["content"]) || !parts.is_empty() && parts.iter().all(known) {
                Ok(())
            } else {
                Err(format!(
                    "Invalid value: 'input[{at}].content'. Supported values are: 'input_text', 'input_image'."
                ))
            }
        }
        ("message", Some("assistant")) => {
            let known = |part: &Value| match part["type"].as_str() {
                Some("output_text") => part["text"].is_string() && part["annotations"].is_array(),
                Some("refusal") => part["refusal"].is_string(),
                Some(_) | None => false,
            };
            let parts = list(&item["content"]);
            if text(&item["content"]) || has_id && parts.iter().all(known) {
                Ok(())
            } else {
                Err(format!(
                    "Invalid value: 'input[{at}].content'. Supported values are: 'output_text' and 'refusal'."
                ))
            }
        }
        ("message", Some("developer" | "system")) if text(&item["content"]) => Ok(()),
        ("reasoning", None) if item["summary"].is_array() => Ok(()),
        ("function_call", None) if text(&item["call_id"]) && text(&item["name"]) => {
            let arguments =
                item["arguments"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if arguments.is_some_and(|arguments| arguments.is_object()) {
                Ok(())
            } else {
                Err(format!("Invalid 'input[{at}].arguments': expected the text of a JSON object."))
            }
        }
        ("function_call_output", None) if text(&item["call_id"]) && item["output"].is_string() => Ok(()),
        _ => Err(format!("Invalid value: '{kind}' in 'input[{at}]'.")),
    }
}

/// A reasoning item must come back unchanged and with the item after it; an item that followed
/// reasoning must come back with it.
fn check_reasoning(input: &[Value], issued: &IssuedReasoning) -> Result<(), ErrorReply> {
    let id = |item: &Value| item["id"].as_str().unwrap_or_default().to_owned();
    for (at, item) in input.iter().enumerate() {
        let id_here = id(item);
        if item["type"] == "reasoning" {
            if item["encrypted_content"].as_str().is_none_or(str::is_empty) {
                let message = format!(
                    "Item with id '{id_here}' not found. Items are not persisted when `store` is set to false. Try again \
                     with `store` set to true, or remove this item from your input."
                );
                return Err(ErrorReply { status: 404, ..bad_request("invalid_request_error", message) });
            }
            if issued.items.get(&id_here).is_none_or(|(known, _)| known != item) {
                return Err(bad_request(
                    "invalid_encrypted_content",
                    format!("The encrypted content for item {id_here} could not be verified."),
                ));
            }
            let has_following_item = input.get(at + 1).is_some_and(|next| {
                issued.items.get(&id(next)).is_some_and(|(_, before)| before.as_ref() == Some(&id_here))
            });
            if !has_following_item {
                return Err(bad_request(
                    "invalid_request_error",
                    format!(
                        "Item '{id_here}' of type 'reasoning' was provided without its required following item."
                    ),
                ));
            }
        } else if let Some((known, before)) = issued.items.get(&id_here) {
            if known != item {
                return Err(bad_request(
                    "invalid_request_error",
                    format!("Item '{id_here}' is not as it was sent."),
                ));
            }
            let previous = at.checked_sub(1).map(|at| id(&input[at]));
            if before.is_some() && *before != previous {
                let kind = item["type"].as_str().unwrap_or_default();
                let reasoning = before.clone().unwrap_or_default();
                return Err(bad_request(
                    "invalid_request_error",
                    format!(
                        "Item '{id_here}' of type '{kind}' was provided without its required 'reasoning' item: \
                         '{reasoning}'."
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Every call must have an output after it, and every output a call before it.
fn check_calls(input: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for item in input {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => {
                open.insert(id);
            }
            Some("function_call_output") if !open.remove(id) => {
                return Err(format!("No tool call found for function call output with call_id {id}."));
            }
            Some(_) | None => {}
        }
    }
    match open.first() {
        Some(id) => Err(format!("No tool output found for function call {id}.")),
        None => Ok(()),
    }
}

/// Answers a `request` that no script covers.
pub fn echo(request: &Value) -> ScriptedReply {
    let last = list(&request["input"]).last().cloned().unwrap_or_default();
    if let Some(output) = last["output"].as_str() {
        return ScriptedReply::text(&format!("the tool said: {output}"));
    }
    let part = list(&last["content"]).last().and_then(|part| part["text"].as_str().map(str::to_owned));
    let words = last["content"].as_str().map(str::to_owned).or(part).unwrap_or_default();
    if list(&request["tools"]).iter().any(search::is_hosted) {
        return ScriptedReply::default_search(&words);
    }
    ScriptedReply::text(&format!("you said: {words}"))
}

/// Records the output items of `reply`.
pub fn record_items(reply: &ScriptedReply, meta: &CompletionMeta, issued: &mut IssuedReasoning) {
    let mut before = None;
    for item in output_items(reply, meta) {
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        let next = (item["type"] == "reasoning").then(|| id.clone());
        issued.items.insert(id, (item, before));
        before = next;
    }
}

/// Encodes `reply` as a stream: all events that the vendor sends, in its order.
pub fn stream(reply: &ScriptedReply, meta: &CompletionMeta) -> EncodedStream {
    let begun = envelope(meta, "in_progress");
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (at, item) in output_items(reply, meta).into_iter().enumerate() {
        let added = without_content(&item);
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": added}));
        events.extend(content_events(&item).into_iter().map(|mut event| {
            event["output_index"] = json!(at);
            event["item_id"] = item["id"].clone();
            event
        }));
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    let end = response(reply, meta);
    let kind = format!("response.{}", end["status"].as_str().unwrap_or_default());
    events.push(json!({"type": kind, "response": end}));
    let numbered = events.into_iter().enumerate().map(|(number, mut body)| {
        body["sequence_number"] = json!(number);
        encode_event(&body)
    });
    EncodedStream {
        events: numbered.collect(),
        error: error_event,
        bad_json: b"data: {\"type\": \"respon\n\n",
    }
}

/// Returns `item` as it is when it was just added, without content.
fn without_content(item: &Value) -> Value {
    let mut item = item.clone();
    let (field, empty) = match item["type"].as_str() {
        Some("message") => ("content", json!([])),
        Some("function_call") => ("arguments", json!("")),
        Some("reasoning") => ("summary", json!([])),
        Some(_) | None => return item,
    };
    item[field] = empty;
    item["status"] = json!("in_progress");
    item
}

/// Returns the events between the start and the end of `item`.
fn content_events(item: &Value) -> Vec<Value> {
    let mut events = Vec::new();
    match item["type"].as_str() {
        Some("message") => {
            for (at, part) in list(&item["content"]).iter().enumerate() {
                let is_refusal = part["type"] == "refusal";
                let (name, text) = if is_refusal { ("refusal", "refusal") } else { ("output_text", "text") };
                let content = part[text].as_str().unwrap_or_default();
                let mut empty = part.clone();
                empty[text] = json!("");
                events
                    .push(json!({"type": "response.content_part.added", "content_index": at, "part": empty}));
                events.extend(split_into_deltas(content).iter().map(|delta| {
                    let kind = format!("response.{name}.delta");
                    let mut event = json!({"type": kind, "content_index": at, "delta": delta});
                    if !is_refusal {
                        event["logprobs"] = json!([]);
                    }
                    event
                }));
                let kind = format!("response.{name}.done");
                let mut done = json!({"type": kind, "content_index": at, text: content});
                if !is_refusal {
                    done["logprobs"] = json!([]);
                }
                events.push(done);
                events.push(json!({"type": "response.content_part.done", "content_index": at, "part": part}));
            }
        }
        Some("function_call") => {
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let kind = "response.function_call_arguments.delta";
            events.extend(
                split_into_deltas(arguments).iter().map(|delta| json!({"type": kind, "delta": delta})),
            );
            let kind = "response.function_call_arguments.done";
            events.push(json!({"type": kind, "arguments": arguments}));
        }
        Some("reasoning") => {
            for (at, part) in list(&item["summary"]).iter().enumerate() {
                let text = part["text"].as_str().unwrap_or_default();
                let event = |name: &str| {
                    let kind = format!("response.reasoning_summary_{name}");
                    json!({"type": kind, "summary_index": at})
                };
                let mut added = event("part.added");
                added["part"] = json!({"type": "summary_text", "text": ""});
                events.push(added);
                events.extend(split_into_deltas(text).iter().map(|delta| {
                    let mut more = event("text.delta");
                    more["delta"] = json!(delta);
                    more
                }));
                let mut done = event("text.done");
                done["text"] = json!(text);
                let mut part_done = event("part.done");
                part_done["part"] = part.clone();
                events.extend([done, part_done]);
            }
        }
        Some(_) | None => {}
    }
    events
}

/// Encodes `reply` as one complete response.
pub fn response(reply: &ScriptedReply, meta: &CompletionMeta) -> Value {
    let reason = reply.stop.as_deref().filter(|stop| ["max_output_tokens", "content_filter"].contains(stop));
    let mut response = envelope(meta, if reason.is_some() { "incomplete" } else { "completed" });
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response["output"] = Value::Array(output_items(reply, meta));
    let input = meta.usage.input + meta.usage.cache_read;
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": meta.usage.cache_read, "cache_write_tokens": 0},
        "output_tokens": meta.usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + meta.usage.output,
    });
    response
}

fn envelope(meta: &CompletionMeta, status: &str) -> Value {
    json!({
        "id": format!("resp_{:06}", meta.serial),
        "object": "response",
        "created_at": 0,
        "model": meta.model,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "metadata": {},
        "parallel_tool_calls": true,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": [],
    })
}

/// Returns the output items of `reply`.
fn output_items(reply: &ScriptedReply, meta: &CompletionMeta) -> Vec<Value> {
    let item = |(at, piece): (usize, &ReplyPiece)| {
        let id = |kind: &str| format!("{kind}_{:06}_{at}", meta.serial);
        match piece {
            ReplyPiece::Text(text) | ReplyPiece::Note(text) => {
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                let phase = if matches!(piece, ReplyPiece::Note(_)) { "commentary" } else { "final_answer" };
                json!({
                    "id": id("msg"), "type": "message", "role": "assistant", "status": "completed",
                    "phase": phase, "content": [part],
                })
            }
            ReplyPiece::Thinking { thinking, .. } => json!({
                "id": id("rs"), "type": "reasoning", "summary": [{"type": "summary_text", "text": thinking}],
                "encrypted_content": format!("sealed-{}-{}-{at}", meta.model, meta.serial),
            }),
            ReplyPiece::Call { name, input } => json!({
                "id": id("fc"), "type": "function_call", "status": "completed", "call_id": call_id(meta, at),
                "name": name, "arguments": input,
            }),
            ReplyPiece::Raw(item) => item.clone(),
            ReplyPiece::Search { query, outcome: found } => search::search_call_item(&id("ws"), query, found),
            ReplyPiece::Citation { text, page } => search::cited_message_item(&id("msg"), text, page),
        }
    };
    reply.pieces.iter().enumerate().map(item).collect()
}

fn encode_event(event: &Value) -> Vec<u8> {
    let kind = event["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n").into_bytes()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat_server::Style;
    use domain::conversation::Usage;

    const CALL: &str = "call_000001_2";

    /// Returns the refusal of a request that repeats a whole tool loop, after `change`; empty if it
    /// is accepted.
    fn refusal_after(change: impl FnOnce(&mut Value)) -> String {
        let usage = Usage { input: 1, cache_read: 0, cache_write: 0, cache_write_1h: 0, output: 1 };
        let meta = CompletionMeta { serial: 1, model: "m".to_owned(), usage, style: Style::OpenAiCurrent };
        let reply = ScriptedReply::empty()
            .with_thinking("Hm.", "")
            .with_note("Looking.")
            .with_tool_call("note", &json!({"text": "x"}));
        let mut issued = IssuedReasoning::default();
        record_items(&reply, &meta, &mut issued);
        let mut input = vec![json!({"role": "user", "content": [{"type": "input_text", "text": "note x"}]})];
        input.extend(output_items(&reply, &meta));
        input.push(json!({"type": "function_call_output", "call_id": CALL, "output": "done"}));
        input.push(json!({"role": "developer", "content": "Your name is Ada."}));
        let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tool = json!({"type": "function", "name": "note", "parameters": parameters, "strict": false});
        let mut request = json!({
            "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 16, "reasoning": {"effort": "low", "summary": "auto"}, "instructions": "Be kind.",
            "tools": [tool], "input": input,
        });
        change(&mut request);
        check(&request, &issued).err().map(|refusal| refusal.message).unwrap_or_default()
    }

    #[test]
    fn requests_the_vendor_rejects_are_refused() {
        let check = |expected: &str, change: fn(&mut Value)| {
            let message = refusal_after(change);
            assert!(
                message.contains(expected) && message.is_empty() == expected.is_empty(),
                "{expected}: {message}"
            );
        };
        check("", |_| {});
        check("Unknown parameter: 'max_tokens'", |request| request["max_tokens"] = json!(9));
        check("Missing required parameter: 'model'", |request| request["model"] = json!(""));
        check("Missing required parameter: 'input'", |request| request["input"] = json!([]));
        check("'store' must be false", |request| request["store"] = json!(true));
        check("Expected a value >= 16, but got 15", |request| request["max_output_tokens"] = json!(15));
        check("does not support 'none'", |request| request["reasoning"]["effort"] = json!("none"));
        check("Unknown parameter: 'reasoning.budget'", |request| request["reasoning"]["budget"] = json!(1));
        check("'tools[0].name'", |request| {
            request["tools"][0] = json!({"type": "function", "function": {"name": "note"}})
        });
        check("does not match pattern", |request| request["tools"][0]["name"] = json!("my note"));
        check("schema must be a JSON Schema", |request| request["tools"][0]["parameters"] = json!({}));
        check("'additionalProperties' is required", |request| request["tools"][0]["strict"] = Value::Null);
        check("Unknown parameter: 'input[0].name'", |request| request["input"][0]["name"] = json!("ada"));
        check("Supported values are: 'input_text'", |request| {
            request["input"][0]["content"][0]["type"] = json!("text")
        });
        check("Item 'msg_000001_1' is not as it was sent", |request| {
            request["input"][2]["content"][0]["text"] = json!("Something else.");
        });
        check("without its required following item", |request| {
            request["input"].as_array_mut().unwrap().remove(2);
        });
        check("could not be verified", |request| request["input"][1]["encrypted_content"] = json!("spoilt"));
        check("Items are not persisted", |request| request["input"][1]["encrypted_content"] = Value::Null);
        check("without its required 'reasoning' item", |request| {
            request["input"].as_array_mut().unwrap().remove(1);
        });
        check("expected the text of a JSON object", |request| request["input"][3]["arguments"] = json!({}));
        check("No tool output found for function call call_000001_2", |request| {
            request["input"].as_array_mut().unwrap().remove(4);
        });
        check("No tool call found for function call output with call_id call_000001_2", |request| {
            request["input"].as_array_mut().unwrap().swap(0, 4);
        });
        check("Unknown parameter: 'input[5].type'", |request| {
            request["input"][5] = json!({"type": "item_reference"})
        });
    }
}
