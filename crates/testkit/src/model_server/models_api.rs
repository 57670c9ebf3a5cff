//! The responses of `GET /v1/models` and `GET /v1/models/{id}`.
//!
//! The fields are those of `ModelInfo` and `ModelCapabilities` in the vendor's Python client 2.9.0.

use serde_json::{Value, json};

use super::catalog::{DisabledThinking, Lifecycle, ModelSpec};

/// Returns the record of one model.
pub fn record(id: &str, model: &ModelSpec) -> Value {
    let support = |supported: bool| json!({ "supported": supported });
    let effort = |level: &str| support(model.effort.contains(&level));
    let disabled = !matches!(model.disabled, DisabledThinking::Refused(_));
    // Not stated for each model: features that this server has no rules for count as supported.
    let capabilities = json!({
        "batch": support(true),
        "citations": support(true),
        "code_execution": support(true),
        "context_management": {
            "supported": true,
            "clear_thinking_20251015": support(true),
            "clear_tool_uses_20250919": support(true),
            "compact_20260112": support(true),
        },
        "effort": {
            "supported": !model.effort.is_empty(),
            "low": effort("low"),
            "medium": effort("medium"),
            "high": effort("high"),
            "xhigh": effort("xhigh"),
            "max": effort("max"),
        },
        "image_input": support(true),
        "pdf_input": support(true),
        "server_tools": {"supported": true, "code_execution": support(true), "web_search": support(true)},
        "structured_outputs": support(true),
        "thinking": {
            "supported": model.adaptive || model.enabled,
            "types": {
                "adaptive": support(model.adaptive),
                "between_tools": support(model.between_tools),
                "disabled": support(disabled),
                "enabled": support(model.enabled),
            },
        },
    });
    // The vendor allows an epoch value where a date is unknown.
    let deprecated = (model.lifecycle != Lifecycle::Active).then_some("1970-01-01T00:00:00Z");
    json!({
        "type": "model",
        "id": id,
        "display_name": model.display_name,
        "created_at": "1970-01-01T00:00:00Z",
        "line": model.line,
        "lifecycle": model.lifecycle.name(),
        "deprecated_at": deprecated,
        "retires_at": model.retires_at,
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "capabilities": capabilities,
    })
}

/// Returns a page of at most `limit` records, starting after the model `after` if given.
pub fn page(records: Vec<Value>, after: Option<&str>, limit: usize) -> Value {
    let from =
        after.and_then(|id| records.iter().position(|record| record["id"] == id)).map_or(0, |at| at + 1);
    let data: Vec<Value> = records.iter().skip(from).take(limit).cloned().collect();
    let id = |record: Option<&Value>| record.map_or(Value::Null, |record| record["id"].clone());
    json!({
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "has_more": from + data.len() < records.len(),
        "data": data,
    })
}
