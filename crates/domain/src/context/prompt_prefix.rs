//! The prompt prefix of one conversation: instructions and tools as they were first sent.
//!
//! The vendor caches a request from its start and binds signed thinking to it. Newer instructions
//! are therefore appended as a note, and tools keep their descriptions, until a summary starts a
//! new prefix.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::SystemNote;
use crate::conversation::EntryId;
use crate::tool::ToolSpec;

/// The most changes that are appended. After that the conversation gets a new prefix, which is read
/// once without the cache.
const MAX_CHANGES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptPrefix {
    /// The first entry of the conversation: its root, or the latest summary.
    pub root: EntryId,
    /// The instructions in the system prompt.
    pub instructions: Arc<str>,
    /// The tools in the order in which they are sent.
    pub tools: Vec<ToolText>,
    /// Changes of the instructions, oldest first. A branch reads only the changes on its own path.
    pub changes: Vec<InstructionChange>,
}

/// A tool as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolText {
    pub name: String,
    pub description: String,
    pub schema: String,
}

/// A change of the instructions during a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionChange {
    /// The entry that the note follows.
    pub after: EntryId,
    /// The complete new instructions.
    pub instructions: Arc<str>,
    /// The note that the model reads.
    pub note: Arc<str>,
}

impl PromptPrefix {
    /// Creates the prefix of a conversation that begins at `root`.
    pub fn new(root: EntryId, instructions: Arc<str>, tools: &[ToolSpec]) -> Self {
        let tool = |tool: &ToolSpec| ToolText {
            name: tool.name.to_owned(),
            description: tool.description.clone().into_owned(),
            schema: tool.schema.to_owned(),
        };
        Self { root, instructions, tools: tools.iter().map(tool).collect(), changes: Vec::new() }
    }

    /// Returns the instructions in force at the end of `path`.
    pub fn in_force(&self, path: &[EntryId]) -> &Arc<str> {
        self.changes_on(path).last().map_or(&self.instructions, |(_, change)| &change.instructions)
    }

    /// Replaces the instructions from the last entry of `path` on. Returns `false` if there are too
    /// many changes.
    pub fn add_change(&mut self, path: &[EntryId], instructions: Arc<str>) -> bool {
        let Some(after) = path.last().copied() else { return false };
        let note: Arc<str> = change_note(self.in_force(path), &instructions).into();
        // The same entry is answered again after a restart during the answer.
        self.changes.retain(|change| change.after != after);
        self.changes.push(InstructionChange { after, instructions, note });
        self.changes.len() <= MAX_CHANGES
    }

    /// Returns the tools `current` with the descriptions of the prefix; `None` if the set of tools
    /// or an input schema differs.
    pub fn tools(&self, current: &[ToolSpec]) -> Option<Arc<[ToolSpec]>> {
        if self.tools.len() != current.len() {
            return None;
        }
        let kept = |text: &ToolText| {
            let tool = current.iter().find(|tool| tool.name == text.name && tool.schema == text.schema)?;
            let description = Cow::Owned(text.description.clone());
            Some(ToolSpec { description, ..tool.clone() })
        };
        self.tools.iter().map(kept).collect()
    }

    /// Returns the notes on `path`.
    pub fn notes(&self, path: &[EntryId]) -> Vec<SystemNote> {
        let note = |(after, change): (usize, &InstructionChange)| SystemNote {
            after,
            text: Arc::clone(&change.note),
        };
        self.changes_on(path).into_iter().map(note).collect()
    }

    /// Returns the changes on `path`, each with the index of the entry it follows. Ids on a path
    /// ascend.
    fn changes_on(&self, path: &[EntryId]) -> Vec<(usize, &InstructionChange)> {
        let found = self.changes.iter().map(|change| (path.binary_search(&change.after), change));
        found.filter_map(|(at, change)| Some((at.ok()?, change))).collect()
    }
}

