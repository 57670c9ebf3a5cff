//! A value as it is written into frontmatter.

use std::fmt::Write;

/// What a key can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Words.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A count.
    Number(u32),
    /// Words, one under the other.
    List(Vec<String>),
    /// A mapping or anything else, as JSON, which YAML reads too.
    Json(String),
}

impl Value {
    /// What stands on the line of the key, behind its colon: empty, if all of it stands below.
    pub(super) fn beside(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::List(items) if items.is_empty() => "[]".to_owned(),
            Self::List(_) => String::new(),
            Self::Json(json) => json.chars().map(escaped_in_json).collect(),
        }
    }

    /// The lines that stand below the key.
    pub(super) fn below(&self) -> Vec<String> {
        match self {
            Self::List(items) => items.iter().map(|item| format!("  - {}", quoted(item))).collect(),
            Self::Text(_) | Self::Flag(_) | Self::Number(_) | Self::Json(_) => Vec::new(),
        }
    }
}

/// JSON lets a few characters stand that YAML does not; they can only be inside of its strings.
fn escaped_in_json(c: char) -> String {
    if is_plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) }
}

/// `text` in double quotes, so that reading it gives `text` again.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        push_escaped(&mut quoted, c);
    }
    quoted.push('"');
    quoted
}

fn push_escaped(quoted: &mut String, c: char) {
    let _ = match c {
        '"' => quoted.write_str("\\\""),
        '\\' => quoted.write_str("\\\\"),
        '\n' => quoted.write_str("\\n"),
        '\r' => quoted.write_str("\\r"),
        '\t' => quoted.write_str("\\t"),
        c if is_plain(c) => quoted.write_char(c),
        c if c <= '\u{ff}' => write!(quoted, "\\x{:02x}", u32::from(c)),
        c if c <= '\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(c)),
        c => write!(quoted, "\\U{:08x}", u32::from(c)),
    };
}

/// Whether YAML takes the character as it is, inside quotes and on one line.
fn is_plain(c: char) -> bool {
    match c {
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'.. => true,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}'..='\u{ffff}' => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-25: what another program could take for the end of a line, or cannot read at all, is escaped.
    #[test]
    fn words_stand_on_one_line_for_every_reader() {
        let words = "a\"\\\n\r\t\0\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{ffff}é🙂";
        assert_eq!(quoted(words), r#""a\"\\\n\r\t\x00\x7f\x85\u2028\u2029\ufeff\uffffé🙂""#);
    }
}
