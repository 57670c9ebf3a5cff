//! Plain text: what a person would not see is left out of what comes from outside.

/// Whether nobody sees `c`: signs that only steer how others are shown, and signs that show nothing at all. With those a
/// text can say one thing to a person and another to a model.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The first `most` characters of `text`, and whether there are more.
pub fn beginning(text: &str, most: usize) -> (&str, Rest) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], Rest::More),
        None => (text, Rest::None),
    }
}

/// Whether something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing was.
    None,
    /// Something was.
    More,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_between_characters() {
        assert_eq!(beginning("äöü", 2), ("äö", Rest::More));
        assert_eq!(beginning("äöü", 3), ("äöü", Rest::None));
    }
}
