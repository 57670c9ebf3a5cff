//! Renders an embed as text with a bar on the left.

use serde_json::Value;

pub fn render(embed: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut parts = vec![text(&embed["description"])];
    let field = |field: &Value| format!("{}: {}", text(&field["name"]), text(&field["value"]));
    parts.push(list(&embed["fields"]).iter().map(field).collect::<Vec<_>>().join("\n"));
    let button = |button: &Value| format!("[{}]", text(&button["label"]));
    parts.push(list(&embed["buttons"]).iter().map(button).collect::<Vec<_>>().join(" "));
    parts.push(text(&embed["footer"]));
    let mut lines = vec![format!("┌ {}", text(&embed["title"]))];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if lines.len() > 1 {
            lines.push("│".to_owned());
        }
        lines.extend(part.lines().map(|line| format!("│ {line}").trim_end().to_owned()));
    }
    lines.push("└".to_owned());
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_embed_is_rendered_with_a_bar() {
        let embed = json!({
            "title": "Today", "description": "two things.\n\nboth short.",
            "fields": [{"name": "15:00", "value": "dentist"}, {"name": "17:30", "value": "groceries"}],
            "buttons": [{"label": "Done"}, {"label": "Later"}], "footer": "fork",
        });
        let lines = [
            "┌ Today",
            "│ two things.",
            "│",
            "│ both short.",
            "│",
            "│ 15:00: dentist",
            "│ 17:30: groceries",
            "│",
            "│ [Done] [Later]",
            "│",
            "│ fork",
            "└",
            "",
        ];
        assert_eq!(render(&embed), lines.join("\n"));
        assert_eq!(render(&json!({"title": "Done"})), "┌ Done\n└\n");
    }
}
