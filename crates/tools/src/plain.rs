//! Removes invisible characters from outside text.

use domain::hidden::is_hidden;

/// Returns `text` without invisible and control characters. Joiners are removed too, because only
/// the model reads the result.
pub fn cleaned(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(*c))).collect()
}

/// Returns the first `max` characters of `text`, and whether there are more.
pub fn beginning(text: &str, most: usize) -> (&str, Rest) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], Rest::More),
        None => (text, Rest::None),
    }
}

/// The completeness of a shortened text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    None,
    More,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_left_out() {
        let check = |text: &str, expected: &str| assert_eq!(cleaned(text), expected, "{text:?}");
        check("plain\ttext\nand é 日本", "plain\ttext\nand é 日本");
        check("pay\u{200b}\u{feff}ment", "payment");
        check("a\u{202e}txt.exe\u{202c}", "atxt.exe");
        check("hi\u{e0041}\u{e0042}\u{e01ef}", "hi");
        check("\u{1b}[2Jx\u{0}\r\n", "[2Jx\n");
    }

    #[test]
    fn a_beginning_ends_between_characters() {
        assert_eq!(beginning("äöü", 2), ("äö", Rest::More));
        assert_eq!(beginning("äöü", 3), ("äöü", Rest::None));
    }
}