/// Returns the note about new instructions: the lines that differ, or the whole text if most do.
fn change_note(before: &str, now: &str) -> String {
    let removed = missing_lines(before, now);
    let added = missing_lines(now, before);
    let most = before.lines().count().max(now.lines().count());
    if (removed.len() + added.len()) > most {
        return format!(
            "Your instructions have changed. From now on these hold instead of the earlier ones:\n\n{now}"
        );
    }
    let mut note = "Your instructions have changed.".to_owned();
    if !removed.is_empty() {
        let _ = write!(note, " These lines no longer hold:\n{}\n", removed.join("\n"));
    }
    if !added.is_empty() {
        let _ = write!(note, "\nThese lines hold from now on:\n{}\n", added.join("\n"));
    }
    if removed.is_empty() && added.is_empty() {
        note.push_str(" Only their order is another one.");
    }
    note
}

/// Returns the lines of `text` that are not in `other`.
fn missing_lines<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in other.lines() {
        *counts.entry(line).or_default() += 1;
    }
    let mut missing = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match counts.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => missing.push(line),
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolClass;

    const FIRST: &str = "You are ollim.\nThe user is Ada.\nBe kind.\nBe short.\n";
    const SECOND: &str = "You are ollim.\nThe user is Bea.\nBe kind.\nBe short.\n";

    fn tool(name: &'static str, description: &'static str, schema: &'static str) -> ToolSpec {
        ToolSpec { name, description: Cow::Borrowed(description), schema, class: ToolClass::Own }
    }

    fn ids<const N: usize>(ids: [u64; N]) -> [EntryId; N] {
        ids.map(EntryId)
    }

    #[test]
    fn change_applies_to_its_own_branch_only() {
        let mut opening = PromptPrefix::new(EntryId(1), FIRST.into(), &[]);
        let main = ids([1, 2, 5]);
        let fork = ids([1, 2, 6, 7]);
        assert!(opening.add_change(&main, SECOND.into()));
        assert_eq!(&**opening.in_force(&main), SECOND);
        assert_eq!(&**opening.in_force(&fork), FIRST);
        let later = ids([1, 2, 5, 8, 9]);
        let notes = opening.notes(&later);
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].after, 2);
        assert_eq!(
            &*notes[0].text,
            "Your instructions have changed. These lines no longer hold:\nThe user is Ada.\n\n\
             These lines hold from now on:\nThe user is Bea.\n"
        );
        assert_eq!(opening.notes(&fork), []);
        assert_eq!(&*opening.instructions, FIRST, "the beginning itself stays");
    }

    #[test]
    fn mostly_new_instructions_are_sent_whole() {
        let note = change_note(FIRST, "Something else.\nBe kind.\nAltogether.\nNew.\n");
        assert!(note.ends_with("Something else.\nBe kind.\nAltogether.\nNew.\n"), "{note}");
    }

    #[test]
    fn repeated_entry_has_one_note() {
        let mut opening = PromptPrefix::new(EntryId(1), FIRST.into(), &[]);
        assert!(opening.add_change(&ids([1, 2]), SECOND.into()));
        assert!(
            opening.add_change(&ids([1, 2]), "You are ollim.\nThe user is Cy.\nBe kind.\nBe short.\n".into())
        );
        assert_eq!(opening.notes(&ids([1, 2])).len(), 1);
        assert!(opening.notes(&ids([1, 2]))[0].text.contains("Cy"));
    }

    #[test]
    fn descriptions_stay_until_a_tool_changes() {
        let opening =
            PromptPrefix::new(EntryId(1), FIRST.into(), &[tool("b", "old", "{}"), tool("a", "x", "{}")]);
        let kept = opening.tools(&[tool("a", "y", "{}"), tool("b", "new", "{}")]).unwrap();
        let described: Vec<_> = kept.iter().map(|tool| (tool.name, &*tool.description)).collect();
        assert_eq!(described, [("b", "old"), ("a", "x")]);
        assert_eq!(opening.tools(&[tool("a", "x", "{}")]), None);
        assert_eq!(opening.tools(&[tool("a", "x", "{}"), tool("b", "old", r#"{"type":"object"}"#)]), None);
        assert_eq!(opening.tools(&[tool("a", "x", "{}"), tool("c", "new", "{}")]), None);
    }

    #[test]
    fn too_many_changes_are_refused() {
        let mut opening = PromptPrefix::new(EntryId(1), FIRST.into(), &[]);
        for n in 0..=MAX_CHANGES as u64 {
            let fits = opening.add_change(&[EntryId(1), EntryId(n + 2)], format!("{FIRST}{n}\n").into());
            assert_eq!(fits, n < MAX_CHANGES as u64, "{n}");
        }
    }
}
