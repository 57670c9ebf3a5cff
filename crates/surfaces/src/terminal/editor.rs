//! The line editor: a pure state machine from keys to lines.

use unicode_segmentation::UnicodeSegmentation;

use super::history::History;
use super::keys::{Direction, Key, Motion};

/// Maximum length of a line in bytes.
const MAX_BYTES: usize = 1024 * 1024;

/// The edited line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// Position in bytes.
    cursor: usize,
    history: History,
}

/// Result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditResult {
    /// The line was finished.
    Entered(String),
    /// The line may have changed.
    Changed,
    /// The key is not handled here.
    Ignored,
}

impl Editor {
    /// Creates an empty line with a history.
    pub fn new(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// Adds a line to the history.
    pub fn remember(&mut self, line: &str) {
        self.history.push(line);
    }

    pub fn clear(&mut self) {
        self.set(String::new());
    }

    /// Replaces the line.
    pub fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Handles a key.
    pub fn handle_key(&mut self, key: &Key) -> EditResult {
        match key {
            Key::Char(letter) => self.insert(&letter.to_string()),
            Key::Pasted(text) => self.insert(text),
            Key::Newline => self.insert("\n"),
            Key::Move(to) => self.cursor = self.target(*to),
            Key::Erase(to) => self.erase(*to),
            Key::Recall(way) => self.recall(*way),
            Key::Enter => {
                let line = std::mem::take(&mut self.text);
                self.cursor = 0;
                return EditResult::Entered(line);
            }
            Key::Tab | Key::Escape | Key::Interrupt | Key::EndOfInput | Key::Pane(_) => {
                return EditResult::Ignored;
            }
        }
        EditResult::Changed
    }

    fn insert(&mut self, text: &str) {
        let fits = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let text: String = text.chars().filter(fits).collect();
        if self.text.len() + text.len() <= MAX_BYTES {
            self.text.insert_str(self.cursor, &text);
            self.cursor += text.len();
        }
    }

    fn erase(&mut self, to: Motion) {
        let place = self.target(to);
        let from = self.cursor.min(place);
        let until = self.cursor.max(place);
        self.text.replace_range(from..until, "");
        self.cursor = from;
    }

    fn target(&self, to: Motion) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match to {
            Motion::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            Motion::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            Motion::WordLeft => before.unicode_word_indices().next_back().map_or(0, |(at, _)| at),
            Motion::WordRight => {
                let word = after.unicode_word_indices().next();
                self.cursor + word.map_or(after.len(), |(at, word)| at + word.len())
            }
            Motion::Start => before.rfind('\n').map_or(0, |at| at + 1),
            Motion::End => self.cursor + after.find('\n').unwrap_or(after.len()),
        }
    }

    /// Moves up or down within a multi-line text, or recalls lines of the history.
    fn recall(&mut self, direction: Direction) {
        let line = match direction {
            Direction::Earlier => self.before().contains('\n').then(|| self.line_above()),
            Direction::Later => self.text[self.cursor..].contains('\n').then(|| self.line_below()),
        };
        if let Some(place) = line {
            self.cursor = place;
        } else if let Some(text) = self.history.recall(direction, &self.text) {
            self.set(text);
        }
    }

    fn line_above(&self) -> usize {
        let start = self.target(Motion::Start);
        let line = self.text[..start.saturating_sub(1)].rfind('\n').map_or(0, |at| at + 1);
        line + column_offset(&self.text[line..start.saturating_sub(1)], self.column())
    }

    fn line_below(&self) -> usize {
        let line = self.target(Motion::End) + 1;
        let end = self.text[line..].find('\n').map_or(self.text.len(), |at| line + at);
        line + column_offset(&self.text[line..end], self.column())
    }

    fn column(&self) -> usize {
        self.text[self.target(Motion::Start)..self.cursor].graphemes(true).count()
    }
}

/// Returns the offset of the grapheme `column`, or the end of `line`.
fn column_offset(line: &str, column: usize) -> usize {
    line.grapheme_indices(true).nth(column).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line after these keys, with `|` for the cursor.
    fn typed(keys: &[Key]) -> String {
        let mut editor = Editor::new(History::parse("first\nsecond\n"));
        for key in keys {
            editor.handle_key(key);
        }
        let mut text = editor.text().to_owned();
        text.insert(editor.cursor, '|');
        text
    }

    fn paste(text: &str) -> Key {
        Key::Pasted(text.to_owned())
    }

    #[test]
    fn a_line_is_edited_letter_by_letter_and_word_by_word() {
        let check = |keys: &[Key], expected: &str| assert_eq!(typed(keys), expected, "{keys:?}");
        check(&[Key::Char('h'), Key::Char('é'), Key::Move(Motion::Left), Key::Char('x')], "hx|é");
        check(&[paste("one two"), Key::Move(Motion::WordLeft), Key::Erase(Motion::WordLeft)], "|two");
        check(&[paste("one two"), Key::Move(Motion::Start), Key::Move(Motion::WordRight)], "one| two");
        check(&[paste("👨‍👩‍👧 e\u{301}"), Key::Erase(Motion::Left), Key::Erase(Motion::Left)], "👨‍👩‍👧|");
        check(&[paste("👨‍👩‍👧"), Key::Erase(Motion::Left), Key::Erase(Motion::Left)], "|");
        check(&[paste("one"), Key::Erase(Motion::Start)], "|");
        check(&[paste("one"), Key::Move(Motion::Left), Key::Erase(Motion::End)], "on|");
        check(&[paste("a\u{1b}[2Jb\u{7}")], "a[2Jb|");
    }

    #[test]
    fn multi_line_text_and_history_are_navigated() {
        let check = |keys: &[Key], expected: &str| assert_eq!(typed(keys), expected, "{keys:?}");
        let up = Key::Recall(Direction::Earlier);
        let down = Key::Recall(Direction::Later);
        check(&[paste("ab"), Key::Newline, paste("cdef"), up.clone()], "ab|\ncdef");
        check(&[paste("ab"), Key::Newline, paste("c"), up.clone(), down.clone()], "ab\nc|");
        check(&[paste("new"), up.clone()], "second|");
        check(&[paste("new"), up.clone(), up.clone(), down.clone(), down.clone()], "new|");
        check(&[paste("ab\ncd"), Key::Move(Motion::Start)], "ab\n|cd");
    }

    #[test]
    fn enter_returns_the_line_and_clears_it() {
        let mut editor = Editor::default();
        editor.handle_key(&paste("buy milk"));
        assert_eq!(editor.handle_key(&Key::Enter), EditResult::Entered("buy milk".to_owned()));
        assert_eq!(editor.text(), "");
        assert_eq!(editor.handle_key(&Key::Tab), EditResult::Ignored);
    }
}
