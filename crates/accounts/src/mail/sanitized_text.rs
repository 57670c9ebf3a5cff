//! Removes control and invisible characters from foreign text for display.

use domain::hidden_chars::{is_hidden, is_joiner};

/// Returns one line of at most `max` characters.
pub fn single_line(text: &str, max: usize) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || is_visible(*c)).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Returns the text with its line breaks.
pub fn multi_line(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    text.chars().filter(|c| matches!(c, '\n' | '\t') || is_visible(*c)).collect()
}

/// Returns whether a character is visible. Joiners stay, because some scripts and emoji need them.
fn is_visible(c: char) -> bool {
    is_joiner(c) || !(c.is_control() || is_hidden(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_line_is_truncated() {
        assert_eq!(single_line("  two\r\n\twords ", 100), "two words");
        assert_eq!(single_line("four letters", 4), "four…");
        assert_eq!(single_line("äöüß", 2), "äö…");
        assert_eq!(single_line("", 4), "");
    }

    #[test]
    fn control_and_invisible_characters_are_removed() {
        assert_eq!(single_line("\u{1b}[2Jred\u{7}", 100), "[2Jred");
        assert_eq!(single_line("invoice\u{202E}fdp.exe", 100), "invoicefdp.exe");
        assert_eq!(single_line("a\u{200B}b\u{FEFF}c\u{E0041}d", 100), "abcd");
        assert_eq!(multi_line("a\r\nb\rc\u{2028}d\te\0f\u{9b}g"), "a\nb\nc\nd\tefg");
        assert_eq!(single_line("a\u{115F}\u{3164}\u{FE00}\u{E0100}b", 100), "ab");
        assert_eq!(single_line("👩\u{200D}🚀 ❤\u{FE0F}", 100), "👩\u{200D}🚀 ❤\u{FE0F}");
    }
}
