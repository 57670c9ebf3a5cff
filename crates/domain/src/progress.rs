//! Progress notes: short texts that the model writes between tool calls, about the work it is doing.
//!
//! A note is shown while its turn runs. It is never part of the answer, the journal or the conversation that is sent to
//! the model. Its text is as untrusted as any other text of the model, so it is reduced to one short line here, and each
//! surface escapes that line for its own markup.

use crate::hidden_chars::is_hidden;

/// The most characters of a note that are shown.
pub const MAX_NOTE_CHARS: usize = 240;
/// The most bytes of a note that are kept. White space and hidden characters count here and are not shown.
const MAX_NOTE_BYTES: usize = 8 * 1024;

/// The current note of a turn, joined from the pieces in which it arrives.
#[derive(Clone, Debug, Default)]
pub struct ProgressNote {
    received: String,
    line: String,
}

impl ProgressNote {
    /// Adds a piece of text; an empty piece starts a new note. Returns the line to show if it
    /// changed. The line of the previous note stays until the new one has text.
    pub fn add(&mut self, text: &str) -> Option<&str> {
        if text.is_empty() {
            self.received.clear();
            return None;
        }
        let room = MAX_NOTE_BYTES.saturating_sub(self.received.len());
        self.received.extend(text.chars().take(room));
        let line = one_line(&self.received);
        if line.is_empty() || line == self.line {
            return None;
        }
        self.line = line;
        Some(&self.line)
    }
}

/// Returns `text` as one line of at most `MAX_NOTE_CHARS` characters, without control characters
/// and hidden characters.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let visible = word.chars().filter(|c| !is_hidden(*c));
        let mut space = count > 0;
        for c in visible {
            if count + usize::from(space) >= MAX_NOTE_CHARS {
                line.push('…');
                return line;
            }
            if std::mem::take(&mut space) {
                line.push(' ');
                count += 1;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_append_and_an_empty_piece_starts_a_new_note() {
        let mut note = ProgressNote::default();
        assert_eq!(note.add("Checking "), Some("Checking"));
        assert_eq!(note.add("the calendar."), Some("Checking the calendar."));
        assert_eq!(note.add(""), None);
        assert_eq!(note.add(" \n"), None);
        assert_eq!(note.add("Now the mail."), Some("Now the mail."));
    }

    #[test]
    fn a_note_is_one_short_line_without_control_and_hidden_characters() {
        let mut note = ProgressNote::default();
        assert_eq!(note.add("a\n\n# b\t\u{1b}[31mc\u{202e}d\r\u{0}"), Some("a # b [31mcd"));
        let mut long = ProgressNote::default();
        let shown = long.add(&"word ".repeat(100_000)).unwrap_or_default().to_owned();
        assert!((MAX_NOTE_CHARS - 10..=MAX_NOTE_CHARS + 1).contains(&shown.chars().count()), "{shown}");
        assert!(shown.ends_with('…'));
        assert_eq!(long.add("more"), None, "the rest of a long note changes nothing");
        assert!(long.received.len() <= MAX_NOTE_BYTES);
    }
}
