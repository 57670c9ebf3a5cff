//! The Responses API without stored state: its rules, and an act as its events.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::chunks::{Title, call_id, error};
use super::dialect::Issued;
use crate::play::frames::Written;
use crate::play::{Act, Piece, Refused, split};

/// The fields of a request that the server knows.
const FIELDS: [&str; 9] = [
    "model",
    "stream",
    "store",
    "include",
    "max_output_tokens",
    "reasoning",
    "instructions",
    "tools",
    "input",
];

/// Says what is wrong with `request`.
pub fn check(request: &Value, issued: &Issued) -> Result<(), Refused> {
    let wrong = |message: String| refused("invalid_request_error", message);
    check_fields(request).map_err(wrong)?;
    let input = list(&request["input"]);
    for (at, item) in input.iter().enumerate() {
        check_item(item, at).map_err(wrong)?;
    }
    check_reasoning(input, issued)?;
    check_calls(input).map_err(wrong)
}

fn refused(kind: &str, message: String) -> Refused {
    Refused { status: 400, kind: kind.to_owned(), message, retry_after: None }
}

fn check_fields(request: &Value) -> Result<(), String> {
    let fields = request.as_object().into_iter().flatten();
    if let Some((name, _)) = fields.into_iter().find(|(name, _)| !FIELDS.contains(&name.as_str())) {
        return Err(format!("Unknown parameter: '{name}'."));
    }
    if request["model"].as_str().is_none_or(str::is_empty) {
        return Err("Missing required parameter: 'model'.".to_owned());
    }
    if list(&request["input"]).is_empty() {
        return Err("Missing required parameter: 'input'.".to_owned());
    }
    if request["store"] != false || request["include"] != json!(["reasoning.encrypted_content"]) {
        return Err(
            "this server keeps nothing: 'store' must be false and encrypted reasoning included".to_owned()
        );
    }
    let most = &request["max_output_tokens"];
    if !most.is_null() && most.as_u64().is_none_or(|most| most < 16) {
        return Err(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {most} instead."
        ));
    }
    if let Some(effort) = request["reasoning"]["effort"].as_str() {
        let supported = ["low", "medium", "high", "xhigh"];
        if !supported.contains(&effort) {
            return Err(format!(
                "Unsupported value: 'reasoning.effort' does not support '{effort}' with this model. Supported values \
                 are: 'low', 'medium', 'high', and 'xhigh'."
            ));
        }
    }
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        if tool["type"] != "function" || tool["name"].as_str().is_none_or(str::is_empty) {
            return Err(format!("Missing required parameter: 'tools[{at}].name'."));
        }
        if tool["strict"] != false && tool["parameters"]["additionalProperties"] != false {
            return Err(format!(
                "Invalid schema for function 'tools[{at}]': 'additionalProperties' is required to be supplied and to be \
                 false."
            ));
        }
    }
    Ok(())
}

