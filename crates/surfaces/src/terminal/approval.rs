//! Approvals as text: the whole call, and how to answer.

use serde_json::Value;

/// Renders an open approval.
pub fn render_open(data: &Value) -> String {
    let (id, word) = (&data["id"], |name: &str| data[name].as_str().unwrap_or_default());
    let late = if data["waits"] == true { "" } else { ". i went on without it; with a yes i try it again" };
    let lines: String = word("input").lines().map(|line| format!("│ {line}\n")).collect();
    let always = Some(word("always")).filter(|words| !words.is_empty());
    let always = always.map(|words| format!("│ {words}\n")).unwrap_or_default();
    format!(
        "┌ may i? approval {id}: {}{late}\n│ {}\n{lines}{always}└ /allow {id} · /deny {id} · /always {id}\n",
        word("caption"),
        word("tool"),
    )
}

/// Renders a closed approval.
pub fn render_closed(data: &Value) -> String {
    let word = |name: &str| data[name].as_str().unwrap_or_default();
    format!("(approval {}: {} — {})\n", data["id"], word("caption"), word("how"))
}

/// Renders a tool call.
pub fn render_tool(data: &Value) -> String {
    let tool = data["tool"].as_str().unwrap_or("working");
    match data["doing"].as_str() {
        Some("denied") => format!("({tool} — denied)\n"),
        // Shown by the approval itself.
        Some("waits") => String::new(),
        _ => format!("({tool})\n"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// PM-7: an approval shows the whole call and the commands that answer it.
    #[test]
    fn an_approval_shows_how_to_answer_it() {
        let card = json!({
            "id": 3, "caption": "Bash(ls)", "tool": "Bash", "input": "{\n  \"command\": \"ls\"\n}", "waits": true,
            "always": "always means exactly this and nothing else, for 30 days",
        });
        let lines = [
            "┌ may i? approval 3: Bash(ls)",
            "│ Bash",
            "│ {",
            "│   \"command\": \"ls\"",
            "│ }",
            "│ always means exactly this and nothing else, for 30 days",
            "└ /allow 3 · /deny 3 · /always 3",
            "",
        ];
        assert_eq!(render_open(&card), lines.join("\n"));
        assert!(render_open(&json!({ "id": 3, "waits": false })).contains("i went on without it"));
    }

    /// PM-15, ST-6: a denied call is shown as denied.
    #[test]
    fn a_denied_call_is_shown_as_denied() {
        assert_eq!(render_tool(&json!({ "tool": "Bash(ls)", "doing": "denied" })), "(Bash(ls) — denied)\n");
        assert_eq!(render_tool(&json!({ "tool": "Bash(ls)", "doing": "runs" })), "(Bash(ls))\n");
        assert_eq!(
            render_closed(&json!({ "id": 3, "caption": "Bash(ls)", "how": "denied" })),
            "(approval 3: Bash(ls) — denied)\n"
        );
    }
}
