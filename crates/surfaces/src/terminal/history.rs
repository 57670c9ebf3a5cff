//! History of entered lines.

use std::collections::VecDeque;

use domain::command::is_secret;

use super::keys::Direction;

/// Maximum number of lines.
const MAX_LINES: usize = 1_000;

/// The entered lines, and the position while recalling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    lines: VecDeque<String>,
    position: Position,
}

/// Position in the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Position {
    /// At a new line.
    #[default]
    New,
    /// At an old line; `draft` is the text of the new one.
    Old { at: usize, draft: String },
}

impl History {
    /// Parses the stored form, one line each.
    pub fn parse(text: &str) -> Self {
        let mut history = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            history.push(&unescape(line));
        }
        history
    }

    /// Returns the stored form.
    pub fn to_text(&self) -> String {
        self.lines.iter().map(|line| escape(line) + "\n").collect()
    }

    /// Adds an entered line, except secrets and repeats.
    pub fn push(&mut self, line: &str) {
        self.position = Position::New;
        if line.trim().is_empty() || is_secret(line) || self.lines.back().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push_back(line.to_owned());
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
        }
    }

    /// Returns the next line in the given direction; `now` is the current text. Returns `None` at
    /// the end.
    pub fn recall(&mut self, direction: Direction, now: &str) -> Option<String> {
        let (at, draft) = match (&self.position, direction) {
            (Position::New, Direction::Earlier) => (self.lines.len().checked_sub(1)?, now.to_owned()),
            (Position::New, Direction::Later) => return None,
            (Position::Old { at, draft }, Direction::Earlier) => (at.checked_sub(1)?, draft.clone()),
            (Position::Old { at, draft }, Direction::Later) => (at + 1, draft.clone()),
        };
        match self.lines.get(at).cloned() {
            Some(line) => {
                self.position = Position::Old { at, draft };
                Some(line)
            }
            None => {
                self.position = Position::New;
                Some(draft)
            }
        }
    }
}

/// Escapes line breaks.
fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescape(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => text.push(if letters.next() == Some('n') { '\n' } else { '\\' }),
            (letter, false) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recalling_keeps_the_unfinished_line() {
        let mut history = History::parse("one\ntwo\n");
        assert_eq!(history.recall(Direction::Later, "dra"), None);
        assert_eq!(history.recall(Direction::Earlier, "draft").as_deref(), Some("two"));
        assert_eq!(history.recall(Direction::Earlier, "two").as_deref(), Some("one"));
        assert_eq!(history.recall(Direction::Earlier, "one"), None);
        assert_eq!(history.recall(Direction::Later, "one").as_deref(), Some("two"));
        assert_eq!(history.recall(Direction::Later, "two").as_deref(), Some("draft"));
        assert_eq!(history.recall(Direction::Later, "draft"), None);
    }

    #[test]
    fn stored_lines_are_parsed_back() {
        let mut history = History::default();
        for line in ["a\nb", "c:\\new", "c:\\new", "", "  ", "\\\\n"] {
            history.push(line);
        }
        assert_eq!(History::parse(&history.to_text()), history);
        assert_eq!(history.lines, ["a\nb", "c:\\new", "\\\\n"]);
    }

    /// SU-3: a sign-in code is not stored, however it was entered.
    #[test]
    fn a_sign_in_code_is_not_stored() {
        let code = format!("{}#{}", "c".repeat(40), "s".repeat(40));
        let mut history = History::default();
        for line in ["hello", &code, &format!("/login {code}"), "/login"] {
            history.push(line);
        }
        assert_eq!(history.lines, ["hello", "/login"]);
    }

    #[test]
    fn only_the_newest_thousand_lines_are_stored() {
        let mut history = History::default();
        (0..1_500).for_each(|number| history.push(&number.to_string()));
        assert_eq!(history.lines.len(), MAX_LINES);
        assert_eq!(history.to_text().lines().next(), Some("500"));
    }
}
