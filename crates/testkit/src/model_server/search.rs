//! The vendor's server tools. Only web search is simulated.
//!
//! Sources: the types `web_search_tool_20250305_param`, `web_search_tool_result_block` and related
//! ones in the vendor's Python client 2.9.0, and the vendor's pages on the web search tool, on
//! server tools (`pause_turn`) and on prices. The error texts follow the request validation for
//! other fields; they are not published for these.

use serde_json::{Value, json};

use super::prompt::list;
use super::rules::extra_input_error;
use crate::scripted_replies::{ReplyPiece, ScriptedReply, SearchOutcome, WebPage};

/// The types of the web search tool.
const WEB_SEARCH_TYPES: &[&str] = &["web_search_20250305", "web_search_20260209", "web_search_20260318"];

/// The types of the vendor's other tools, from `tool_union_param` of the client.
const OTHER_TOOL_TYPES: &[&str] = &[
    "bash_20250124",
    "browser_toolset_20260801",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_toolset_20260801",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
];

/// The fields of the web search tool besides `type` and `name`. The newest type has one more.
const WEB_SEARCH_FIELDS: &[&str] = &[
    "type",
    "name",
    "allowed_callers",
    "allowed_domains",
    "blocked_domains",
    "cache_control",
    "defer_loading",
    "max_uses",
    "strict",
    "user_location",
];

/// Returns the web search tool of `request`, if it has one.
fn search_tool(request: &Value) -> Option<&Value> {
    let is_search =
        |tool: &&Value| tool["type"].as_str().is_some_and(|kind| WEB_SEARCH_TYPES.contains(&kind));
    list(&request["tools"]).iter().find(is_search)
}

/// Returns true if `request` lets the server search.
pub fn is_offered(request: &Value) -> bool {
    search_tool(request).is_some()
}

/// Checks the tool at index `at`, whose type is one of the vendor's.
pub fn check_tool(tool: &Value, at: usize) -> Result<(), String> {
    let kind = tool["type"].as_str().unwrap_or_default();
    if OTHER_TOOL_TYPES.contains(&kind) {
        return Ok(());
    }
    if !WEB_SEARCH_TYPES.contains(&kind) {
        return Err(unknown_type_error(kind, at));
    }
    let path = |field: &str| format!("tools.{at}.{kind}.{field}");
    if tool["name"] != "web_search" {
        return Err(format!("{}: Input should be 'web_search'", path("name")));
    }
    let newest = kind == "web_search_20260318";
    for field in tool.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let known = WEB_SEARCH_FIELDS.contains(&field.as_str()) || newest && field == "response_inclusion";
        if !known {
            return Err(extra_input_error(&path(field)));
        }
    }
    if !tool["max_uses"].is_null() && tool["max_uses"].as_u64().is_none_or(|uses| uses == 0) {
        return Err(format!("{}: Input should be greater than 0", path("max_uses")));
    }
    let allowed = &tool["allowed_domains"];
    let blocked = &tool["blocked_domains"];
    if !allowed.is_null() && !blocked.is_null() {
        return Err(format!("tools.{at}: only one of `allowed_domains` and `blocked_domains` may be given"));
    }
    let domains = list(allowed).iter().chain(list(blocked)).map(|domain| domain.as_str().unwrap_or_default());
    for domain in domains {
        if domain.is_empty() || domain.contains("://") {
            return Err(format!("tools.{at}: `{domain}` is not a domain; leave out the scheme"));
        }
    }
    let location = &tool["user_location"];
    if !location.is_null() && location["type"] != "approximate" {
        return Err(format!("{}: Input should be 'approximate'", path("user_location.type")));
    }
    Ok(())
}

/// Returns the error text for a tool of unknown type.
pub fn unknown_type_error(kind: &str, at: usize) -> String {
    let mut known: Vec<_> =
        WEB_SEARCH_TYPES.iter().chain(OTHER_TOOL_TYPES).map(|kind| format!("'{kind}'")).collect();
    known.sort_unstable();
    let known = known.join(", ");
    format!(
        "tools.{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {known}, 'custom'"
    )
}

