//! Where each key of a hand-written head stands, by line.
//!
//! This does not know YAML; it knows how people write it. Who changes anything by it checks the outcome with
//! a parser that does.

/// A key at the top of the mapping, and the lines its value takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The key with hyphens.
    pub key: String,
    /// The key as it is spelled, quotes included.
    pub spelled: String,
    /// Its first line, counted from nought.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

/// Spells a key with hyphens.
pub(super) fn hyphened(key: &str) -> String {
    key.replace('_', "-")
}

/// The spaces before the keys.
pub(super) fn indent(yaml: &str) -> usize {
    yaml.lines().find(|line| !is_loose(line)).map_or(0, spaces)
}

/// The keys at the top of the mapping, in order.
pub(super) fn entries(yaml: &str) -> Vec<Entry> {
    let indent = indent(yaml);
    let mut entries: Vec<Entry> = Vec::new();
    let mut verbatim = false;
    for (number, line) in yaml.lines().enumerate() {
        let opened = if spaces(line) == indent { key(line.trim_start()) } else { None };
        let inside = verbatim && spaces(line) > indent && !line.trim().is_empty();
        match (opened, entries.last_mut()) {
            (Some((spelled, rest)), _) => {
                verbatim = rest.trim_start().starts_with(['|', '>']);
                let key = hyphened(spelled.trim_matches(['"', '\'']));
                entries.push(Entry { key, spelled: spelled.to_owned(), first: number, last: number });
            }
            (None, Some(entry)) if inside || !is_loose(line) => entry.last = number,
            (None, Some(_) | None) => {}
        }
    }
    entries
}

/// Splits the value on a line from the comment behind it, which starts with the white space before its `#`.
pub(super) fn comment(value: &str) -> (&str, &str) {
    let trimmed = value.trim_start();
    let quotes = match trimmed.chars().next() {
        Some('"' | '\'' | '[' | '{') => Quotes::Count,
        Some(_) | None => Quotes::AreLetters,
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
            (None, '"' | '\'') if matches!(quotes, Quotes::Count) => open = Some(c),
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

enum Quotes {
    Count,
    AreLetters,
}

/// The key a line opens with and what follows its colon.
fn key(line: &str) -> Option<(&str, &str)> {
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

/// Whether a line belongs to nobody: it is blank or a comment.
pub(super) fn is_loose(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
