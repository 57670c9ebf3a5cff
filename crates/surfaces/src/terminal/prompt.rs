//! The prompt, which shows where the next message goes.

use serde_json::Value;

use crate::client::Shown;

/// Maximum length of a topic in the prompt, in characters.
const TOPIC_CHARS: usize = 30;

/// State of the prompt.
#[derive(Debug, Default)]
pub struct Prompt {
    /// Topic of the fork in which the user is.
    aside: Option<String>,
    line: Line,
}

/// Content of the input line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    /// Empty, or answer text.
    #[default]
    Free,
    Prompted,
}

impl Prompt {
    /// Updates the fork from an event.
    pub fn follow(&mut self, shown: &Shown) {
        match shown.name.as_str() {
            "hello" | "reload" => {
                self.aside = shown.data["fork"].is_object().then(|| topic(&shown.data["fork"]))
            }
            "forked" => self.aside = Some(topic(&shown.data)),
            "unforked" => self.aside = None,
            _ => {}
        }
    }

    /// Returns the prompt text and marks it as shown.
    pub fn stand(&mut self) -> String {
        self.line = Line::Prompted;
        self.words()
    }

    /// Returns the prompt text.
    pub fn words(&self) -> String {
        match self.aside.as_deref() {
            None => "> ".to_owned(),
            Some("") => "aside> ".to_owned(),
            Some(topic) => format!("aside ({topic})> "),
        }
    }

    /// Marks the prompt as gone after the user pressed enter.
    pub fn answered(&mut self) {
        self.line = Line::Free;
    }

    /// Returns `words` for output: on a new line if the prompt is shown.
    pub fn beside(&mut self, words: &str) -> String {
        match (self.line, words) {
            (Line::Free, _) | (_, "") => words.to_owned(),
            (Line::Prompted, _) => {
                self.line = Line::Free;
                let newline = if words.starts_with('\n') { "" } else { "\n" };
                format!("{newline}{words}")
            }
        }
    }

    /// Returns true if the prompt should be shown again after unrequested output.
    pub fn is_due(&self, shown: &Shown, words: &str) -> bool {
        let interjected =
            matches!(shown.name.as_str(), "hello" | "notice" | "unforked" | "compacted" | "card");
        interjected && !words.is_empty() && self.line == Line::Free
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

    fn shown(name: &str, data: Value) -> Shown {
        Shown { name: name.to_owned(), data }
    }

    /// IF-2: the prompt shows whether messages go to the fork.
    #[test]
    fn the_prompt_says_where_the_next_words_go() {
        let mut prompt = Prompt::default();
        let mut check = |name: &str, data: Value, expected: &str| {
            prompt.follow(&shown(name, data));
            assert_eq!(prompt.stand(), expected);
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
    fn what_comes_while_the_prompt_stands_has_a_line_of_its_own() {
        let mut prompt = Prompt::default();
        assert_eq!(prompt.beside("hello"), "hello");
        prompt.stand();
        assert_eq!(prompt.beside(""), "");
        assert_eq!(prompt.beside("news\n"), "\nnews\n");
        assert!(prompt.is_due(&shown("notice", json!({})), "news\n"));
        assert!(!prompt.is_due(&shown("delta", json!({})), "news\n"));
        prompt.stand();
        assert_eq!(prompt.beside("\n(you, elsewhere) hi\n"), "\n(you, elsewhere) hi\n");
        prompt.stand();
        prompt.answered();
        assert_eq!(prompt.beside("answer"), "answer");
    }
}
