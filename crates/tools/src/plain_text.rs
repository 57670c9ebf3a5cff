//! Removes invisible characters from outside text.

use domain::hidden_chars::is_hidden;

/// Returns `text` without invisible and control characters. Joiners are removed too, because only
/// the model reads the result.
pub fn strip_invisible(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c))).collect()
}

/// Returns the first `max` characters of `text`, and whether there are more.
pub fn truncate_chars(text: &str, max: usize) -> (&str, Truncation) {
    match text.char_indices().nth(max) {
        Some((end, _)) => (&text[..end], Truncation::Cut),
        None => (text, Truncation::None),
    }
}

/// The completeness of a shortened text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    None,
    Cut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        let check = |text: &str, expected: &str| assert_eq!(strip_invisible(text), expected, "{text:?}");
        check("plain\ttext\nand é 日本", "plain\ttext\nand é 日本");
        check("pay\u{200b}\u{feff}ment", "payment");
        check("a\u{202e}txt.exe\u{202c}", "atxt.exe");
        check("hi\u{e0041}\u{e0042}\u{e01ef}", "hi");
        check("\u{1b}[2Jx\u{0}\r\n", "[2Jx\n");
    }

    #[test]
    fn truncation_is_at_a_character_boundary() {
        assert_eq!(truncate_chars("äöü", 2), ("äö", Truncation::Cut));
        assert_eq!(truncate_chars("äöü", 3), ("äöü", Truncation::None));
    }
}
