//! Values written into frontmatter.

use std::fmt::Write;

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Flag(bool),
    Number(u32),
    List(Vec<String>),
    /// A mapping or any other value as JSON, which is valid YAML.
    Json(String),
}

impl Value {
    /// The text after the colon of the key; empty if the value is below it.
    pub(super) fn inline_text(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::List(items) if items.is_empty() => "[]".to_owned(),
            Self::List(_) => String::new(),
            Self::Json(json) => json.chars().map(escaped_in_json).collect(),
        }
    }

    /// The lines below the key.
    pub(super) fn following_lines(&self) -> Vec<String> {
        match self {
            Self::List(items) => items.iter().map(|item| format!("  - {}", quoted(item))).collect(),
            Self::Text(_) | Self::Flag(_) | Self::Number(_) | Self::Json(_) => Vec::new(),
        }
    }
}

/// Escapes characters that JSON allows and YAML does not; they occur only inside strings.
fn escaped_in_json(c: char) -> String {
    if is_plain(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) }
}

/// `text` in double quotes, so that reading it returns `text` again.
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

/// Returns whether YAML allows the character unescaped inside quotes on one line.
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

    /// DD-25: characters that other programs could read as line ends or cannot read are escaped.
    #[test]
    fn text_stays_on_one_line_for_every_reader() {
        let words = "a\"\\\n\r\t\0\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{ffff}é🙂";
        assert_eq!(quoted(words), r#""a\"\\\n\r\t\x00\x7f\x85\u2028\u2029\ufeff\uffffé🙂""#);
    }
}
