//! The line editor: a pure state machine from keys to lines.

use unicode_segmentation::UnicodeSegmentation;

use super::history::History;
use super::keys::{Key, To, Way};

/// Maximum length of a line in bytes.
const BYTES: usize = 1024 * 1024;

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
pub enum Edited {
    /// The line was finished.
    Entered(String),
    /// The line may have changed.
    Line,
    /// The key is not handled here.
    Nothing,
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
    pub fn press(&mut self, key: &Key) -> Edited {
        match key {
            Key::Letter(letter) => self.insert(&letter.to_string()),
            Key::Pasted(text) => self.insert(text),
            Key::Newline => self.insert("\n"),
            Key::Move(to) => self.cursor = self.place(*to),
            Key::Erase(to) => self.erase(*to),
            Key::Recall(way) => self.recall(*way),
            Key::Enter => {
                let line = std::mem::take(&mut self.text);
                self.cursor = 0;
                return Edited::Entered(line);
            }
            Key::Tab | Key::Escape | Key::Interrupt | Key::Leave | Key::Pane(_) => return Edited::Nothing,
        }
        Edited::Line
    }

    fn insert(&mut self, text: &str) {
        let fits = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let text: String = text.chars().filter(fits).collect();
        if self.text.len() + text.len() <= BYTES {
            self.text.insert_str(self.cursor, &text);
            self.cursor += text.len();
        }
    }

    fn erase(&mut self, to: To) {
        let place = self.place(to);
        let from = self.cursor.min(place);
        let until = self.cursor.max(place);
        self.text.replace_range(from..until, "");
        self.cursor = from;
    }

    fn place(&self, to: To) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match to {
            To::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            To::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            To::WordLeft => before.unicode_word_indices().next_back().map_or(0, |(at, _)| at),
            To::WordRight => {
                let word = after.unicode_word_indices().next();
                self.cursor + word.map_or(after.len(), |(at, word)| at + word.len())
            }
            To::Start => before.rfind('\n').map_or(0, |at| at + 1),
            To::End => self.cursor + after.find('\n').unwrap_or(after.len()),
        }
    }

    /// Moves up or down within a multi-line text, or recalls lines of the history.
    fn recall(&mut self, way: Way) {
        let line = match way {
            Way::Earlier => self.before().contains('\n').then(|| self.above()),
            Way::Later => self.text[self.cursor..].contains('\n').then(|| self.below()),
        };
        if let Some(place) = line {
            self.cursor = place;
        } else if let Some(text) = self.history.recall(way, &self.text) {
            self.set(text);
        }
    }

    fn above(&self) -> usize {
        let start = self.place(To::Start);
        let line = self.text[..start.saturating_sub(1)].rfind('\n').map_or(0, |at| at + 1);
        line + nth(&self.text[line..start.saturating_sub(1)], self.column())
    }

    fn below(&self) -> usize {
        let line = self.place(To::End) + 1;
        let end = self.text[line..].find('\n').map_or(self.text.len(), |at| line + at);
        line + nth(&self.text[line..end], self.column())
    }

    fn column(&self) -> usize {
        self.text[self.place(To::Start)..self.cursor].graphemes(true).count()
    }
}

/// Returns the offset of the grapheme `column`, or the end of `line`.
fn nth(line: &str, column: usize) -> usize {
    line.grapheme_indices(true).nth(column).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line after these keys, with `|` for the cursor.
    fn typed(keys: &[Key]) -> String {
        let mut editor = Editor::new(History::read("first\nsecond\n"));
        for key in keys {
            editor.press(key);
        }
        let mut text = editor.text().to_owned();
        text.insert(editor.cursor, '|');
        text
    }

    fn words(text: &str) -> Key {
        Key::Pasted(text.to_owned())
    }

    #[test]
    fn a_line_is_edited_letter_by_letter_and_word_by_word() {
        let check = |keys: &[Key], expected: &str| assert_eq!(typed(keys), expected, "{keys:?}");
        check(&[Key::Letter('h'), Key::Letter('é'), Key::Move(To::Left), Key::Letter('x')], "hx|é");
        check(&[words("one two"), Key::Move(To::WordLeft), Key::Erase(To::WordLeft)], "|two");
        check(&[words("one two"), Key::Move(To::Start), Key::Move(To::WordRight)], "one| two");
        check(&[words("👨‍👩‍👧 e\u{301}"), Key::Erase(To::Left), Key::Erase(To::Left)], "👨‍👩‍👧|");
        check(&[words("👨‍👩‍👧"), Key::Erase(To::Left), Key::Erase(To::Left)], "|");
        check(&[words("one"), Key::Erase(To::Start)], "|");
        check(&[words("one"), Key::Move(To::Left), Key::Erase(To::End)], "on|");
        check(&[words("a\u{1b}[2Jb\u{7}")], "a[2Jb|");
    }

    #[test]
    fn a_line_can_have_several_lines_and_old_ones_come_back() {
        let check = |keys: &[Key], expected: &str| assert_eq!(typed(keys), expected, "{keys:?}");
        let up = Key::Recall(Way::Earlier);
        let down = Key::Recall(Way::Later);
        check(&[words("ab"), Key::Newline, words("cdef"), up.clone()], "ab|\ncdef");
        check(&[words("ab"), Key::Newline, words("c"), up.clone(), down.clone()], "ab\nc|");
        check(&[words("new"), up.clone()], "second|");
        check(&[words("new"), up.clone(), up.clone(), down.clone(), down.clone()], "new|");
        check(&[words("ab\ncd"), Key::Move(To::Start)], "ab\n|cd");
    }

    #[test]
    fn enter_gives_the_line_away() {
        let mut editor = Editor::default();
        editor.press(&words("buy milk"));
        assert_eq!(editor.press(&Key::Enter), Edited::Entered("buy milk".to_owned()));
        assert_eq!(editor.text(), "");
        assert_eq!(editor.press(&Key::Tab), Edited::Nothing);
    }
}
