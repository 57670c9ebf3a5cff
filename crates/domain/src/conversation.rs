//! The conversation: a tree of entries, and the branches that name places in it.
//!
//! Entries are appended and never changed. A branch is a name for one entry, and that name moves: a fork
//! writes a name, a promotion moves one, a compaction appends an entry that stands for what came before.
//! The entries themselves live in the journal; only the names are held here, so a conversation of a
//! million entries costs no more to hold than one of ten.

mod branch;
mod drawing;
mod entry;
mod image;
mod lineage;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::label::Label;

pub use branch::{Branch, ForkName, InvalidName};
pub use drawing::{draw, left_out};
pub use entry::{
    Block, Entry, EntryId, Heard, Json, Opaque, PathEntry, Reach, Said, SessionId, Text, Usage, calls,
};
pub use image::{IMAGE_BYTES, Image, NoImage};
pub use lineage::{Line, Lineage, Picture, Row, Tip};

/// Where a branch is, and the session it speaks under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The newest entry, if anything was said.
    pub entry: Option<EntryId>,
    /// The name of this lineage, as people and other programs know it.
    pub session: SessionId,
    /// What is known of all words on the way there.
    pub label: Label,
}

/// A name that moved for another reason than something being said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The branch whose name moved.
    pub branch: Branch,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Why,
    /// Where it was, if it was anywhere.
    pub from: Option<Head>,
    /// Where it is now; nowhere, if the branch ended.
    pub to: Option<Head>,
}

/// Why a name moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The first thing was said.
    Created,
    /// It was started where another branch ends.
    Forked,
    /// A fork became the main conversation.
    Promoted,
    /// A summary now stands for what came before.
    Compacted,
    /// The human started over.
    Cleared,
    /// The branch came to its end.
    Ended,
    /// The fork ended, and left a report for main.
    Reported,
    /// The fork was given up, and nothing of it was kept.
    Dropped,
    /// The fork ended because nobody spoke in it any more.
    Lapsed,
    /// An earlier move was taken back.
    Undone,
}

impl Why {
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

    /// The word under which it is kept and shown.
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

    /// The reason that `word` names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == word)
    }
}

/// The names of the tree, and the number of the next entry.
#[derive(Clone, Debug)]
pub struct Conversation {
    heads: BTreeMap<Branch, Head>,
    next: EntryId,
}

impl Conversation {
    /// The conversation whose names are `heads` and whose next entry will be `next`.
    pub fn new(heads: BTreeMap<Branch, Head>, next: EntryId) -> Self {
        Self { heads, next }
    }

    /// Where `branch` is.
    pub fn head(&self, branch: &Branch) -> Option<&Head> {
        self.heads.get(branch)
    }

    /// The branches there are.
    pub fn branches(&self) -> impl Iterator<Item = (&Branch, &Head)> {
        self.heads.iter()
    }

    /// Words are about to be said first on `branch`, of which this is known.
    pub fn know(&mut self, branch: &Branch, label: Label) {
        if let Some(head) = self.heads.get_mut(branch) {
            head.label = head.label.join(label);
        }
    }

    /// Starts `branch` at nothing, under `session`.
    pub fn create(&mut self, branch: Branch, session: SessionId, at: Timestamp) -> Move {
        self.point(branch, Head { entry: None, session, label: Label::PLAIN }, Why::Created, at)
    }

    /// Says `said` on `branch`; nothing happens on a branch that does not exist.
    pub fn say(&mut self, branch: &Branch, said: Said, at: Timestamp) -> Option<Entry> {
        self.say_knowing(branch, said, Label::PLAIN, at)
    }

    /// The same, where more is known of the words than they show.
    pub fn say_knowing(&mut self, branch: &Branch, said: Said, more: Label, at: Timestamp) -> Option<Entry> {
        let head = self.heads.get_mut(branch)?;
        // The first words are known by what is known where they begin.
        let begun = if head.entry.is_none() { head.label } else { Label::PLAIN };
        let own = said.label().join(more).join(begun);
        let label = head.label.join(own);
        let entry = Entry { id: self.next, parent: head.entry, at, said, own, label };
        self.next = self.next.next();
        head.entry = Some(entry.id);
        head.label = label;
        Some(entry)
    }

    /// Starts `fork` where `from` now ends; nothing happens if `from` does not exist.
    pub fn fork(&mut self, from: &Branch, fork: Branch, session: SessionId, at: Timestamp) -> Option<Move> {
        let Head { entry, label, .. } = *self.head(from)?;
        Some(self.branch_off(fork, Head { entry, session, label }, at))
    }

    /// Starts `fork` at `head`, wherever in the tree that is.
    pub fn branch_off(&mut self, fork: Branch, head: Head, at: Timestamp) -> Move {
        self.point(fork, head, Why::Forked, at)
    }

    /// Makes the place and session of `fork` the main conversation, and ends the fork.
    pub fn promote(&mut self, fork: &Branch, at: Timestamp) -> Option<[Move; 2]> {
        let head = self.head(fork)?.clone();
        let moved = self.point(Branch::Main, head, Why::Promoted, at);
        Some([moved, self.end(fork, Why::Promoted, at)?])
    }

    /// Lets `summary` stand for everything said on `branch` so far, under a new `session`.
    pub fn compact(
        &mut self,
        branch: &Branch,
        summary: String,
        session: SessionId,
        at: Timestamp,
    ) -> Option<(Entry, Move)> {
        let from = self.head(branch)?.clone();
        let entry = self.say(branch, Said::Summary(summary), at)?;
        let to = Head { entry: Some(entry.id), session, label: entry.label };
        self.heads.insert(branch.clone(), to.clone());
        let moved = Move { branch: branch.clone(), at, why: Why::Compacted, from: Some(from), to: Some(to) };
        Some((entry, moved))
    }

    /// Moves `branch` back to where it was, or on to where it would be.
    pub fn undo(&mut self, branch: &Branch, to: Head, at: Timestamp) -> Move {
        self.point(branch.clone(), to, Why::Undone, at)
    }

    /// Moves the main conversation to where another session is.
    pub fn switch(&mut self, to: Head, at: Timestamp) -> Move {
        self.point(Branch::Main, to, Why::Promoted, at)
    }

    /// Takes the name `branch` away; what was said stays in the tree.
    pub fn end(&mut self, branch: &Branch, why: Why, at: Timestamp) -> Option<Move> {
        let from = self.heads.remove(branch)?;
        Some(Move { branch: branch.clone(), at, why, from: Some(from), to: None })
    }

    fn point(&mut self, branch: Branch, to: Head, why: Why, at: Timestamp) -> Move {
        let from = self.heads.insert(branch.clone(), to.clone());
        Move { branch, at, why, from, to: Some(to) }
    }
}