fn check_item(item: &Value, at: usize) -> Result<(), String> {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let kind = item["type"].as_str().unwrap_or("message");
    match (kind, item["role"].as_str()) {
        ("message", Some("user")) => {
            let known = |part: &Value| match part["type"].as_str() {
                Some("input_text") => text(&part["text"]),
                Some("input_image") => {
                    part["image_url"].as_str().is_some_and(|url| url.starts_with("data:image/"))
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
            let known = |part: &Value| part["type"] == "output_text" && part["text"].is_string();
            if text(&item["content"]) || list(&item["content"]).iter().all(known) {
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
            match arguments.is_some_and(|arguments| arguments.is_object()) {
                true => Ok(()),
                false => Err(format!("Invalid 'input[{at}].arguments': expected the text of a JSON object.")),
            }
        }
        ("function_call_output", None) if text(&item["call_id"]) && item["output"].is_string() => Ok(()),
        _ => Err(format!("Invalid value: '{kind}' in 'input[{at}]'.")),
    }
}

/// A reasoning item comes back unchanged, with the item after it; an item that followed reasoning comes back with it.
fn check_reasoning(input: &[Value], issued: &Issued) -> Result<(), Refused> {
    let id = |item: &Value| item["id"].as_str().unwrap_or_default().to_owned();
    for (at, item) in input.iter().enumerate() {
        let id_here = id(item);
        if item["type"] == "reasoning" {
            if issued.items.get(&id_here).is_none_or(|(known, _)| known != item) {
                return Err(refused(
                    "invalid_encrypted_content",
                    format!("The encrypted content for item {id_here} could not be verified."),
                ));
            }
            let follows = input.get(at + 1).is_some_and(|next| {
                issued.items.get(&id(next)).is_some_and(|(_, before)| before.as_ref() == Some(&id_here))
            });
            if !follows {
                return Err(refused(
                    "invalid_request_error",
                    format!(
                        "Item '{id_here}' of type 'reasoning' was provided without its required following item."
                    ),
                ));
            }
        } else if let Some((known, before)) = issued.items.get(&id_here) {
            if known != item {
                return Err(refused(
                    "invalid_request_error",
                    format!("Item '{id_here}' is not as it was sent."),
                ));
            }
            let previous = at.checked_sub(1).map(|at| id(&input[at]));
            if before.is_some() && *before != previous {
                let kind = item["type"].as_str().unwrap_or_default();
                let reasoning = before.clone().unwrap_or_default();
                return Err(refused(
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

fn check_calls(input: &[Value]) -> Result<(), String> {
    let ids = |kind: &str| -> BTreeSet<&str> {
        input.iter().filter(|item| item["type"] == kind).filter_map(|item| item["call_id"].as_str()).collect()
    };
    let calls = ids("function_call");
    let outputs = ids("function_call_output");
    if let Some(id) = calls.difference(&outputs).next() {
        return Err(format!("No tool output found for function call {id}."));
    }
    match outputs.difference(&calls).next() {
        Some(id) => Err(format!("No tool call found for function call output with call_id {id}.")),
        None => Ok(()),
    }
}

/// The answer to `request` that no script covers.
pub fn echo(request: &Value) -> Act {
    let last = list(&request["input"]).last().cloned().unwrap_or_default();
    if let Some(output) = last["output"].as_str() {
        return Act::says(&format!("the tool said: {output}"));
    }
    let part = list(&last["content"]).last().and_then(|part| part["text"].as_str().map(str::to_owned));
    let words = last["content"].as_str().map(str::to_owned).or(part).unwrap_or_default();
    Act::says(&format!("you said: {words}"))
}

/// Records the output items of `act`.
pub fn issue(act: &Act, title: &Title, issued: &mut Issued) {
    let mut before = None;
    for item in items(act, title) {
        let id = item["id"].as_str().unwrap_or_default().to_owned();
        let next = (item["type"] == "reasoning").then(|| id.clone());
        issued.items.insert(id, (item, before));
        before = next;
    }
}

/// The stream of `act`.
pub fn written(act: &Act, title: &Title) -> Written {
    let mut events = vec![event(json!({"type": "response.created", "response": head(title, "in_progress")}))];
    for (at, item) in items(act, title).into_iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        events.push(event(json!({"type": "response.output_item.added", "output_index": at, "item": begun})));
        let (kind, text) = match item["type"].as_str() {
            Some("message") => ("response.output_text.delta", item["content"][0]["text"].as_str()),
            Some("function_call") => ("response.function_call_arguments.delta", item["arguments"].as_str()),
            Some(_) | None => ("response.reasoning_summary_text.delta", item["summary"][0]["text"].as_str()),
        };
        for part in split(text.unwrap_or_default()) {
            let delta = json!({"type": kind, "output_index": at, "item_id": item["id"], "delta": part});
            events.push(event(delta));
        }
        events.push(event(json!({"type": "response.output_item.done", "output_index": at, "item": item})));
    }
    let end = response(act, title);
    let kind = format!("response.{}", end["status"].as_str().unwrap_or_default());
    events.push(event(json!({"type": kind, "response": end})));
    Written { events, error, bad_json: b"data: {\"type\": \"respon\n\n" }
}

/// The whole of `act` at once.
pub fn response(act: &Act, title: &Title) -> Value {
    let reason = act.stop.as_deref().filter(|stop| ["max_output_tokens", "content_filter"].contains(stop));
    let mut response = head(title, if reason.is_some() { "incomplete" } else { "completed" });
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response["output"] = Value::Array(items(act, title));
    let input = title.usage.input + title.usage.cache_read;
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": title.usage.cache_read, "cache_write_tokens": 0},
        "output_tokens": title.usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + title.usage.output,
    });
    response
}

fn head(title: &Title, status: &str) -> Value {
    json!({
        "id": format!("resp_{:06}", title.serial),
        "object": "response",
        "created_at": 0,
        "model": title.model,
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

/// The output items of `act`.
fn items(act: &Act, title: &Title) -> Vec<Value> {
    let item = |(at, piece): (usize, &Piece)| {
        let id = |kind: &str| format!("{kind}_{:06}_{at}", title.serial);
        match piece {
            Piece::Text(text) | Piece::Note(text) => {
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                let phase = if matches!(piece, Piece::Note(_)) { "commentary" } else { "final_answer" };
                json!({
                    "id": id("msg"), "type": "message", "role": "assistant", "status": "completed",
                    "phase": phase, "content": [part],
                })
            }
            Piece::Thinking { thinking, .. } => json!({
                "id": id("rs"), "type": "reasoning", "summary": [{"type": "summary_text", "text": thinking}],
                "encrypted_content": format!("sealed-{}-{}-{at}", title.model, title.serial),
            }),
            Piece::Call { name, input } => json!({
                "id": id("fc"), "type": "function_call", "status": "completed", "call_id": call_id(title, at),
                "name": name, "arguments": input,
            }),
            Piece::Raw(item) => item.clone(),
        }
    };
    act.pieces.iter().enumerate().map(item).collect()
}

fn event(event: Value) -> Vec<u8> {
    let kind = event["type"].as_str().unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n").into_bytes()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
