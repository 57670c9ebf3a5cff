//! Content lines of a calendar: unfolded, with name, parameters and value.

use std::borrow::Cow;
use std::ops::Range;

use crate::charset::decode;

/// The maximum length of an unfolded line. Longer ones are ignored and left as they are.
const MAX_LINE_BYTES: usize = 256_000;

/// A content line, possibly folded.
#[derive(Clone, Debug)]
pub(crate) struct ContentLine<'a> {
    /// The position, including the line end.
    pub(crate) range: Range<usize>,
    text: Cow<'a, str>,
    /// The end of the name, and the start of the value.
    name: usize,
    value: usize,
}

impl ContentLine<'_> {
    /// Returns whether the line has this name, ignoring case.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.text[..self.name].eq_ignore_ascii_case(name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.text[..self.name]
    }

    pub(crate) fn value(&self) -> &str {
        &self.text[self.value..]
    }

    pub(crate) fn parameters(&self) -> &str {
        &self.text[self.name..self.value.saturating_sub(1).max(self.name)]
    }

    /// Returns the value of the parameter `wanted` without quotes.
    pub(crate) fn parameter(&self, wanted: &str) -> Option<&str> {
        let found = split_unquoted(self.parameters(), ';').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.eq_ignore_ascii_case(wanted).then_some(value)
        });
        found.map(|value| value.trim_matches('"'))
    }
}

/// Splits `text` at separators outside quotes.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

/// Returns all lines of `bytes` with a name and a value, in order.
pub(crate) fn content_lines(bytes: &[u8]) -> impl Iterator<Item = ContentLine<'_>> {
    content_lines_named(bytes, |_| true)
}

/// Like [`content_lines`], limited to names that `wanted` accepts. Other lines are not parsed.
pub(crate) fn content_lines_named(
    bytes: &[u8],
    wanted: impl Fn(&[u8]) -> bool,
) -> impl Iterator<Item = ContentLine<'_>> {
    let mut from = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    std::iter::from_fn(move || {
        loop {
            let at = next_line(bytes, from)?;
            from = at.end;
            if name_of(&bytes[at.clone()]).is_none_or(&wanted)
                && let Some(line) = parse_line(bytes, at)
            {
                return Some(line);
            }
        }
    })
}

/// Returns the text before the first colon or semicolon, or `None` if the name is folded.
fn name_of(line: &[u8]) -> Option<&[u8]> {
    let end = line.iter().position(|byte| matches!(byte, b':' | b';' | b'\n'))?;
    (line[end] != b'\n').then_some(&line[..end])
}

/// Returns the range of the next line from `from` on, with its continuation lines.
fn next_line(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    if from >= bytes.len() {
        return None;
    }
    let mut end = end_of_line(bytes, from);
    while matches!(bytes.get(end), Some(b' ' | b'\t')) {
        end = end_of_line(bytes, end);
    }
    Some(from..end)
}

fn end_of_line(bytes: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at + 1)
}

fn parse_line(bytes: &[u8], at: Range<usize>) -> Option<ContentLine<'_>> {
    let raw = bytes[at.clone()].trim_ascii_end();
    if raw.len() > MAX_LINE_BYTES {
        return None;
    }
    let text = if memchr::memchr(b'\n', raw).is_some() { Cow::Owned(unfold(raw)) } else { decode(raw) };
    let name = text.find([':', ';'])?;
    let mut quoted = false;
    let colon = text[name..].bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b':' && !quoted
    });
    // An unclosed quote hides the colon; then the first colon is used.
    let colon = colon.or_else(|| text[name..].find(':'))?;
    (name > 0).then_some(ContentLine { range: at, name, value: name + colon + 1, text })
}

/// Joins the bytes before decoding, since a fold may split a UTF-8 sequence.
fn unfold(raw: &[u8]) -> String {
    let mut joined = Vec::with_capacity(raw.len());
    for (n, part) in raw.split(|byte| *byte == b'\n').enumerate() {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        joined.extend_from_slice(if n == 0 { part } else { part.get(1..).unwrap_or_default() });
    }
    decode(&joined).into_owned()
}
