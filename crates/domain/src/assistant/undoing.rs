//! Undo of compactions, promotions and clears of main: each only moved a branch head.
//!
//! Changes are undone newest first, for thirty days.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Compaction, Effect, Minutes, Shown};
use crate::conversation::{Branch, EntryId, Head, Move, Said, Why};
use crate::record::{Record, SessionChange};
use crate::report::Report;

/// How many days a change can be undone.
pub const UNDO_DAYS: i64 = 30;
/// Most undoable changes.
const CHANGES: usize = 20;

/// An undoable change of main.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub what: Changed,
    /// Main's head before the change.
    pub from: Head,
    pub at: Timestamp,
    /// Pending updates that main has read through it or since.
    pub read: Vec<Report>,
}

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Replaced by the summary in this entry.
    Compacted(EntryId),
    /// Replaced by a fork.
    Promoted,
    /// Cleared.
    Cleared,
}

impl Change {
    /// Returns true if it can still be undone at the time `now`.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) <= SignedDuration::from_hours(24 * UNDO_DAYS)
    }
}

impl Assistant {
    /// Adds an undoable change of main.
    pub(super) fn can_undo(&mut self, what: Changed, moved: &Move) {
        let Some(from) = moved.from.clone() else { return };
        let changes = Arc::make_mut(&mut self.memory.main.changes);
        changes.retain(|change| change.is_fresh(moved.at));
        if changes.len() == CHANGES {
            changes.remove(0);
        }
        changes.push(Change { what, from, at: moved.at, read: Vec::new() });
    }

    /// Handles `/undo`: undoes the last change.
    pub(super) fn undo(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.fork.is_some() {
            return refused("we are in a side conversation. leave it first: /save, /report or /exit.");
        }
        if self.speaking().is_some() {
            return refused("i am in the middle of something. stop me, or ask again when i am done.");
        }
        let mut minutes = Minutes::at(now);
        let changes = Arc::make_mut(&mut self.memory.main.changes);
        changes.retain(|change| change.is_fresh(now.timestamp()));
        let Some(change) = changes.pop() else {
            return refused(
                "there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.",
            );
        };
        let text = match change.what {
            Changed::Compacted(summary) => self.recall(change, summary, &mut minutes),
            Changed::Promoted => {
                self.go_back(change, &mut minutes);
                "taken back: the main conversation is where it was before the side conversation was saved. what was \
                 said since stays in the tree."
            }
            Changed::Cleared => {
                self.go_back(change, &mut minutes);
                "taken back: this is our old conversation again. what was said since stays in the tree."
            }
        };
        self.memory.turns.filled.remove(&Branch::Main);
        (Answer::Told(text.to_owned()), minutes.effects())
    }

    /// Undoes a compaction. Entries written since stay in the context.
    fn recall(&mut self, change: Change, summary: EntryId, minutes: &mut Minutes) -> &'static str {
        let here = self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry);
        let to = if here == Some(summary) {
            change.from
        } else {
            let recalled = self.say_on(&Branch::Main, Said::Recalled(summary), minutes);
            let label = recalled.as_ref().map_or(change.from.label, |entry| entry.label);
            Head { entry: recalled.map(|entry| entry.id), session: change.from.session, label }
        };
        self.point_main(to, minutes);
        if let Some(before) = Arc::make_mut(&mut self.memory.main.changes).last_mut() {
            before.read.extend(change.read);
        }
        let undone = Compaction::Undone { branch: Branch::Main, summary };
        minutes.shown.push(Shown::Compaction(undone));
        "taken back: i remember every word again."
    }

    /// Moves main back to its former head; updates read since are pending again.
    fn go_back(&mut self, change: Change, minutes: &mut Minutes) {
        self.point_main(change.from, minutes);
        self.unread(change.read, minutes);
        minutes.shown.push(Shown::Moved(Why::Undone));
    }

    fn point_main(&mut self, to: Head, minutes: &mut Minutes) {
        let session = to.session.clone();
        let at = minutes.at;
        let moved = self.memory.conversation.undo(&Branch::Main, to, at);
        let from = moved.from.as_ref().map(|head| head.session.clone());
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Session(SessionChange::Swapped { to: session, from, at }));
    }
}