/// Checks the server tool blocks of the message `content`: a result must follow its call, and a
/// page must come back with its encrypted content.
pub fn check_blocks(content: &[Value]) -> Result<(), String> {
    let mut calls: Vec<&str> = Vec::new();
    for (at, block) in content.iter().enumerate() {
        match block["type"].as_str() {
            Some("server_tool_use") => {
                let id = block["id"].as_str().unwrap_or_default();
                if !id.starts_with("srvtoolu_") {
                    return Err(format!(
                        "content.{at}.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'"
                    ));
                }
                if block["name"].as_str().is_none_or(str::is_empty) || !block["input"].is_object() {
                    return Err(format!("content.{at}.server_tool_use.name: Field required"));
                }
                calls.push(id);
            }
            Some("web_search_tool_result") => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if !calls.contains(&id) {
                    return Err(format!(
                        "content.{at}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: {id}"
                    ));
                }
                let is_encrypted =
                    |page: &Value| page["encrypted_content"].as_str().is_some_and(|it| !it.is_empty());
                if !list(&block["content"]).iter().all(is_encrypted) {
                    return Err(format!(
                        "content.{at}.web_search_tool_result.content.0.encrypted_content: Field required"
                    ));
                }
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// Returns true if the last assistant message is a turn that the server paused: it may be sent back
/// unchanged.
pub fn is_paused(blocks: &[Value]) -> bool {
    blocks.iter().any(|block| block["type"] == "server_tool_use")
}

/// Replaces searches and citations by the blocks that the vendor sends, within the `max_uses` of
/// the request.
pub fn expand_searches(reply: &mut ScriptedReply, request: &Value, serial: usize) {
    let max_uses = search_tool(request).and_then(|tool| tool["max_uses"].as_u64()).unwrap_or(u64::MAX);
    let mut searches = 0;
    let pieces = std::mem::take(&mut reply.pieces).into_iter().flat_map(|piece| match piece {
        ReplyPiece::Search { query, outcome: found } => {
            searches += 1;
            let id = format!("srvtoolu_{serial:06}_{searches}");
            let found = match found {
                SearchOutcome::Pages(_) if searches > max_uses => {
                    SearchOutcome::Error("max_uses_exceeded".to_owned())
                }
                SearchOutcome::Pages(_) | SearchOutcome::Error(_) | SearchOutcome::Pending => found,
            };
            search_pieces(&query, &id, found)
        }
        ReplyPiece::Citation { text, page } => vec![cited_piece(&text, &page)],
        ReplyPiece::Text(_)
        | ReplyPiece::Thinking { .. }
        | ReplyPiece::Note(_)
        | ReplyPiece::Call { .. }
        | ReplyPiece::Raw(_) => {
            vec![piece]
        }
    });
    reply.pieces = pieces.collect();
}

fn search_pieces(query: &str, id: &str, found: SearchOutcome) -> Vec<ReplyPiece> {
    let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}});
    let content = match found {
        SearchOutcome::Pages(pages) => pages.iter().map(page_block).collect(),
        SearchOutcome::Error(code) => json!({"type": "web_search_tool_result_error", "error_code": code}),
        SearchOutcome::Pending => return vec![ReplyPiece::Raw(call)],
    };
    let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": content});
    vec![ReplyPiece::Raw(call), ReplyPiece::Raw(result)]
}

fn page_block(page: &WebPage) -> Value {
    json!({
        "type": "web_search_result",
        "url": page.url,
        "title": page.title,
        "encrypted_content": format!("sealed-{}", page.url.len()),
        "page_age": "November 1, 2026",
    })
}

fn cited_piece(text: &str, page: &WebPage) -> ReplyPiece {
    let citation = json!({
        "type": "web_search_result_location",
        "url": page.url,
        "title": page.title,
        "encrypted_index": format!("index-{}", page.url.len()),
        "cited_text": page.words,
    });
    ReplyPiece::Raw(json!({"type": "text", "text": text, "citations": [citation]}))
}

/// Returns the value of `usage.server_tool_use`; failed searches are not charged. `None` if the
/// request did not allow searches.
pub fn usage(reply: &ScriptedReply, request: &Value) -> Option<Value> {
    search_tool(request)?;
    let is_charged = |piece: &&ReplyPiece| match piece {
        ReplyPiece::Raw(block) => block["type"] == "web_search_tool_result" && block["content"].is_array(),
        ReplyPiece::Text(_)
        | ReplyPiece::Thinking { .. }
        | ReplyPiece::Note(_)
        | ReplyPiece::Call { .. }
        | ReplyPiece::Search { .. }
        | ReplyPiece::Citation { .. } => false,
    };
    let searches = reply.pieces.iter().filter(is_charged).count();
    Some(json!({"web_search_requests": searches, "web_fetch_requests": 0}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_search_tool_has_the_fields_of_the_vendor() {
        let check = |change: Value, refusal: Option<&str>| {
            let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2});
            tool.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let message = check_tool(&tool, 0).err();
            match (&message, refusal) {
                (Some(message), Some(refusal)) => assert!(message.contains(refusal), "{message}"),
                (message, refusal) => assert_eq!(message.is_some(), refusal.is_some(), "{tool}: {message:?}"),
            }
        };
        check(json!({}), None);
        check(json!({"allowed_domains": ["example.org/blog"]}), None);
        check(json!({"user_location": {"type": "approximate", "country": "ES"}}), None);
        check(json!({"type": "web_search_20260318", "response_inclusion": "full"}), None);
        check(json!({"type": "web_search_20240101"}), Some("Input tag 'web_search_20240101' found"));
        check(json!({"name": "search"}), Some("Input should be 'web_search'"));
        check(json!({"max_uses": 0}), Some("max_uses: Input should be greater than 0"));
        check(json!({"max_results": 3}), Some("max_results: Extra inputs are not permitted"));
        check(json!({"response_inclusion": "full"}), Some("Extra inputs"));
        check(json!({"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}), Some("only one of"));
        check(json!({"allowed_domains": ["https://a.org"]}), Some("leave out the scheme"));
        check(json!({"user_location": {"type": "exact"}}), Some("approximate"));
    }
}
