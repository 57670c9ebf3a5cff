//! History of entered lines.

use std::collections::VecDeque;

use domain::command::is_secret;

use super::keys::Way;

/// Maximum number of lines.
const LINES: usize = 1_000;

/// The entered lines, and the position while recalling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    lines: VecDeque<String>,
    looking: Looking,
}

/// Position in the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Looking {
    /// At a new line.
    #[default]
    Ahead,
    /// At an old line; `draft` is the text of the new one.
    Back { at: usize, draft: String },
}

impl History {
    /// Parses the stored form, one line each.
    pub fn read(text: &str) -> Self {
        let mut history = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            history.push(&unfolded(line));
        }
        history
    }

    /// Returns the stored form.
    pub fn write(&self) -> String {
        self.lines.iter().map(|line| folded(line) + "\n").collect()
    }

    /// Adds an entered line, except secrets and repeats.
    pub fn push(&mut self, line: &str) {
        self.looking = Looking::Ahead;
        if line.trim().is_empty() || is_secret(line) || self.lines.back().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push_back(line.to_owned());
        if self.lines.len() > LINES {
            self.lines.pop_front();
        }
    }

    /// Returns the next line in the given direction; `now` is the current text. Returns `None` at
    /// the end.
    pub fn recall(&mut self, way: Way, now: &str) -> Option<String> {
        let (at, draft) = match (&self.looking, way) {
            (Looking::Ahead, Way::Earlier) => (self.lines.len().checked_sub(1)?, now.to_owned()),
            (Looking::Ahead, Way::Later) => return None,
            (Looking::Back { at, draft }, Way::Earlier) => (at.checked_sub(1)?, draft.clone()),
            (Looking::Back { at, draft }, Way::Later) => (at + 1, draft.clone()),
        };
        match self.lines.get(at).cloned() {
            Some(line) => {
                self.looking = Looking::Back { at, draft };
                Some(line)
            }
            None => {
                self.looking = Looking::Ahead;
                Some(draft)
            }
        }
    }
}

/// Escapes line breaks.
fn folded(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unfolded(line: &str) -> String {
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
    fn one_can_go_back_and_forth_and_find_the_unfinished_line_again() {
        let mut history = History::read("one\ntwo\n");
        assert_eq!(history.recall(Way::Later, "dra"), None);
        assert_eq!(history.recall(Way::Earlier, "draft").as_deref(), Some("two"));
        assert_eq!(history.recall(Way::Earlier, "two").as_deref(), Some("one"));
        assert_eq!(history.recall(Way::Earlier, "one"), None);
        assert_eq!(history.recall(Way::Later, "one").as_deref(), Some("two"));
        assert_eq!(history.recall(Way::Later, "two").as_deref(), Some("draft"));
        assert_eq!(history.recall(Way::Later, "draft"), None);
    }

    #[test]
    fn what_is_kept_is_read_again_as_it_was() {
        let mut history = History::default();
        for line in ["a\nb", "c:\\new", "c:\\new", "", "  ", "\\\\n"] {
            history.push(line);
        }
        assert_eq!(History::read(&history.write()), history);
        assert_eq!(history.lines, ["a\nb", "c:\\new", "\\\\n"]);
    }

    /// SU-3: a sign-in code is not stored, however it was entered.
    #[test]
    fn a_code_to_sign_in_with_is_not_kept() {
        let code = format!("{}#{}", "c".repeat(40), "s".repeat(40));
        let mut history = History::default();
        for line in ["hello", &code, &format!("/login {code}"), "/login"] {
            history.push(line);
        }
        assert_eq!(history.lines, ["hello", "/login"]);
    }

    #[test]
    fn only_the_newest_thousand_are_kept() {
        let mut history = History::default();
        (0..1_500).for_each(|number| history.push(&number.to_string()));
        assert_eq!(history.lines.len(), LINES);
        assert_eq!(history.write().lines().next(), Some("500"));
    }
}
