//! Compares a test's own observations with the data directory.

use std::path::Path;

use serde_json::Value;

use super::snapshot::{DataSnapshot, Entry};
use crate::model_server::MessagesRequest;

/// Acknowledged messages, and requests to the model.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// The texts of all acknowledged messages; they must be distinct.
    pub acknowledged: Vec<String>,
    /// Every request that reached the model.
    pub requests: Vec<MessagesRequest>,
}

impl Observations {
    /// Returns all observations that the directory at `root` contradicts.
    pub fn check(&self, root: &Path) -> Vec<String> {
        match DataSnapshot::read(root) {
            Ok(snapshot) => self.lost_messages(&snapshot).chain(self.unknown_histories(&snapshot)).collect(),
            Err(error) => vec![format!("the directory cannot be read: {error:#}")],
        }
    }

    /// Reports acknowledged messages that do not occur exactly once.
    fn lost_messages<'a>(&'a self, snapshot: &'a DataSnapshot) -> impl Iterator<Item = String> + 'a {
        self.acknowledged.iter().filter_map(|text| {
            let count = snapshot.messages.iter().filter(|message| message.text == *text).count();
            (count != 1).then(|| format!("`{text}` was acknowledged and is there {count} times"))
        })
    }

    /// Reports requests whose history is not a path in the tree.
    fn unknown_histories<'a>(&'a self, snapshot: &'a DataSnapshot) -> impl Iterator<Item = String> + 'a {
        let paths: Vec<Vec<String>> = snapshot.leaves().map(|leaf| path_lines(snapshot, leaf)).collect();
        self.requests.iter().enumerate().filter_map(move |(at, request)| {
            let lines = request_lines(&request.json);
            let known = paths.iter().any(|path| path.starts_with(&lines));
            (!known).then(|| format!("request {} told a history that is on no way: {lines:#?}", at + 1))
        })
    }
}

/// Returns a request's history as text lines, one per block.
fn request_lines(request: &Value) -> Vec<String> {
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
fn path_lines(snapshot: &DataSnapshot, leaf: i64) -> Vec<String> {
    snapshot.path(Some(leaf)).iter().filter_map(|id| snapshot.entries.get(id)).flat_map(entry_lines).collect()
}

fn entry_lines(entry: &Entry) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match entry.kind.as_str() {
        "human" => {
            let preface = text(&entry.body["preface"]);
            let message = text(&entry.body["text"]);
            let blocks = [preface.trim_end(), message.as_str()].into_iter();
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
            blocks.iter().filter_map(assistant_line).collect()
        }
    }
}

/// Blank text is not sent, and trailing white space is removed.
fn assistant_line(block: &Value) -> Option<String> {
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
