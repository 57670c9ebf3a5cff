//! Writes a whole file; used only for files that were not written by hand.

use super::Value;

/// Builds the head of a file.
pub(crate) struct FrontmatterBuilder(String);

impl FrontmatterBuilder {
    pub(crate) fn new() -> Self {
        Self("---\n".to_owned())
    }

    /// Adds a key if it has a value.
    pub(crate) fn with(mut self, key: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            for line in key_lines(key, &value) {
                self.0.push_str(&line);
                self.0.push('\n');
            }
        }
        self
    }

    /// Adds a text unless it is the default `usual`.
    pub(crate) fn text(self, key: &str, text: &str, usual: &str) -> Self {
        self.with(key, (text != usual).then(|| Value::Text(text.to_owned())))
    }

    /// The file: the head, then `body`.
    pub(crate) fn with_body(mut self, body: &str) -> String {
        self.0.push_str("---\n");
        self.0.push_str(body);
        self.0.push('\n');
        self.0
    }
}

/// The lines of a key and its value.
pub(super) fn key_lines(key: &str, value: &Value) -> Vec<String> {
    let first = format!("{key}: {}", value.inline_text());
    let mut lines = vec![first.trim_end().to_owned()];
    lines.extend(value.following_lines());
    lines
}
