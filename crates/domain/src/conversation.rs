//! The conversation: a tree of entries, and the branches that point to entries.
//!
//! Entries are appended and never changed. A branch is a name for one entry, and that name moves: a
//! fork adds a name, a promotion moves one, a compaction appends a summary. The entries are stored
//! in the journal; only the names are in memory, so the size of the history does not matter.

mod branch;
mod drawing;
mod entry;
mod image;
mod lineage;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::label::Label;

pub use branch::{Branch, ForkName, InvalidBranchName};
pub use drawing::{draw, left_out_note};
pub use entry::{
    Block, Completeness, Entry, EntryContent, EntryId, Json, Opaque, PathEntry, SessionId, Text, Usage,
    UserInput, tool_calls,
};
pub use image::{IMAGE_BYTES, Image, ImageError};
pub use lineage::{Lineage, LineageGraph, LineageMove, Row, Tip};

/// The newest entry of a branch and its session id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The newest entry, if there is one.
    pub entry: Option<EntryId>,
    /// The session id that is shown to users and other programs.
    pub session: SessionId,
    /// The joined label of all entries on the path.
    pub label: Label,
}

/// A change of a branch for another reason than a new entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The branch that moved.
    pub branch: Branch,
    pub at: Timestamp,
    pub reason: MoveReason,
    /// The previous head, if there was one.
    pub from: Option<Head>,
    /// The new head; `None` if the branch ended.
    pub to: Option<Head>,
}

/// The reason of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveReason {
    /// The branch was created without entries.
    Created,
    /// It started at an entry of another branch.
    Forked,
    /// A fork became the main conversation.
    Promoted,
    /// A summary replaces the earlier entries.
    Compacted,
    /// The user cleared the conversation.
    Cleared,
    /// The branch ended.
    Ended,
    /// The fork ended, and left a report for main.
    Reported,
    /// The fork was discarded.
    Dropped,
    /// The fork ended by the idle timeout.
    Lapsed,
    /// An earlier move was undone.
    Undone,
}

impl MoveReason {
    const ALL: [Self; 10] = [
        Self::Created,
        Self::Forked,
        Self::Promoted,
        Self::Compacted,
        Self::Cleared,
        Self::Ended,
        Self::Reported,
        Self::Dropped,
        Self::Lapsed,
        Self::Undone,
    ];

    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Forked => "forked",
            Self::Promoted => "promoted",
            Self::Compacted => "compacted",
            Self::Cleared => "cleared",
            Self::Ended => "ended",
            Self::Reported => "reported",
            Self::Dropped => "dropped",
            Self::Lapsed => "lapsed",
            Self::Undone => "undone",
        }
    }

    /// Parses a stored word.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }
}

/// The branches of the tree, and the id of the next entry.
#[derive(Clone, Debug)]
pub struct Conversation {
    heads: BTreeMap<Branch, Head>,
    next_entry: EntryId,
}

impl Conversation {
    /// Creates a conversation with these branches and the id of the next entry.
    pub fn new(heads: BTreeMap<Branch, Head>, next: EntryId) -> Self {
        Self { heads, next_entry: next }
    }

    pub fn head(&self, branch: &Branch) -> Option<&Head> {
        self.heads.get(branch)
    }

    pub fn branches(&self) -> impl Iterator<Item = (&Branch, &Head)> {
        self.heads.iter()
    }

    /// Raises the label of `branch` before its first entry.
    pub fn raise_label(&mut self, branch: &Branch, label: Label) {
        if let Some(head) = self.heads.get_mut(branch) {
            head.label = head.label.join(label);
        }
    }

    /// Creates an empty `branch` with `session`.
    pub fn create(&mut self, branch: Branch, session: SessionId, at: Timestamp) -> Move {
        self.move_head(branch, Head { entry: None, session, label: Label::PLAIN }, MoveReason::Created, at)
    }

    /// Appends `said` to `branch`; returns `None` if the branch does not exist.
    pub fn append(&mut self, branch: &Branch, said: EntryContent, at: Timestamp) -> Option<Entry> {
        self.append_labelled(branch, said, Label::PLAIN, at)
    }

    /// Like `append`, with a label that is joined with the label of the content.
    pub fn append_labelled(
        &mut self,
        branch: &Branch,
        said: EntryContent,
        extra_label: Label,
        at: Timestamp,
    ) -> Option<Entry> {
        let head = self.heads.get_mut(branch)?;
        // The label that was set before the first entry belongs to that entry.
        let initial_label = if head.entry.is_none() { head.label } else { Label::PLAIN };
        let own = said.label().join(extra_label).join(initial_label);
        let label = head.label.join(own);
        let entry =
            Entry { id: self.next_entry, parent: head.entry, at, content: said, own_label: own, label };
        self.next_entry = self.next_entry.next();
        head.entry = Some(entry.id);
        head.label = label;
        Some(entry)
    }

    /// Starts `fork` at the head of `from`; returns `None` if `from` does not exist.
    pub fn fork(&mut self, from: &Branch, fork: Branch, session: SessionId, at: Timestamp) -> Option<Move> {
        let Head { entry, label, .. } = *self.head(from)?;
        Some(self.fork_at(fork, Head { entry, session, label }, at))
    }

    /// Starts `fork` at any `head` of the tree.
    pub fn fork_at(&mut self, fork: Branch, head: Head, at: Timestamp) -> Move {
        self.move_head(fork, head, MoveReason::Forked, at)
    }

    /// Makes the head of `fork` the head of main, and ends the fork.
    pub fn promote(&mut self, fork: &Branch, at: Timestamp) -> Option<[Move; 2]> {
        let head = self.head(fork)?.clone();
        let moved = self.move_head(Branch::Main, head, MoveReason::Promoted, at);
        Some([moved, self.end(fork, MoveReason::Promoted, at)?])
    }

    /// Appends `summary` to `branch` in place of all earlier entries, under a new `session`.
    pub fn compact(
        &mut self,
        branch: &Branch,
        summary: String,
        session: SessionId,
        at: Timestamp,
    ) -> Option<(Entry, Move)> {
        let from = self.head(branch)?.clone();
        let entry = self.append(branch, EntryContent::Summary(summary), at)?;
        let to = Head { entry: Some(entry.id), session, label: entry.label };
        self.heads.insert(branch.clone(), to.clone());
        let moved = Move {
            branch: branch.clone(),
            at,
            reason: MoveReason::Compacted,
            from: Some(from),
            to: Some(to),
        };
        Some((entry, moved))
    }

    /// Moves `branch` to an earlier head, or forward again.
    pub fn undo(&mut self, branch: &Branch, to: Head, at: Timestamp) -> Move {
        self.move_head(branch.clone(), to, MoveReason::Undone, at)
    }

    /// Moves main to the head of another session.
    pub fn switch_main(&mut self, to: Head, at: Timestamp) -> Move {
        self.move_head(Branch::Main, to, MoveReason::Promoted, at)
    }

    /// Removes the name `branch`; its entries stay in the tree.
    pub fn end(&mut self, branch: &Branch, reason: MoveReason, at: Timestamp) -> Option<Move> {
        let from = self.heads.remove(branch)?;
        Some(Move { branch: branch.clone(), at, reason, from: Some(from), to: None })
    }

    fn move_head(&mut self, branch: Branch, to: Head, why: MoveReason, at: Timestamp) -> Move {
        let from = self.heads.insert(branch.clone(), to.clone());
        Move { branch, at, reason: why, from, to: Some(to) }
    }
}
