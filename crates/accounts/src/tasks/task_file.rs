//! A Markdown file with tasks: `- [ ] call the dentist (due 2026-11-20) ^k3f9x`, with indented
//! notes below.
//!
//! Only checkbox lines and their notes are managed, everything else stays byte for byte. A line
//! typed without an id gets one derived from its title, which is written at the next change.

mod notes;
mod task_line;

use std::collections::BTreeSet;
use std::ops::Range;

use task_line::TaskLine;

use super::{Task, TaskChange, TaskState};
use crate::AccountError;

/// A task with its position.
#[derive(Clone, Debug)]
struct TaskItem {
    line: TaskLine,
    /// The line, including its end.
    range: Range<usize>,
    /// The lines of the notes.
    notes_range: Range<usize>,
    notes: Option<String>,
    id: String,
}

/// A parsed task file.
#[derive(Debug)]
pub(crate) struct TaskFile<'a> {
    bytes: &'a [u8],
    items: Vec<TaskItem>,
}

impl<'a> TaskFile<'a> {
    /// Parses a file. Lines that are not tasks are left alone.
    pub(crate) fn parse(bytes: &'a [u8]) -> Self {
        let mut page = Self { bytes, items: Vec::new() };
        let lines = line_ranges(bytes);
        let mut at = 0;
        while let Some(range) = lines.get(at).cloned() {
            let text = &bytes[range.clone()];
            if let Some(line) = TaskLine::parse(text) {
                let (notes, count) = notes::parse_notes(bytes, &lines[at + 1..], line.indent);
                let below = range.end..lines.get(at + count).map_or(range.end, |last| last.end);
                page.items.push(TaskItem { line, range, notes_range: below, notes, id: String::new() });
                at += 1 + count;
            } else {
                at += 1 + fenced_line_count(bytes, &lines[at..]);
            }
        }
        page.assign_ids();
        page
    }

    /// Assigns an id to every task: its own, if it is the first with it, or one derived from the
    /// title.
    fn assign_ids(&mut self) {
        let mut taken = BTreeSet::new();
        for item in &mut self.items {
            if let Some(id) = item.line.id.clone().filter(|id| taken.insert(id.clone())) {
                item.id = id;
            }
        }
        for item in self.items.iter_mut().filter(|item| item.id.is_empty()) {
            item.id = free_id(&item.line.title, &taken);
            taken.insert(item.id.clone());
        }
    }

    /// Returns all tasks in order.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        self.items.iter().map(TaskItem::task).collect()
    }

    /// Returns the file with an id on every task, or `None` if nothing is missing.
    pub(crate) fn with_ids(&self) -> Option<Vec<u8>> {
        let wanting = self.items.iter().filter(|item| item.line.id.as_deref() != Some(&item.id));
        let edits: Vec<_> = wanting.map(|item| (item.range.clone(), item.line_with_id(self.bytes))).collect();
        (!edits.is_empty()).then(|| apply_edits(self.bytes, &edits))
    }

    /// Returns the file with a new task after the last open one, and the task.
    pub(crate) fn add(&self, new: &TaskChange) -> Result<(Vec<u8>, Task), AccountError> {
        let title = task_line::normalize_title(new.title.as_deref().unwrap_or_default());
        let mut line = TaskLine::new(title);
        line.due = new.due;
        let taken = self.items.iter().map(|item| item.id.clone()).collect();
        line.id = Some(free_id(&line.title, &taken));
        let notes = new.notes.as_deref().and_then(notes::normalize_notes);
        let ending = self.line_ending();
        let mut text = line.format(ending);
        text.extend(notes::format_notes(notes.as_deref(), line.indent, ending));
        let place = self.insert_position();
        let before = match (self.bytes.is_empty(), self.bytes[..place].last()) {
            (true, _) => format!("# Tasks{ending}{ending}").into_bytes(),
            (false, Some(b'\n')) => Vec::new(),
            (false, _) => ending.as_bytes().to_vec(),
        };
        let bytes = apply_edits(self.bytes, &[(place..place, [before, text].concat())]);
        // The task is parsed again, since its text may look like markup.
        let kept =
            TaskFile::parse(&bytes).items.iter().find(|item| item.line.id == line.id).map(TaskItem::task);
        match kept {
            Some(task) if !task.title.is_empty() => Ok((bytes, task)),
            Some(_) | None => {
                Err(AccountError::InvalidRequest("a task needs a title: say what is to be done.".to_owned()))
            }
        }
    }

    /// Returns the file with the task `id` done, and the task.
    pub(crate) fn complete(&self, id: &str) -> Result<(Vec<u8>, Task), AccountError> {
        let mut item = self.find(id)?.clone();
        item.line.state = TaskState::Done;
        let mut text = item.line_with_id(self.bytes);
        text[item.line.mark_position] = b'x';
        Ok((apply_edits(self.bytes, &[(item.range.clone(), text)]), item.task()))
    }

    /// Returns the file with the task `id` changed, and the task.
    pub(crate) fn update(&self, id: &str, change: &TaskChange) -> Result<(Vec<u8>, Task), AccountError> {
        let mut item = self.find(id)?.clone();
        let mut edits = Vec::new();
        if change.title.is_some() || change.due.is_some() {
            item.line.title = change.title.as_deref().map_or(item.line.title, task_line::normalize_title);
            item.line.due = change.due.or(item.line.due);
            item.line.id = Some(item.id.clone());
            edits.push((item.range.clone(), item.line.format(self.line_ending())));
        } else {
            edits.push((item.range.clone(), item.line_with_id(self.bytes)));
        }
        if let Some(notes) = &change.notes {
            let notes = notes::normalize_notes(notes);
            let text = notes::format_notes(notes.as_deref(), item.line.indent, self.line_ending());
            edits.push((item.notes_range.clone(), text));
        }
        let bytes = apply_edits(self.bytes, &edits);
        let kept = TaskFile::parse(&bytes).items.into_iter().find(|kept| kept.id == item.id);
        match kept.map(|kept| kept.task()).filter(|task| !task.title.is_empty()) {
            Some(task) => Ok((bytes, task)),
            None => {
                Err(AccountError::InvalidRequest("a task needs a title: say what is to be done.".to_owned()))
            }
        }
    }

    /// Returns the file without the task `id` and its notes, and the task.
    pub(crate) fn delete(&self, id: &str) -> Result<(Vec<u8>, Task), AccountError> {
        let item = self.find(id)?;
        Ok((apply_edits(self.bytes, &[(item.range.start..item.notes_range.end, Vec::new())]), item.task()))
    }

    fn find(&self, id: &str) -> Result<&TaskItem, AccountError> {
        self.items.iter().find(|item| item.id == id).ok_or_else(|| super::unknown_task(id))
    }

    /// The line ending of the file.
    fn line_ending(&self) -> &'static str {
        let first = self.bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        if first > 0 && self.bytes[first - 1] == b'\r' { "\r\n" } else { "\n" }
    }

    /// Returns the position for a new task: after the last open one and everything indented below
    /// it, which would otherwise become notes of the new task.
    fn insert_position(&self) -> usize {
        let open = self.items.iter().rfind(|item| item.line.state == TaskState::Open);
        let Some(last) = open.or(self.items.last()) else { return self.bytes.len() };
        let mut place = last.notes_range.end;
        for line in line_ranges(&self.bytes[last.notes_range.end..]) {
            let text = &self.bytes[last.notes_range.end..][line.clone()];
            match (text.trim_ascii().is_empty(), text.first()) {
                (true, _) => {}
                (false, Some(b' ' | b'\t')) => place = last.notes_range.end + line.end,
                (false, _) => break,
            }
        }
        place
    }
}

