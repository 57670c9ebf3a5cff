//! The line of a task: checkbox, title, optional due date, and id.

use jiff::civil::Date;

use crate::charset::decode;
use crate::tasks::TaskState;

/// A checkbox line.
#[derive(Clone, Debug)]
pub(super) struct TaskLine {
    /// The width of the indentation, and the bytes before the checkbox.
    pub(super) indent: usize,
    prefix: Vec<u8>,
    /// The position of the mark in the checkbox.
    pub(super) mark_position: usize,
    /// The end of the text and start of the line end.
    pub(super) end: usize,
    pub(super) state: TaskState,
    pub(super) title: String,
    pub(super) due: Option<Date>,
    pub(super) id: Option<String>,
}

impl TaskLine {
    pub(super) fn new(title: String) -> Self {
        let lead = b"- ".to_vec();
        let state = TaskState::Open;
        Self { indent: 0, prefix: lead, mark_position: 3, end: 0, state, title, due: None, id: None }
    }

    /// Parses a line, or returns `None` if it has no checkbox.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let rest = line[indent..].strip_prefix(b"-").or_else(|| line[indent..].strip_prefix(b"*"));
        let rest = rest.or_else(|| line[indent..].strip_prefix(b"+"))?;
        let gap = rest.iter().take_while(|byte| **byte == b' ').count();
        let [b'[', mark, b']', words @ ..] = &rest[gap..] else { return None };
        let state = match mark {
            b' ' => TaskState::Open,
            b'x' | b'X' => TaskState::Done,
            _ => return None,
        };
        if gap == 0 || !words.first().is_none_or(u8::is_ascii_whitespace) {
            return None;
        }
        let end = line.trim_ascii_end().len().max(line.len() - words.len());
        let text = decode(&line[line.len() - words.len()..end]);
        let (text, id) = split_id(text.trim_ascii());
        let (title, due) = split_due(text);
        let lead = line[..indent + 1 + gap].to_vec();
        let mark = indent + 1 + gap + 1;
        let title = normalize_title(title);
        Some(Self {
            indent,
            prefix: lead,
            mark_position: mark,
            end,
            state,
            title,
            due,
            id: id.map(str::to_owned),
        })
    }

    /// Formats the line.
    pub(super) fn format(&self, ending: &str) -> Vec<u8> {
        let mark = match self.state {
            TaskState::Open => ' ',
            TaskState::Done => 'x',
        };
        let due = self.due.map(|due| format!(" (due {due})")).unwrap_or_default();
        let id = self.id.as_ref().map(|id| format!(" ^{id}")).unwrap_or_default();
        let text = format!("[{mark}] {}{due}{id}{ending}", self.title);
        [self.prefix.as_slice(), text.as_bytes()].concat()
    }
}

fn split_id(text: &str) -> (&str, Option<&str>) {
    let found = text.rsplit_once('^').filter(|(before, id)| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let apart = before.is_empty() || before.ends_with(char::is_whitespace);
        apart && (1..=64).contains(&id.len()) && id.bytes().all(plain)
    });
    found.map_or((text, None), |(before, id)| (before.trim_end(), Some(id)))
}

fn split_due(text: &str) -> (&str, Option<Date>) {
    let found = text.strip_suffix(')').and_then(|text| text.rsplit_once("(due "));
    let found = found.and_then(|(before, day)| Some((before.trim_end(), parse_iso_date(day.trim())?)));
    found.map_or((text, None), |(before, due)| (before, Some(due)))
}

/// Parses a date such as `2026-11-20`.
fn parse_iso_date(text: &str) -> Option<Date> {
    (text.len() == 10 && text.is_ascii()).then(|| text.parse().ok()).flatten()
}

/// Joins the words on one line, without control characters.
pub(super) fn normalize_title(title: &str) -> String {
    let words = title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
