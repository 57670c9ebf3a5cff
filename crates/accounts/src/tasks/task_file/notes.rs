//! The notes of a task: the more deeply indented lines below it.

use std::ops::Range;

use super::task_line::TaskLine;
use crate::charset::decode;

/// The additional indentation of notes.
const NOTE_INDENT: usize = 2;

/// Parses the notes at the start of `lines` below a task with this indentation. Also returns the
/// number of their lines.
pub(super) fn parse_notes(bytes: &[u8], lines: &[Range<usize>], indent: usize) -> (Option<String>, usize) {
    let mut notes = Vec::new();
    let mut count = 0;
    let mut blank = 0;
    for range in lines {
        let line = &bytes[range.clone()];
        if line.trim_ascii().is_empty() {
            blank += 1;
            continue;
        }
        if indent_of(line) <= indent || TaskLine::parse(line).is_some() {
            break;
        }
        notes.extend(std::iter::repeat_n(String::new(), blank));
        notes.push(note_text(line, indent));
        (count, blank) = (count + blank + 1, 0);
    }
    ((count > 0).then(|| notes.join("\n")), count)
}

/// Formats the notes of a task.
pub(super) fn format_notes(notes: Option<&str>, indent: usize, ending: &str) -> Vec<u8> {
    let line = |line: &str| match line {
        "" => ending.to_owned(),
        line => {
            let escape =
                if TaskLine::parse(line.as_bytes()).is_some() || line.starts_with('\\') { "\\" } else { "" };
            format!("{:1$}{escape}{line}{ending}", "", indent + NOTE_INDENT)
        }
    };
    notes.map_or_else(Vec::new, |notes| notes.lines().map(line).collect::<String>().into_bytes())
}

/// Removes surrounding blank lines and control characters. Returns `None` if nothing is left.
pub(super) fn normalize_notes(notes: &str) -> Option<String> {
    let clean = |line: &str| {
        let seen: String =
            line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
        seen.trim_end().to_owned()
    };
    let lines: Vec<_> = notes.lines().map(clean).collect();
    let first = lines.iter().position(|line| !line.is_empty())?;
    let last = lines.iter().rposition(|line| !line.is_empty())?;
    let mut lines = lines[first..=last].to_vec();
    // The first line determines the indentation of the notes, so it has none of its own.
    lines[0] = lines[0].trim_start().to_owned();
    Some(lines.join("\n"))
}

fn indent_of(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Returns the text of a line without indentation and escape.
fn note_text(line: &[u8], indent: usize) -> String {
    let indentation = indent_of(line).min(indent + NOTE_INDENT);
    let text = decode(line[indentation..].trim_ascii_end()).into_owned();
    match text.strip_prefix('\\') {
        Some(escaped) if TaskLine::parse(escaped.as_bytes()).is_some() || escaped.starts_with('\\') => {
            escaped.to_owned()
        }
        Some(_) | None => text,
    }
}