impl TaskItem {
    fn task(&self) -> Task {
        let TaskLine { title, due, state, .. } = self.line.clone();
        Task { id: self.id.clone(), title, due, notes: self.notes.clone(), state }
    }

    /// Returns the line with its id appended if it is missing.
    fn line_with_id(&self, bytes: &[u8]) -> Vec<u8> {
        let line = &bytes[self.range.clone()];
        if self.line.id.as_deref() == Some(&self.id) {
            return line.to_vec();
        }
        let (words, ending) = line.split_at(self.line.end);
        let words = match &self.line.id {
            // The line was copied with its id; the first one keeps it.
            Some(copied) => words[..words.len() - copied.len() - 1].trim_ascii_end(),
            None => words.trim_ascii_end(),
        };
        [words, b" ^", self.id.as_bytes(), ending].concat()
    }
}

/// Returns the ranges of all lines, including their ends.
fn line_ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut from = 0;
    let ends = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
        from += line.len();
        from - line.len()..from
    });
    ends.collect()
}

/// Returns how many lines after the first belong to the code block that it opens; 0 for none or an
/// unclosed one.
fn fenced_line_count(bytes: &[u8], lines: &[Range<usize>]) -> usize {
    let fence = |line: &Range<usize>| {
        let text = bytes[line.clone()].trim_ascii_start();
        ["```", "~~~"].into_iter().find(|fence| text.starts_with(fence.as_bytes()))
    };
    let Some(opened) = lines.first().and_then(fence) else { return 0 };
    lines.iter().skip(1).position(|line| fence(line) == Some(opened)).map_or(0, |last| last + 1)
}

/// Applies `edits`, which are sorted and do not overlap.
fn apply_edits(bytes: &[u8], edits: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len() + 80);
    let mut from = 0;
    for (range, new) in edits {
        made.extend_from_slice(&bytes[from..range.start]);
        made.extend_from_slice(new);
        from = range.end;
    }
    made.extend_from_slice(&bytes[from..]);
    made
}

/// Returns an unused id, deterministic for a title and the used ids.
fn free_id(title: &str, taken: &BTreeSet<String>) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let hash = |n: u32| {
        let words = title.bytes().chain(n.to_le_bytes());
        words.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    let named = |n: u32| {
        let hash = hash(n);
        let letter = |at: u32| char::from(LETTERS[((hash >> (20 + 5 * at)) & 31) as usize]);
        (0..5).map(letter).collect::<String>()
    };
    (0..).map(named).find(|id| !taken.contains(id)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
