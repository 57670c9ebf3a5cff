//! Captions: short descriptions of calls for the user.

/// The most characters of a command that are shown.
const MAX_COMMAND_CHARS: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caption {
    tool: String,
    values: Vec<String>,
}

impl Caption {
    /// Creates the caption of a call of the tool `name`. `value` looks up a text in the input.
    pub fn new(name: &str, value: impl Fn(&str) -> Option<String>) -> Self {
        let value = |key: &str| value(key).unwrap_or_default();
        let values = match name {
            "Read" | "Write" | "Edit" => vec![end_of_path(&value("file_path"))],
            "Bash" => vec![first_line(&value("command"))],
            "Grep" => vec![value("pattern"), value("path")],
            "Glob" => vec![value("pattern")],
            "WebSearch" => vec![value("query")],
            "WebFetch" => vec![value("url")],
            "Task" => vec![value("description")],
            _ => Vec::new(),
        };
        let values = values.into_iter().filter(|value| !value.is_empty()).collect();
        Self { tool: without_server(name).to_owned(), values }
    }

    /// Returns the caption as plain text.
    pub fn plain(&self) -> String {
        self.render(|value| value.to_owned())
    }

    /// Returns the caption with Markdown escaped.
    pub fn escaped(&self) -> String {
        self.render(escape_markdown)
    }

    /// Returns the line that shows a call in a chat.
    pub fn line(&self) -> String {
        format!("\n-# *{}*\n", self.escaped())
    }

    /// Returns the line that shows a refused call in a chat.
    pub fn denied_line(&self) -> String {
        format!("\n-# *~~{}~~ — denied*\n", self.escaped())
    }

    fn render(&self, shown: impl Fn(&str) -> String) -> String {
        if self.values.is_empty() {
            self.tool.clone()
        } else {
            let values: Vec<String> = self.values.iter().map(|value| shown(value)).collect();
            format!("{}({})", self.tool, values.join(", "))
        }
    }
}

/// Escapes `*` and `_` for Markdown.
pub fn escape_markdown(text: &str) -> String {
    text.replace('*', "\\*").replace('_', "\\_")
}

/// Removes the server from a name like `mcp__<server>__<tool>`.
fn without_server(name: &str) -> &str {
    let tool = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    tool.map_or(name, |(_, tool)| tool)
}

fn end_of_path(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [.., above, name] if parts.len() > 2 => format!("{above}/{name}"),
        _ => path.to_owned(),
    }
}

fn first_line(command: &str) -> String {
    command.lines().next().unwrap_or_default().chars().take(MAX_COMMAND_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption(name: &str, given: &[(&str, &str)]) -> Caption {
        Caption::new(name, |key| {
            given.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned())
        })
    }

    /// ST-20, ST-21: A caption shows the main input of each tool.
    #[test]
    fn caption_shows_tool_and_main_input() {
        let check = |name: &str, given: &[(&str, &str)], expected: &str| {
            assert_eq!(caption(name, given).escaped(), expected);
        };
        check("mcp__discord__ping_user", &[("message", "hi")], "ping_user");
        check("mcp__docs__search__all", &[], "search__all");
        check("mcp__odd", &[], "mcp__odd");
        check("Read", &[("file_path", "/data/notes/my_day.md")], "Read(notes/my\\_day.md)");
        check("Write", &[("file_path", "notes/day.md")], "Write(notes/day.md)");
        check("Edit", &[("file_path", "/day.md")], "Edit(/day.md)");
        check("Bash", &[("command", "ls *.md\nrm -rf /")], "Bash(ls \\*.md)");
        check("Bash", &[("command", &"ü".repeat(90))], &format!("Bash({})", "ü".repeat(50)));
        check("Grep", &[("pattern", "a_b"), ("path", "src")], "Grep(a\\_b, src)");
        check("Grep", &[("pattern", "a"), ("path", "")], "Grep(a)");
        check("Glob", &[("pattern", "**.md")], "Glob(\\*\\*.md)");
        check("WebSearch", &[("query", "tea")], "WebSearch(tea)");
        check("WebFetch", &[("url", "https://example.org/a_b")], "WebFetch(https://example.org/a\\_b)");
        check("Task", &[("description", "read mail")], "Task(read mail)");
        check("Read", &[], "Read");
        check("inbox_add", &[("text", "milk")], "inbox_add");
    }

    /// ST-6: A call is shown as a small line, struck out if it was refused.
    #[test]
    fn refused_call_is_struck_out() {
        let caption = caption("Read", &[("file_path", "a_b.md")]);
        assert_eq!(caption.line(), "\n-# *Read(a\\_b.md)*\n");
        assert_eq!(caption.denied_line(), "\n-# *~~Read(a\\_b.md)~~ — denied*\n");
        assert_eq!(caption.plain(), "Read(a_b.md)");
    }
}
