//! Hidden characters: invisible ones, and those that only control how others are shown. With them a
//! text can mean one thing to the user and another to a program.
//!
//! They are escaped in text whose exact content matters (a call before its approval, data for a
//! model), and removed from text that is only read, except for joiners.

/// Returns whether `c` is invisible: everything that Unicode calls default ignorable, and
/// interlinear annotations. White space and line breaks are visible by their effect.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether `c` is hidden but affects visible characters: in some scripts, and in emoji.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Escapes hidden characters, and those for which `also` is true, as in JSON. JSON stays equivalent
/// if they only occur inside its strings.
pub fn escape_hidden(text: &str, also: impl Fn(char) -> bool) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}') || also(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|half| spelled.push_str(&format!("\\u{half:04x}")))
        } else {
            spelled.push(c)
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I5: All characters that reverse the text direction or are invisible are recognized.
    #[test]
    fn direction_and_invisible_characters_are_hidden() {
        let turn = ['\u{61c}', '\u{200e}', '\u{200f}'].into_iter().chain('\u{202a}'..='\u{202e}');
        let isolate = '\u{2066}'..='\u{206f}';
        let blank =
            ['\u{ad}', '\u{34f}', '\u{115f}', '\u{1160}', '\u{180e}', '\u{3164}', '\u{feff}', '\u{ffa0}'];
        let between = ('\u{200b}'..='\u{200d}').chain('\u{2060}'..='\u{2064}').chain('\u{fff9}'..='\u{fffb}');
        let select =
            ('\u{fe00}'..='\u{fe0f}').chain('\u{e0100}'..='\u{e01ef}').chain('\u{180b}'..='\u{180d}');
        let tag = '\u{e0000}'..='\u{e007f}';
        for c in turn.chain(isolate).chain(blank).chain(between).chain(select).chain(tag) {
            assert!(is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn visible_characters_are_not_hidden() {
        let seen = "plain text\n\tand é e\u{301} ß 日本 한국 ไทย עברית العربية नमस्ते 👩🚀❤🇩🇪 — … « » \u{a0}|\u{3000}|\u{2009}|";
        assert_eq!(seen.chars().find(|c| is_hidden(*c)), None);
        assert_eq!(escape_hidden(seen, |_| false), seen);
    }

    /// A code point above four digits is written as a surrogate pair; otherwise it would be read as
    /// another character and a digit.
    #[test]
    fn escaped_json_is_equivalent() {
        let check = |text: &str, expected: &str| assert_eq!(escape_hidden(text, |c| c == '`'), expected);
        check("\"a\u{202e}b\u{2028}c\"", r#""a\u202eb\u2028c""#);
        check("\"\u{e0041}\u{1d173}`\"", r#""\udb40\udc41\ud834\udd73\u0060""#);
    }

    #[test]
    fn joiners_are_hidden() {
        let joiners: Vec<char> = ('\0'..=char::MAX).filter(|c| is_joiner(*c)).collect();
        assert_eq!(joiners, ['\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}']);
        assert!(joiners.into_iter().all(is_hidden));
    }
}
