//! A host that speaks an older Messages API, such as a proxy or another vendor behind `ANTHROPIC_BASE_URL`.
//!
//! Such hosts refuse beta headers and the newer fields, and have no Models API (reported for DeepSeek, Kimi, GLM and
//! gateways). They serve every model name and check no signatures.

use serde_json::Value;

use super::betas;
use super::prompt::{list, prompt_parts};
use super::rules::extra_input_error;

/// Refuses a request with the first field that the host does not know.
pub fn check(json: &Value, betas: &[String]) -> Result<(), String> {
    if !betas.is_empty() {
        let values: Vec<_> = betas.iter().map(|beta| format!("`{beta}`")).collect();
        return Err(betas::unexpected_values(&values.join(", ")));
    }
    if !json["output_config"].is_null() {
        return Err(extra_input_error("output_config"));
    }
    let kind = json["thinking"]["type"].as_str().unwrap_or_default();
    for field in ["display", "block_binding"] {
        if !json["thinking"][field].is_null() {
            return Err(extra_input_error(&format!("thinking.{kind}.{field}")));
        }
    }
    if let Some(at) = list(&json["tools"]).iter().position(|tool| !tool["type"].is_null()) {
        let kind = json["tools"][at]["type"].as_str().unwrap_or_default();
        return Err(format!(
            "tools.{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'custom'"
        ));
    }
    if kind == "between_tools" {
        return Err("\"thinking.type.between_tools\" is not supported for this model.".to_owned());
    }
    if let Some(at) = list(&json["messages"]).iter().position(|message| message["role"] == "system") {
        return Err(format!("messages.{at}.role: Input should be 'user' or 'assistant'"));
    }
    let with_ttl = |mark: &Option<Value>| mark.as_ref().is_some_and(|mark| !mark["ttl"].is_null());
    match prompt_parts(json).into_iter().find(|part| with_ttl(&part.mark)) {
        Some(part) => Err(extra_input_error(&format!("{}.cache_control.ephemeral.ttl", part.path))),
        None => Ok(()),
    }
}
