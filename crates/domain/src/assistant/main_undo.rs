//! Undo of compactions, promotions and clears of main: each only moved a branch head.
//!
//! Changes are undone newest first, for thirty days.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::forks::refusal_reply;
use super::{Answer, Assistant, CompactionUpdate, Effect, Transaction, Update};
use crate::conversation::{Branch, EntryContent, EntryId, Head, Move, MoveReason};
use crate::pending_update::PendingUpdate;
use crate::record::{Record, SessionChange};

/// How many days a change can be undone.
pub const UNDO_DAYS: i64 = 30;
/// Most undoable changes.
const MAX_CHANGES: usize = 20;

/// An undoable change of main.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoableChange {
    pub kind: MainChangeKind,
    /// Main's head before the change.
    pub from: Head,
    pub at: Timestamp,
    /// Pending updates that main has read through it or since.
    pub read_updates: Vec<PendingUpdate>,
}

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MainChangeKind {
    /// Replaced by the summary in this entry.
    Compacted(EntryId),
    /// Replaced by a fork.
    Promoted,
    /// Cleared.
    Cleared,
}

impl UndoableChange {
    /// Returns true if it can still be undone at the time `now`.
    pub fn is_undoable(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) <= SignedDuration::from_hours(24 * UNDO_DAYS)
    }
}

impl Assistant {
    /// Adds an undoable change of main.
    pub(super) fn push_main_undo(&mut self, what: MainChangeKind, moved: &Move) {
        let Some(from) = moved.from.clone() else { return };
        let changes = Arc::make_mut(&mut self.state.main.changes);
        changes.retain(|change| change.is_undoable(moved.at));
        if changes.len() == MAX_CHANGES {
            changes.remove(0);
        }
        changes.push(UndoableChange { kind: what, from, at: moved.at, read_updates: Vec::new() });
    }

    /// Handles `/undo`: undoes the last change.
    pub(super) fn undo_main_change(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.state.fork.is_some() {
            return refusal_reply("we are in a side conversation. leave it first: /save, /report or /exit.");
        }
        if self.user_turn().is_some() {
            return refusal_reply("i am in the middle of something. stop me, or ask again when i am done.");
        }
        let mut tx = Transaction::at(now);
        let changes = Arc::make_mut(&mut self.state.main.changes);
        changes.retain(|change| change.is_undoable(now.timestamp()));
        let Some(change) = changes.pop() else {
            return refusal_reply(
                "there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.",
            );
        };
        let text = match change.kind {
            MainChangeKind::Compacted(summary) => self.undo_compaction(change, summary, &mut tx),
            MainChangeKind::Promoted => {
                self.restore_main(change, &mut tx);
                "taken back: the main conversation is where it was before the side conversation was saved. what was \
                 said since stays in the tree."
            }
            MainChangeKind::Cleared => {
                self.restore_main(change, &mut tx);
                "taken back: this is our old conversation again. what was said since stays in the tree."
            }
        };
        self.state.turns.context_tokens.remove(&Branch::Main);
        (Answer::Text(text.to_owned()), tx.into_effects())
    }

    /// Undoes a compaction. Entries written since stay in the context.
    fn undo_compaction(
        &mut self,
        change: UndoableChange,
        summary: EntryId,
        tx: &mut Transaction,
    ) -> &'static str {
        let head_entry = self.state.conversation.head(&Branch::Main).and_then(|head| head.entry);
        let to = if head_entry == Some(summary) {
            change.from
        } else {
            let recalled = self.append(&Branch::Main, EntryContent::SummaryRecalled(summary), tx);
            let label = recalled.as_ref().map_or(change.from.label, |entry| entry.label);
            Head { entry: recalled.map(|entry| entry.id), session: change.from.session, label }
        };
        self.move_main(to, tx);
        if let Some(before) = Arc::make_mut(&mut self.state.main.changes).last_mut() {
            before.read_updates.extend(change.read_updates);
        }
        let undone = CompactionUpdate::Undone { branch: Branch::Main, summary };
        tx.updates.push(Update::Compaction(undone));
        "taken back: i remember every word again."
    }

    /// Moves main back to its former head; updates read since are pending again.
    fn restore_main(&mut self, change: UndoableChange, tx: &mut Transaction) {
        self.move_main(change.from, tx);
        self.restore_updates(change.read_updates, tx);
        tx.updates.push(Update::MainMoved(MoveReason::Undone));
    }

    fn move_main(&mut self, to: Head, tx: &mut Transaction) {
        let session = to.session.clone();
        let at = tx.at;
        let moved = self.state.conversation.undo(&Branch::Main, to, at);
        let from = moved.from.as_ref().map(|head| head.session.clone());
        tx.records.push(Record::BranchMoved(moved));
        tx.records.push(Record::Session(SessionChange::Swapped { to: session, from, at }));
    }
}
