//! The conversation log, wrapped to any width.

use std::collections::VecDeque;

use serde_json::Value;

use crate::terminal::screen::{LiveArea, Screen, TextStyle};
use crate::terminal::{sent_text, strip_control};

/// Maximum number of lines; the conversation itself is stored by the assistant.
const MAX_LINES: usize = 2_000;

/// Shown while the conversation is empty.
const EMPTY_HINT: &str = "  (say something, like: call the dentist tomorrow at 10. F1 tells the keys.)\n";

#[derive(Clone, Debug, Default)]
pub struct ConversationLog {
    lines: VecDeque<String>,
    /// The unfinished line.
    unfinished: String,
}

impl ConversationLog {
    /// Creates the log from stored messages.
    pub fn from_messages(messages: &Value) -> Self {
        let mut log = Self::default();
        for entry in messages["messages"].as_array().into_iter().flatten() {
            let text = entry["text"].as_str().unwrap_or_default().trim();
            match entry["by"].as_str() {
                Some("human") if !text.is_empty() => log.push_user("> ", text),
                Some("assistant") if !text.is_empty() => log.push(&indent(text)),
                Some("tools") if entry["from"].is_string() => log.push(&indent(&sent_text(entry))),
                Some(_) | None => {}
            }
        }
        if log.lines.is_empty() {
            log.push(EMPTY_HINT);
        }
        log
    }

    /// Appends a message of the user.
    pub fn push_user(&mut self, prompt: &str, text: &str) {
        if !self.unfinished.is_empty() {
            self.push("\n");
        }
        self.push(&format!("{prompt}{}\n", text.replace('\n', "\n  ")));
    }

    /// Appends text.
    pub fn push(&mut self, words: &str) {
        for letter in strip_control(words).chars() {
            match letter {
                '\n' => self.lines.push_back(std::mem::take(&mut self.unfinished)),
                '\t' => self.unfinished.push_str("    "),
                letter => self.unfinished.push(letter),
            }
        }
        let spare = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.drain(..spare);
    }

    /// Returns the last `rows` rows at this width, skipping the last `skipped` ones.
    pub fn rows(&self, width: u16, rows: usize, skipped: usize) -> Vec<String> {
        let open = (!self.unfinished.is_empty()).then_some(&self.unfinished);
        let mut newest: VecDeque<String> = VecDeque::new();
        for line in self.lines.iter().chain(open).rev() {
            for row in wrap(line, width).into_iter().rev() {
                newest.push_front(row);
            }
            if newest.len() >= rows + skipped {
                break;
            }
        }
        let skipped = skipped.min(newest.len().saturating_sub(rows));
        newest.truncate(newest.len() - skipped);
        let first = newest.len().saturating_sub(rows);
        newest.into_iter().skip(first).collect()
    }

    /// Returns a lower bound of the number of lines.
    pub fn len(&self) -> usize {
        self.lines.len() + 1
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Wraps `line` at this width.
pub fn wrap(line: &str, width: u16) -> Vec<String> {
    let mut screen = Screen::new((width.saturating_add(1), 2), TextStyle::Plain);
    let rows = screen.show(&format!("{line}\n"), LiveArea::default());
    rows.trim_end_matches('\n').split('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_messages_are_followed_by_new_text() {
        let results = json!([{ "words": "two mails" }]);
        let mut log = ConversationLog::from_messages(&json!({ "messages": [
            { "by": "human", "text": "hello\nyou" },
            { "by": "human", "text": "" },
            { "by": "assistant", "text": "hi." },
            { "by": "tools", "results": [] },
            { "by": "tools", "from": "routine:mail", "results": results },
        ] }));
        log.push("  half");
        log.push_user("> ", "stop");
        let rows = ["> hello", "  you", "  hi.", "  two mails", "  half", "> stop"];
        assert_eq!(log.rows(40, 10, 0), rows);
        assert_eq!(log.rows(40, 2, 0), rows[4..]);
        assert_eq!(log.rows(40, 2, 3), rows[1..3]);
        assert_eq!(log.rows(40, 2, 100), rows[..2]);
        assert_eq!(log.rows(10, 2, 2), ["  two", "  mails"]);
    }

    #[test]
    fn an_empty_conversation_shows_a_hint() {
        assert!(
            ConversationLog::from_messages(&json!({ "messages": [] })).rows(100, 5, 0)[0]
                .contains("call the dentist")
        );
    }

    #[test]
    fn the_number_of_lines_is_limited() {
        let mut log = ConversationLog::default();
        (0..MAX_LINES + 10).for_each(|number| log.push(&format!("{number}\n")));
        assert_eq!((log.len(), log.rows(20, MAX_LINES, 0)[0].as_str()), (MAX_LINES + 1, "10"));
    }
}
