//! Finds the lines of each key in a hand-written head.
//!
//! This is a heuristic, not a YAML parser. A caller that edits the text must check the result with
//! a parser.

/// A top-level key and the lines of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyEntry {
    /// The key with hyphens.
    pub key: String,
    /// The key as written, including quotes.
    pub spelled: String,
    /// Its first line, from zero.
    pub first: usize,
    pub last: usize,
}

/// Replaces underscores by hyphens.
pub(super) fn with_hyphens(key: &str) -> String {
    key.replace('_', "-")
}

/// The indentation of the keys.
pub(super) fn indent(yaml: &str) -> usize {
    yaml.lines().find(|line| !is_blank_or_comment(line)).map_or(0, indentation)
}

/// The top-level keys, in order.
pub(super) fn entries(yaml: &str) -> Vec<KeyEntry> {
    let indent = indent(yaml);
    let mut entries: Vec<KeyEntry> = Vec::new();
    let mut verbatim = false;
    for (number, line) in yaml.lines().enumerate() {
        let opened = if indentation(line) == indent { parse_key(line.trim_start()) } else { None };
        let inside = verbatim && indentation(line) > indent && !line.trim().is_empty();
        match (opened, entries.last_mut()) {
            (Some((spelled, rest)), _) => {
                verbatim = rest.trim_start().starts_with(['|', '>']);
                let key = with_hyphens(spelled.trim_matches(['"', '\'']));
                entries.push(KeyEntry { key, spelled: spelled.to_owned(), first: number, last: number });
            }
            (None, Some(entry)) if inside || !is_blank_or_comment(line) => entry.last = number,
            (None, Some(_) | None) => {}
        }
    }
    entries
}

/// Splits a value from the comment after it, which includes the white space before its `#`.
pub(super) fn split_comment(value: &str) -> (&str, &str) {
    let trimmed = value.trim_start();
    let quotes = match trimmed.chars().next() {
        Some('"' | '\'' | '[' | '{') => QuoteMode::Delimiters,
        Some(_) | None => QuoteMode::Literal,
    };
    let mut open: Option<char> = None;
    let mut before = ' ';
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        match (open, c) {
            (None, '#') if before.is_whitespace() => {
                let end = value[..at].trim_end().len();
                return value.split_at(end);
            }
            (None, '"' | '\'') if matches!(quotes, QuoteMode::Delimiters) => open = Some(c),
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                before = c;
                continue;
            }
            (Some(quote), c) if c == quote && !escaped => open = None,
            (None | Some(_), _) => {}
        }
        escaped = false;
        before = c;
    }
    (value, "")
}

enum QuoteMode {
    Delimiters,
    Literal,
}

/// The key at the start of a line, and the rest after its colon.
fn parse_key(line: &str) -> Option<(&str, &str)> {
    let end = match line.chars().next()? {
        quote @ ('"' | '\'') => line[1..].find(quote)? + 2,
        '#' | '-' | '[' | '{' | '?' | '%' | '&' | '*' | '!' => return None,
        _ => line.match_indices(':').map(|(at, _)| at).find(|at| ends_key(&line[at + 1..]))?,
    };
    let rest = line[end..].trim_start().strip_prefix(':')?;
    ends_key(rest).then_some((line[..end].trim_end(), rest))
}

fn ends_key(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t', '\r'])
}

/// Returns whether a line is blank or a comment.
pub(super) fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
