//! Requests for the human's yes as they stand in a terminal: the whole call, and how to answer.

use serde_json::Value;

/// A request that can be answered.
pub fn asked(data: &Value) -> String {
    let (id, word) = (&data["id"], |name: &str| data[name].as_str().unwrap_or_default());
    let late = match data["waits"] == true {
        true => "",
        false => ". i went on without it; with a yes i try it again",
    };
    let lines: String = word("input").lines().map(|line| format!("│ {line}\n")).collect();
    format!(
        "┌ may i? request {id}: {}{late}\n│ {}\n{lines}└ /allow {id} · /deny {id} · /always {id}\n",
        word("caption"),
        word("tool"),
    )
}

/// A request that was closed.
pub fn answered(data: &Value) -> String {
    let word = |name: &str| data[name].as_str().unwrap_or_default();
    format!("(request {}: {} — {})\n", data["id"], word("caption"), word("how"))
}

/// What a tool does.
pub fn work(data: &Value) -> String {
    let tool = data["tool"].as_str().unwrap_or("working");
    match data["doing"].as_str() {
        Some("denied") => format!("({tool} — denied)\n"),
        // The request itself says so.
        Some("waits") => String::new(),
        _ => format!("({tool})\n"),
    }
}
