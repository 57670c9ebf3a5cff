//! Compares a test's own observations with the data directory.

use std::path::Path;

use serde_json::Value;

use super::seen::{Entry, Seen};
use crate::model_server::Received;

/// Acknowledged messages, and requests to the model.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The texts of all acknowledged messages; they must be distinct.
    pub acknowledged: Vec<String>,
    /// Every request that reached the model.
    pub requests: Vec<Received>,
}

impl Ledger {
    /// Returns all observations that the directory at `root` contradicts.
    pub fn check(&self, root: &Path) -> Vec<String> {
        match Seen::read(root) {
            Ok(seen) => self.lost(&seen).chain(self.invented(&seen)).collect(),
            Err(error) => vec![format!("the directory cannot be read: {error:#}")],
        }
    }

    /// Reports acknowledged messages that do not occur exactly once.
    fn lost<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = String> + 'a {
        self.acknowledged.iter().filter_map(|text| {
            let count = seen.messages.iter().filter(|message| message.text == *text).count();
            (count != 1).then(|| format!("`{text}` was acknowledged and is there {count} times"))
        })
    }

    /// Reports requests whose history is not a path in the tree.
    fn invented<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = String> + 'a {
        let ways: Vec<Vec<String>> = seen.leaves().map(|leaf| way(seen, leaf)).collect();
        self.requests.iter().enumerate().filter_map(move |(at, request)| {
            let told = told(&request.json);
            let known = ways.iter().any(|way| way.starts_with(&told));
            (!known).then(|| format!("request {} told a history that is on no way: {told:#?}", at + 1))
        })
    }
}

/// Returns a request's history as text lines, one per block.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    // System notes are not entries.
    let said = messages.iter().filter(|message| message["role"] != "system");
    let blocks = said.flat_map(|message| {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        blocks.into_iter().map(move |block| block_line(&role, &block))
    });
    blocks.collect()
}

fn block_line(role: &str, block: &Value) -> String {
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => format!("{role}: {}", text("text")),
        Some("tool_use") => format!("call {} of {}", text("id"), text("name")),
        Some("tool_result") => format!("result of {}: {}", text("tool_use_id"), text("content")),
        _ => "(opaque)".to_owned(),
    }
}

/// Returns the path to `leaf` in the same format.
fn way(seen: &Seen, leaf: i64) -> Vec<String> {
    seen.path(Some(leaf)).iter().filter_map(|id| seen.entries.get(id)).flat_map(entry_lines).collect()
}

fn entry_lines(entry: &Entry) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match entry.kind.as_str() {
        "human" => {
            let preface = text(&entry.body["preface"]);
            let words = text(&entry.body["text"]);
            let blocks = [preface.trim_end(), words.as_str()].into_iter();
            blocks.filter(|block| !block.trim().is_empty()).map(|block| format!("user: {block}")).collect()
        }
        "tools" => {
            let results = entry.results();
            let line =
                |result: &Value| format!("result of {}: {}", text(&result["call"]), text(&result["text"]));
            results.iter().map(line).collect()
        }
        _ => {
            let blocks = entry.body["blocks"].as_array().cloned().unwrap_or_default();
            blocks.iter().filter_map(said_line).collect()
        }
    }
}

/// Blank text is not sent, and trailing white space is removed.
fn said_line(block: &Value) -> Option<String> {
    if let Some(text) = block["text"].as_str() {
        let text = text.trim_end();
        return (!text.is_empty()).then(|| format!("assistant: {text}"));
    }
    let call = &block["call"];
    match (call["id"].as_str(), call["name"].as_str()) {
        (Some(id), Some(name)) => Some(format!("call {id} of {name}")),
        (_, _) => Some("(opaque)".to_owned()),
    }
}
