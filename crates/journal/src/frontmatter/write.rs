//! Writing a whole file: only for one that nobody wrote by hand.

use super::Value;

/// The head of a file, one key after the other.
pub(crate) struct Head(String);

impl Head {
    pub(crate) fn new() -> Self {
        Self("---\n".to_owned())
    }

    /// Adds a key, unless it has nothing to say.
    pub(crate) fn with(mut self, key: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            for line in lines(key, &value) {
                self.0.push_str(&line);
                self.0.push('\n');
            }
        }
        self
    }

    /// Adds words, unless they are `usual`.
    pub(crate) fn text(self, key: &str, text: &str, usual: &str) -> Self {
        self.with(key, (text != usual).then(|| Value::Text(text.to_owned())))
    }

    /// The file, with `body` under the head.
    pub(crate) fn above(mut self, body: &str) -> String {
        self.0.push_str("---\n");
        self.0.push_str(body);
        self.0.push('\n');
        self.0
    }
}

/// The lines of a key and its value.
pub(super) fn lines(key: &str, value: &Value) -> Vec<String> {
    let first = format!("{key}: {}", value.beside());
    let mut lines = vec![first.trim_end().to_owned()];
    lines.extend(value.below());
    lines
}
