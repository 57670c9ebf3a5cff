//! The rules for a request, and the vendor's error texts.
//!
//! Each rule is one function. Differences between models are in [`super::catalog`]; the error texts
//! are the vendor's where they are known. Rules about replayed thinking blocks are in
//! [`super::binding`].

use std::collections::BTreeSet;

use serde_json::Value;

use super::betas;
use super::catalog::{DisabledThinking, ModelSpec};
use super::prompt::{MergedMessage, list, merged_messages, prompt_parts};
use super::search;

/// The maximum number of cache marks in one request.
const MAX_CACHE_MARKS: usize = 4;

/// The supported image types.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The values of the `anthropic-version` header. The newest one forbids sampling parameters on every model.
const VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", STRICT_VERSION];
const STRICT_VERSION: &str = "2026-10-21";

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Messages,
    CountTokens,
}

/// A request with everything that its rules depend on.
#[derive(Clone, Copy, Debug)]
pub struct RuleInput<'a> {
    pub endpoint: Endpoint,
    pub json: &'a Value,
    pub betas: &'a [String],
    pub version: &'a str,
    pub model: &'a ModelSpec,
}

/// Fields of `POST /v1/messages` without a beta header, from the request types of the vendor's client.
const REQUEST_FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// The subset of these fields that `POST /v1/messages/count_tokens` accepts.
const COUNT_TOKENS_FIELDS: &[&str] = &[
    "model",
    "messages",
    "cache_control",
    "output_config",
    "speed",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// The fields of a tool that is not one of the vendor's own.
const TOOL_FIELDS: &[&str] = &[
    "name",
    "description",
    "input_schema",
    "type",
    "cache_control",
    "strict",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
    "allowed_callers",
];

/// The fields of each kind of block; kinds that are not listed are not checked.
const BLOCK_FIELDS: &[(&str, &[&str])] = &[
    ("text", &["text", "cache_control", "citations"]),
    ("image", &["source", "cache_control", "transformations"]),
    ("thinking", &["thinking", "signature"]),
    ("redacted_thinking", &["data"]),
    ("tool_use", &["id", "name", "input", "cache_control", "caller", "toolset_name"]),
    ("tool_result", &["tool_use_id", "content", "is_error", "cache_control", "toolset_name"]),
    ("server_tool_use", &["id", "name", "input", "cache_control", "caller"]),
    ("web_search_tool_result", &["tool_use_id", "content", "cache_control", "caller"]),
];

/// Checks the headers and the top-level fields, before the model is looked up.
pub fn check_shape(endpoint: Endpoint, json: &Value, betas: &[String], version: &str) -> Result<(), String> {
    if !VERSIONS.contains(&version) {
        return Err(format!("anthropic-version: \"{version}\" is not a valid version"));
    }
    betas::check(betas)?;
    let Some(fields) = json.as_object() else {
        return Err("Input should be a valid dictionary or object to extract fields from".to_owned());
    };
    let allowed = match endpoint {
        Endpoint::Messages => REQUEST_FIELDS,
        Endpoint::CountTokens => COUNT_TOKENS_FIELDS,
    };
    let allowed_by_beta = |field: &str| {
        betas::BETA_FIELDS
            .iter()
            .any(|(name, beta)| *name == field && betas.iter().any(|given| given == beta))
    };
    for field in fields.keys() {
        if !allowed.contains(&field.as_str()) && !allowed_by_beta(field) {
            return Err(extra_input_error(field));
        }
    }
    match json["model"].as_str() {
        None | Some("") => Err("model: Field required".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Checks a request to a model that exists.
pub fn check_request(request: &RuleInput<'_>) -> Result<(), String> {
    let json = request.json;
    check_max_tokens(request)?;
    check_thinking(request)?;
    check_effort(request)?;
    check_sampling(request)?;
    check_tools(json)?;
    check_tool_choice(request)?;
    if list(&json["messages"]).is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    list(&json["system"]).iter().try_for_each(check_text)?;
    check_cache_marks(json)?;
    for (at, message) in list(&json["messages"]).iter().enumerate() {
        check_role(request, at).map_err(|wrong| with_message_path(at, &wrong))?;
        check_message(request, message).map_err(|wrong| format!("messages.{at}.{wrong}"))?;
    }
    check_calls(&merged_messages(json))?;
    check_tool_loop(request)?;
    check_last_message(request)
}

/// Adds the path of the message, except for the vendor's texts without one.
fn with_message_path(at: usize, error: &str) -> String {
    if error == NO_SYSTEM_MESSAGES { error.to_owned() } else { format!("messages.{at}.{error}") }
}

/// Returns the error text for a field that is unknown at `path`.
pub fn extra_input_error(path: &str) -> String {
    format!("{path}: Extra inputs are not permitted")
}

fn check_max_tokens(request: &RuleInput<'_>) -> Result<(), String> {
    if request.endpoint == Endpoint::CountTokens {
        return Ok(());
    }
    let json = request.json;
    let max = request.model.max_output;
    match json["max_tokens"].as_u64() {
        None if json["max_tokens"].is_null() => Err("max_tokens: Field required".to_owned()),
        None => Err("max_tokens: Input should be a valid integer".to_owned()),
        // Zero only writes the cache, which needs no stream.
        Some(0) if json["stream"] == true => {
            Err("max_tokens: Input should be greater than or equal to 1".to_owned())
        }
        Some(tokens) if tokens > max => {
            let model = json["model"].as_str().unwrap_or_default();
            Err(format!(
                "max_tokens: {tokens} > {max}, which is the maximum allowed number of output tokens for {model}"
            ))
        }
        Some(_) => Ok(()),
    }
}

fn check_thinking(request: &RuleInput<'_>) -> Result<(), String> {
    let thinking = &request.json["thinking"];
    let model = request.model;
    if thinking.is_null() {
        return Ok(());
    }
    let Some(kind) = thinking["type"].as_str() else {
        return Err("thinking: Unable to extract tag using discriminator 'type'".to_owned());
    };
    match kind {
        "adaptive" if !model.adaptive => {
            return Err("adaptive thinking is not supported on this model".to_owned());
        }
        "disabled" => {
            if let DisabledThinking::Refused(text) = model.disabled {
                return Err(text.to_owned());
            }
        }
        "enabled" if !model.enabled => {
            return Err("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.".to_owned());
        }
        "between_tools" if !model.between_tools => {
            return Err("\"thinking.type.between_tools\" is not supported for this model.".to_owned());
        }
        "adaptive" | "enabled" | "between_tools" => {}
        other => {
            return Err(format!(
                "thinking: Input tag '{other}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'"
            ));
        }
    }
    check_thinking_fields(request, kind)?;
    if kind == "enabled" { check_budget(request) } else { Ok(()) }
}

/// `display` and `block_binding` are valid only with `adaptive` and `enabled`, and two of their
/// values only with a beta header.
fn check_thinking_fields(request: &RuleInput<'_>, kind: &str) -> Result<(), String> {
    let has = |beta: &str| request.betas.iter().any(|given| given == beta);
    let allowed: &[&str] = match kind {
        "adaptive" if has(betas::BINDING_CONTROLS) => &["display", "block_binding"],
        "adaptive" => &["display"],
        "enabled" if has(betas::BINDING_CONTROLS) => &["budget_tokens", "display", "block_binding"],
        "enabled" => &["budget_tokens", "display"],
        _ => &[],
    };
    let thinking = &request.json["thinking"];
    for (field, value) in thinking.as_object().into_iter().flatten() {
        let path = format!("thinking.{kind}.{field}");
        if field == "type" {
            continue;
        }
        if !allowed.contains(&field.as_str()) {
            return Err(extra_input_error(&path));
        }
        match (field.as_str(), value.as_str()) {
            ("display", Some("omitted" | "summarized")) => {}
            ("display", None) if value.is_null() => {}
            ("display", Some("updates")) if has(betas::DISPLAY_UPDATES) && request.model.display_updates => {}
            // Not stated whether a model that is not listed refuses or ignores it.
            ("display", Some("updates")) if has(betas::DISPLAY_UPDATES) => {
                return Err(format!("{path}: 'updates' is not supported for this model."));
            }
            ("display", _) => return Err(format!("{path}: Input should be 'summarized' or 'omitted'")),
            ("block_binding", _) => check_block_binding(&path, value)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_block_binding(path: &str, binding: &Value) -> Result<(), String> {
    let Some(fields) = binding.as_object() else {
        return if binding.is_null() {
            Ok(())
        } else {
            Err(format!("{path}: Input should be a valid dictionary"))
        };
    };
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("prefix_mismatch_behavior", Value::Null) => {}
            ("prefix_mismatch_behavior", Value::String(text)) if text == "error" || text == "drop_block" => {}
            ("prefix_mismatch_behavior", _) => {
                return Err(format!("{path}.{field}: Input should be 'error' or 'drop_block'"));
            }
            _ => return Err(extra_input_error(&format!("{path}.{field}"))),
        }
    }
    Ok(())
}

fn check_budget(request: &RuleInput<'_>) -> Result<(), String> {
    let budget = &request.json["thinking"]["budget_tokens"];
    let max_tokens = request.json["max_tokens"].as_u64();
    match budget.as_u64() {
        None => Err("thinking.enabled.budget_tokens: Field required".to_owned()),
        Some(budget) if budget < 1024 => {
            Err("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned())
        }
        Some(budget) if max_tokens.is_some_and(|max_tokens| max_tokens <= budget) => {
            Err("`max_tokens` must be greater than `thinking.budget_tokens`".to_owned())
        }
        Some(_) => Ok(()),
    }
}

fn check_effort(request: &RuleInput<'_>) -> Result<(), String> {
    let config = &request.json["output_config"];
    for field in config.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let allowed_by_beta =
            field == "task_budget" && request.betas.iter().any(|beta| beta == "task-budgets-2026-03-13");
        if !matches!(field.as_str(), "effort" | "format") && !allowed_by_beta {
            return Err(extra_input_error(&format!("output_config.{field}")));
        }
    }
    if !config.is_null() && !config.is_object() {
        return Err("output_config: Input should be a valid dictionary".to_owned());
    }
    if config["effort"].is_null() {
        return Ok(());
    }
    let effort = check_level(request.model, "output_config.effort", &config["effort"])?;
    let thinking = request.json["thinking"]["type"].as_str().unwrap_or_default();
    let limited = thinking == "between_tools"
        || (thinking == "disabled" && request.model.disabled == DisabledThinking::UpToHigh);
    if limited && !request.model.generic && matches!(effort, "xhigh" | "max") {
        return Err(format!(
            "output_config.effort '{effort}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking."
        ));
    }
    Ok(())
}

/// Returns the effort level in `value` if the model supports it.
fn check_level<'a>(model: &ModelSpec, path: &str, value: &'a Value) -> Result<&'a str, String> {
    let effort = value.as_str().unwrap_or_default();
    if !matches!(effort, "low" | "medium" | "high" | "xhigh" | "max") {
        return Err(format!("{path}: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"));
    }
    if model.effort.is_empty() {
        return Err("This model does not support the effort parameter.".to_owned());
    }
    if !model.effort.contains(&effort) {
        let mut levels = model.effort.to_vec();
        levels.sort_unstable();
        let levels = levels.join(", ");
        return Err(format!(
            "This model does not support effort level '{effort}'. Supported levels: {levels}."
        ));
    }
    Ok(effort)
}

/// Refuses sampling parameters other than the default.
fn check_sampling(request: &RuleInput<'_>) -> Result<(), String> {
    let allowed = request.model.sampling && request.version != STRICT_VERSION;
    for field in ["temperature", "top_p", "top_k"] {
        let value = &request.json[field];
        let default = value.is_null() || (field == "temperature" && value.as_f64() == Some(1.0));
        if !default && !allowed {
            return Err(format!("`{field}` is deprecated for this model."));
        }
    }
    Ok(())
}

fn check_tools(json: &Value) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (at, tool) in list(&json["tools"]).iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            return Err(format!("tools.{at}.custom.name: Field required"));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
        // The vendor's own tools have a type and fields of their own.
        if !tool["type"].is_null() && tool["type"] != "custom" {
            search::check_tool(tool, at)?;
            continue;
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if name.len() > 128 || !name.bytes().all(plain) {
            return Err(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("tools.{at}.custom.input_schema.type: Input should be 'object'"));
        }
        for field in tool.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !TOOL_FIELDS.contains(&field.as_str()) {
                return Err(extra_input_error(&format!("tools.{at}.custom.{field}")));
            }
        }
    }
    Ok(())
}

fn check_tool_choice(request: &RuleInput<'_>) -> Result<(), String> {
    let choice = &request.json["tool_choice"];
    match choice["type"].as_str() {
        None if choice.is_null() => Ok(()),
        Some("auto" | "none") => Ok(()),
        Some("any" | "tool") if !request.model.forced_tool_choice => {
            Err("tool_choice: type \"tool\" and \"any\" are not supported for this model.".to_owned())
        }
        Some("any") => Ok(()),
        Some("tool") if choice["name"].is_string() => Ok(()),
        Some("tool") => Err("tool_choice.tool.name: Field required".to_owned()),
        _ => Err(
            "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'"
                .to_owned(),
        ),
    }
}

const NO_SYSTEM_MESSAGES: &str = "role 'system' is not supported on this model";

/// A system message follows a user message and is the last one or followed by the assistant's.
fn check_role(request: &RuleInput<'_>, at: usize) -> Result<(), String> {
    let messages = list(&request.json["messages"]);
    let role = |at: usize| messages.get(at).and_then(|message| message["role"].as_str());
    match role(at).unwrap_or_default() {
        "user" | "assistant" => Ok(()),
        "system" if !request.model.system_messages => Err(NO_SYSTEM_MESSAGES.to_owned()),
        "system" if at == 0 => Err("role: Input should be 'user' or 'assistant'".to_owned()),
        "system" if request.model.generic => Ok(()),
        "system" if role(at - 1) != Some("user") => {
            Err("role: a 'system' message must follow a 'user' message".to_owned())
        }
        "system" if !matches!(role(at + 1), None | Some("assistant")) => {
            Err("role: a 'system' message must be last or be followed by an 'assistant' message".to_owned())
        }
        "system" => Ok(()),
        _ => Err("role: Input should be 'user' or 'assistant'".to_owned()),
    }
}

fn check_message(request: &RuleInput<'_>, message: &Value) -> Result<(), String> {
    let role = message["role"].as_str().unwrap_or_default();
    for field in message.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let required_beta = match field.as_str() {
            "role" | "content" => continue,
            "clear_at" if role == "system" => Some(betas::SYSTEM_CLEAR_AT),
            "output_config" if role == "system" => Some(betas::MESSAGE_OUTPUT_CONFIG),
            _ => None,
        };
        if !required_beta.is_some_and(|beta| request.betas.iter().any(|given| given == beta)) {
            return Err(extra_input_error(field));
        }
    }
    check_message_effort(request, message)?;
    match &message["content"] {
        Value::String(text) if text.trim().is_empty() => Err("content: must not be empty".to_owned()),
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() && message["output_config"]["effort"].is_string() => Ok(()),
        Value::Array(blocks) if blocks.is_empty() => Err("content: must not be empty".to_owned()),
        Value::Array(blocks) => {
            blocks.iter().enumerate().try_for_each(|(at, block)| {
                check_block(request, role, block).map_err(|wrong| format!("content.{at}.{wrong}"))
            })?;
            if role == "assistant" && !request.model.generic { search::check_blocks(blocks) } else { Ok(()) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("content: Input should be a valid list".to_owned())
        }
    }
}

/// The effort of a system message applies from the next turn on; changing it requires thinking.
fn check_message_effort(request: &RuleInput<'_>, message: &Value) -> Result<(), String> {
    let effort = &message["output_config"]["effort"];
    if effort.is_null() {
        return Ok(());
    }
    let level = check_level(request.model, "output_config.effort", effort)?;
    let before = request.json["output_config"]["effort"].as_str().unwrap_or(request.model.default_effort);
    let thinking = request.json["thinking"]["type"].as_str();
    let off = matches!(thinking, Some("disabled" | "between_tools"))
        || (thinking.is_none() && !request.model.thinks_by_default);
    if off && level != before {
        return Err(format!(
            "output_config.effort '{level}' differs from the '{before}' in effect before it; it can only change with thinking on"
        ));
    }
    Ok(())
}

fn check_block(request: &RuleInput<'_>, role: &str, block: &Value) -> Result<(), String> {
    let kind = block["type"].as_str().unwrap_or_default();
    let has = |beta: &str| request.betas.iter().any(|given| given == beta);
    match (kind, role) {
        ("text", _) => check_text(block),
        ("tool_addition" | "tool_removal", "system")
            if has(betas::TOOL_CHANGES) || has(betas::INLINE_TOOLS) =>
        {
            Ok(())
        }
        ("image", "user") => check_image(&block["source"]),
        ("document" | "search_result", "user") => Ok(()),
        ("tool_result", "user") if block["tool_use_id"].is_string() => Ok(()),
        ("tool_use", "assistant") => check_call(block),
        ("thinking", "assistant") if !block["thinking"].is_string() => {
            Err("thinking.thinking: Field required".to_owned())
        }
        ("thinking", "assistant") if block["signature"].as_str().is_some_and(|it| !it.is_empty()) => Ok(()),
        ("thinking", "assistant") => Err("thinking.signature: Field required".to_owned()),
        ("redacted_thinking", "assistant") if block["data"].is_string() => Ok(()),
        ("server_tool_use" | "web_search_tool_result", "assistant") => Ok(()),
        _ => Err(format!("{kind}: does not match any of the expected tags or is incomplete")),
    }?;
    // Tests send blocks with unknown fields to generic models, to verify that they are replayed
    // byte for byte.
    if request.model.generic {
        return Ok(());
    }
    let Some((_, allowed)) = BLOCK_FIELDS.iter().find(|(name, _)| *name == kind) else { return Ok(()) };
    for field in block.as_object().into_iter().flat_map(serde_json::Map::keys) {
        if field != "type" && !allowed.contains(&field.as_str()) {
            return Err(extra_input_error(&format!("{kind}.{field}")));
        }
    }
    Ok(())
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

fn check_image(source: &Value) -> Result<(), String> {
    let known = source["media_type"].as_str().is_some_and(|kind| IMAGE_TYPES.contains(&kind));
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

/// Checks cache marks: at most four, never on thinking or empty text, and one hour before five
/// minutes.
fn check_cache_marks(request: &Value) -> Result<(), String> {
    let marked: Vec<_> = prompt_parts(request).into_iter().filter(|part| part.mark.is_some()).collect();
    if marked.len() > MAX_CACHE_MARKS {
        let found = marked.len();
        return Err(format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {found}."
        ));
    }
    let mut seen_short = false;
    for part in &marked {
        let path = &part.path;
        let kind = &part.block["type"];
        if kind == "thinking" || kind == "redacted_thinking" {
            return Err(format!("{path}: cache_control cannot be set for thinking blocks"));
        }
        if kind == "text" && part.block["text"].as_str().is_some_and(|text| text.trim().is_empty()) {
            return Err(format!("{path}: cache_control cannot be set for empty text blocks"));
        }
        let mark = part.mark.as_ref().unwrap_or(&Value::Null);
        if mark["type"] != "ephemeral" {
            return Err(format!(
                "{path}.cache_control: Input tag {} found using 'type' does not match any of the expected tags: 'ephemeral'",
                mark["type"]
            ));
        }
        match mark["ttl"].as_str() {
            Some("1h") if seen_short => {
                return Err(format!(
                    "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
                ));
            }
            Some("1h") => {}
            Some("5m") => seen_short = true,
            None if mark["ttl"].is_null() => seen_short = true,
            _ => return Err(format!("{path}.cache_control.ttl: Input should be '5m' or '1h'")),
        }
    }
    Ok(())
}

/// Every call must be answered by the next message, every result must have its call, and results
/// must come first.
fn check_calls(messages: &[MergedMessage]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
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

/// With a thinking budget, the turn that tool results continue begins with thinking.
fn check_tool_loop(request: &RuleInput<'_>) -> Result<(), String> {
    if request.json["thinking"]["type"] != "enabled" || request.model.generic {
        return Ok(());
    }
    let messages = list(&request.json["messages"]);
    let has_results =
        |message: &Value| list(&message["content"]).iter().any(|block| block["type"] == "tool_result");
    if !messages.last().is_some_and(has_results) {
        return Ok(());
    }
    let begin = messages.iter().rposition(|message| message["role"] == "user" && !has_results(message));
    let begin = begin.map_or(0, |at| at + 1);
    let kind = messages.get(begin).and_then(|reply| reply["content"][0]["type"].as_str()).unwrap_or("text");
    if matches!(kind, "thinking" | "redacted_thinking") {
        return Ok(());
    }
    Err(format!(
        "messages.{begin}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
    ))
}

fn check_last_message(request: &RuleInput<'_>) -> Result<(), String> {
    let messages = merged_messages(request.json);
    let Some(last) = messages.last().filter(|last| last.role == "assistant") else { return Ok(()) };
    // A paused turn is sent back unchanged, and the server continues it.
    if search::is_offered(request.json) && search::is_paused(&last.blocks) {
        return Ok(());
    }
    if !request.model.prefill {
        return Err("This model does not support assistant message prefill. The conversation must end with a user message.".to_owned());
    }
    let text = last.blocks.last().and_then(|block| block["text"].as_str()).unwrap_or_default();
    if text.ends_with(char::is_whitespace) {
        Err("messages: final assistant content cannot end with trailing whitespace".to_owned())
    } else {
        Ok(())
    }
}

/// Refuses a prompt that does not fit into the window.
pub fn check_prompt_length(tokens: u64, window: u64) -> Result<(), String> {
    if tokens > window {
        return Err(format!("prompt is too long: {tokens} tokens > {window} maximum"));
    }
    Ok(())
}
