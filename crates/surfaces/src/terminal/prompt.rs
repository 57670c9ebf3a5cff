//! The prompt, which shows where the next message goes.

use serde_json::Value;

use crate::client::StreamEvent;

/// Maximum length of a topic in the prompt, in characters.
const TOPIC_CHARS: usize = 30;

/// State of the prompt.
#[derive(Debug, Default)]
pub struct Prompt {
    /// Topic of the fork in which the user is.
    fork_topic: Option<String>,
    line: LineState,
}

/// Content of the input line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    /// Empty, or answer text.
    #[default]
    Free,
    Prompt,
}

impl Prompt {
    /// Updates the fork from an event.
    pub fn on_event(&mut self, shown: &StreamEvent) {
        match shown.name.as_str() {
            "hello" | "reload" => {
                self.fork_topic = shown.data["fork"].is_object().then(|| topic(&shown.data["fork"]))
            }
            "forked" => self.fork_topic = Some(topic(&shown.data)),
            "unforked" => self.fork_topic = None,
            _ => {}
        }
    }

    /// Returns the prompt text and marks it as shown.
    pub fn show(&mut self) -> String {
        self.line = LineState::Prompt;
        self.text()
    }

    /// Returns the prompt text.
    pub fn text(&self) -> String {
        match self.fork_topic.as_deref() {
            None => "> ".to_owned(),
            Some("") => "aside> ".to_owned(),
            Some(topic) => format!("aside ({topic})> "),
        }
    }

    /// Marks the prompt as gone after the user pressed enter.
    pub fn hide(&mut self) {
        self.line = LineState::Free;
    }

    /// Returns `words` for output: on a new line if the prompt is shown.
    pub fn with_output(&mut self, words: &str) -> String {
        match (self.line, words) {
            (LineState::Free, _) | (_, "") => words.to_owned(),
            (LineState::Prompt, _) => {
                self.line = LineState::Free;
                let newline = if words.starts_with('\n') { "" } else { "\n" };
                format!("{newline}{words}")
            }
        }
    }

    /// Returns true if the prompt should be shown again after unrequested output.
    pub fn is_due(&self, shown: &StreamEvent, words: &str) -> bool {
        let interjected =
            matches!(shown.name.as_str(), "hello" | "notice" | "unforked" | "compacted" | "card");
        interjected && !words.is_empty() && self.line == LineState::Free
    }
}

fn topic(fork: &Value) -> String {
    let topic = fork["topic"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match topic.char_indices().nth(TOPIC_CHARS) {
        Some((end, _)) => format!("{}…", &topic[..end]),
        None => topic,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(name: &str, data: Value) -> StreamEvent {
        StreamEvent { name: name.to_owned(), data }
    }

    /// IF-2: the prompt shows whether messages go to the fork.
    #[test]
    fn the_prompt_shows_where_the_next_message_goes() {
        let mut prompt = Prompt::default();
        let mut check = |name: &str, data: Value, expected: &str| {
            prompt.on_event(&shown(name, data));
            assert_eq!(prompt.show(), expected);
        };
        check("hello", json!({ "fork": null }), "> ");
        check("forked", json!({ "topic": "car\ninsurance" }), "aside (car insurance)> ");
        check("said", json!({}), "aside (car insurance)> ");
        check("unforked", json!({}), "> ");
        check("forked", json!({ "topic": null }), "aside> ");
        check("reload", json!({ "fork": null }), "> ");
        check(
            "hello",
            json!({ "fork": { "topic": "a".repeat(40) } }),
            &format!("aside ({}…)> ", "a".repeat(30)),
        );
    }

    #[test]
    fn output_while_the_prompt_is_shown_starts_a_new_line() {
        let mut prompt = Prompt::default();
        assert_eq!(prompt.with_output("hello"), "hello");
        prompt.show();
        assert_eq!(prompt.with_output(""), "");
        assert_eq!(prompt.with_output("news\n"), "\nnews\n");
        assert!(prompt.is_due(&shown("notice", json!({})), "news\n"));
        assert!(!prompt.is_due(&shown("delta", json!({})), "news\n"));
        prompt.show();
        assert_eq!(prompt.with_output("\n(you, elsewhere) hi\n"), "\n(you, elsewhere) hi\n");
        prompt.show();
        prompt.hide();
        assert_eq!(prompt.with_output("answer"), "answer");
    }
}
