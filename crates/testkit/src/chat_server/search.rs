//! The hosted web search of the Responses API.
//!
//! Sources: `web_search_tool_param`, `response_function_web_search` and `response_output_text` in
//! the vendor's Python client 3.51.0, and the vendor's guide on web search. The error texts follow
//! those for other parameters.

use serde_json::{Value, json};

use crate::scripted_replies::{SearchOutcome, WebPage};

/// The types of the tool, by version.
const TOOL_TYPES: [&str; 2] = ["web_search", "web_search_2025_08_26"];

/// The fields of the tool.
const TOOL_FIELDS: [&str; 5] =
    ["type", "external_web_access", "filters", "search_context_size", "user_location"];

/// Returns true if `tool` is the hosted web search.
pub fn is_hosted(tool: &Value) -> bool {
    tool["type"].as_str().is_some_and(|kind| TOOL_TYPES.contains(&kind))
}

/// Returns true if the hosted web search is the only tool of `request`.
pub fn is_only_tool(request: &Value) -> bool {
    let tools = list(&request["tools"]);
    !tools.is_empty() && tools.iter().all(is_hosted)
}

/// Checks the types of the tools and the parameters of the hosted web search.
pub fn check(request: &Value) -> Result<(), String> {
    let max_calls = &request["max_tool_calls"];
    if !max_calls.is_null() && max_calls.as_u64().is_none_or(|max_calls| max_calls == 0) {
        return Err(
            "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1.".to_owned()
        );
    }
    for (at, tool) in list(&request["tools"]).iter().enumerate() {
        let kind = tool["type"].as_str().unwrap_or_default();
        if kind != "function" && !is_hosted(tool) {
            return Err(format!(
                "Invalid value: '{kind}'. Supported values are: 'function', 'web_search', and 'web_search_2025_08_26'."
            ));
        }
        if !is_hosted(tool) {
            continue;
        }
        if request["reasoning"]["effort"] == "minimal" {
            return Err(
                "The following tools cannot be used with reasoning.effort 'minimal': web_search.".to_owned()
            );
        }
        let fields = tool.as_object().into_iter().flatten();
        if let Some((name, _)) = fields.into_iter().find(|(name, _)| !TOOL_FIELDS.contains(&name.as_str())) {
            return Err(format!("Unknown parameter: 'tools[{at}].{name}'."));
        }
        let size = &tool["search_context_size"];
        if !size.is_null() && !["low", "medium", "high"].iter().any(|known| size == known) {
            return Err(format!(
                "Invalid value: 'tools[{at}].search_context_size'. Supported values are: 'low', 'medium', and 'high'."
            ));
        }
    }
    Ok(())
}

/// Returns the output item of a search.
pub fn search_call_item(id: &str, query: &str, found: &SearchOutcome) -> Value {
    let status = match found {
        SearchOutcome::Pages(_) => "completed",
        SearchOutcome::Error(_) => "failed",
        SearchOutcome::Pending => "incomplete",
    };
    let action = json!({"type": "search", "query": query, "queries": [query]});
    json!({"id": id, "type": "web_search_call", "status": status, "action": action})
}

/// Returns a message that cites `page`; the citation covers the whole text.
pub fn cited_message_item(id: &str, text: &str, page: &WebPage) -> Value {
    let citation = json!({
        "type": "url_citation",
        "url": page.url,
        "title": page.title,
        "start_index": 0,
        "end_index": text.chars().count(),
    });
    let part = json!({"type": "output_text", "text": text, "annotations": [citation]});
    json!({
        "id": id, "type": "message", "role": "assistant", "status": "completed", "phase": "final_answer",
        "content": [part],
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosted_search_has_the_fields_of_the_vendor() {
        let refusal_after = |change: fn(&mut Value)| {
            let mut request = json!({"tools": [{"type": "web_search"}], "max_tool_calls": 2});
            change(&mut request);
            check(&request).err().unwrap_or_default()
        };
        assert_eq!(refusal_after(|_| {}), "");
        assert!(
            refusal_after(|request| request["tools"][0]["type"] = json!("web_search_1999"))
                .contains("Invalid value: 'web_search_1999'")
        );
        assert!(
            refusal_after(|request| request["tools"][0]["max_uses"] = json!(2))
                .contains("Unknown parameter: 'tools[0].max_uses'")
        );
        assert!(
            refusal_after(|request| request["tools"][0]["search_context_size"] = json!("huge"))
                .contains("search_context_size")
        );
        assert!(refusal_after(|request| request["max_tool_calls"] = json!(0)).contains("max_tool_calls"));
        assert!(
            refusal_after(|request| request["reasoning"]["effort"] = json!("minimal"))
                .contains("reasoning.effort 'minimal'")
        );
    }
}
