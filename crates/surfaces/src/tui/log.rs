//! The conversation log, wrapped to any width.

use std::collections::VecDeque;

use serde_json::Value;

use crate::terminal::screen::{Live, Look, Screen};
use crate::terminal::{readable, sent_words};

/// Maximum number of lines; the conversation itself is stored by the assistant.
const LINES: usize = 2_000;

/// Shown while the conversation is empty.
const NOTHING_YET: &str = "  (say something, like: call the dentist tomorrow at 10. F1 tells the keys.)\n";

#[derive(Clone, Debug, Default)]
pub struct Log {
    lines: VecDeque<String>,
    /// The unfinished line.
    open: String,
}

impl Log {
    /// Creates the log from stored messages.
    pub fn read(messages: &Value) -> Self {
        let mut log = Self::default();
        for entry in messages["messages"].as_array().into_iter().flatten() {
            let text = entry["text"].as_str().unwrap_or_default().trim();
            match entry["by"].as_str() {
                Some("human") if !text.is_empty() => log.human("> ", text),
                Some("assistant") if !text.is_empty() => log.push(&indented(text)),
                Some("tools") if entry["from"].is_string() => log.push(&indented(&sent_words(entry))),
                Some(_) | None => {}
            }
        }
        if log.lines.is_empty() {
            log.push(NOTHING_YET);
        }
        log
    }

    /// Appends a message of the user.
    pub fn human(&mut self, prompt: &str, text: &str) {
        if !self.open.is_empty() {
            self.push("\n");
        }
        self.push(&format!("{prompt}{}\n", text.replace('\n', "\n  ")));
    }

    /// Appends text.
    pub fn push(&mut self, words: &str) {
        for letter in readable(words).chars() {
            match letter {
                '\n' => self.lines.push_back(std::mem::take(&mut self.open)),
                '\t' => self.open.push_str("    "),
                letter => self.open.push(letter),
            }
        }
        let spare = self.lines.len().saturating_sub(LINES);
        self.lines.drain(..spare);
    }

    /// Returns the last `rows` rows at this width, skipping the last `skipped` ones.
    pub fn rows(&self, width: u16, rows: usize, skipped: usize) -> Vec<String> {
        let open = (!self.open.is_empty()).then_some(&self.open);
        let mut newest: VecDeque<String> = VecDeque::new();
        for line in self.lines.iter().chain(open).rev() {
            for row in wrapped(line, width).into_iter().rev() {
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

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Wraps `line` at this width.
pub fn wrapped(line: &str, width: u16) -> Vec<String> {
    let mut screen = Screen::new((width.saturating_add(1), 2), Look::Plain);
    let rows = screen.show(&format!("{line}\n"), Live::default());
    rows.trim_end_matches('\n').split('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_before_is_there_and_what_comes_follows_it() {
        let results = json!([{ "words": "two mails" }]);
        let mut log = Log::read(&json!({ "messages": [
            { "by": "human", "text": "hello\nyou" },
            { "by": "human", "text": "" },
            { "by": "assistant", "text": "hi." },
            { "by": "tools", "results": [] },
            { "by": "tools", "from": "routine:mail", "results": results },
        ] }));
        log.push("  half");
        log.human("> ", "stop");
        let rows = ["> hello", "  you", "  hi.", "  two mails", "  half", "> stop"];
        assert_eq!(log.rows(40, 10, 0), rows);
        assert_eq!(log.rows(40, 2, 0), rows[4..]);
        assert_eq!(log.rows(40, 2, 3), rows[1..3]);
        assert_eq!(log.rows(40, 2, 100), rows[..2]);
        assert_eq!(log.rows(10, 2, 2), ["  two", "  mails"]);
    }

    #[test]
    fn who_never_said_anything_is_told_what_to_say() {
        assert!(Log::read(&json!({ "messages": [] })).rows(100, 5, 0)[0].contains("call the dentist"));
    }

    #[test]
    fn only_so_many_lines_are_kept() {
        let mut log = Log::default();
        (0..LINES + 10).for_each(|number| log.push(&format!("{number}\n")));
        assert_eq!((log.len(), log.rows(20, LINES, 0)[0].as_str()), (LINES + 1, "10"));
    }
}
