//! Escaping of values and folding of lines.

/// The maximum length of a written line in bytes, without its end.
const MAX_LINE_BYTES: usize = 75;

/// Removes the escapes of a text value.
pub(crate) fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

/// Escapes a text value and drops control characters.
pub(crate) fn escape(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        match letter {
            '\\' | ';' | ',' => value.extend(['\\', letter]),
            '\n' | '\r' => value.push_str("\\n"),
            '\t' => value.push('\t'),
            unseen if unseen.is_control() => {}
            other => value.push(other),
        }
    }
    value
}

/// Folds a line and adds its end.
pub(crate) fn fold(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 8);
    let mut remaining = MAX_LINE_BYTES;
    for letter in line.chars() {
        if letter.len_utf8() > remaining {
            text.push_str("\r\n ");
            remaining = MAX_LINE_BYTES - 1;
        }
        text.push(letter);
        remaining -= letter.len_utf8();
    }
    text.push_str("\r\n");
    text
}
