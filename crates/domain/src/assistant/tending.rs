//! Resumption of interrupted turns after a start, inbox commands, and the status.

use std::sync::Arc;

use jiff::Zoned;

use super::holding::REFUSES;
use super::{
    ATTEMPTS, Answer, Assistant, Effect, Ending, Minutes, Numbers, Owed, Record, Replanned, Sending, Shown,
    Turned, Unfinished,
};
use crate::context::UNKNOWN_OUTCOME;
use crate::conversation::{Branch, Said, Usage};
use crate::cost::Source;
use crate::failure::Failure;
use crate::inbox::{Kept, KeptId, read_out};
use crate::permission::Decision;
use crate::ping_budget::PingBudget;
use crate::record::InboxChange;
use crate::tool::{Outcome, ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    /// Resumes a turn that was interrupted by the end of the process, or gives it up after too many
    /// attempts.
    pub(super) fn resume(&mut self, left: Unfinished, minutes: &mut Minutes) {
        self.tell_unknown(left.turn, &left.branch, &left.unanswered, minutes);
        let Unfinished { turn, branch, answers, attempts, calls, .. } = left;
        if calls > 0 {
            // It must not be answered offline: its tools may have had effects.
            self.wants.tried.worked.insert(turn);
        }
        let source = self.memory.turns.runs.get(&branch).map(|run| run.source.clone());
        if matches!(source, Some(Source::Agent(_) | Source::Reader)) {
            // The turn that requested it is gone.
            minutes.close(turn, Ending::Interrupted, Usage::default());
            return self.run_ended(&branch, &Ending::Interrupted, minutes);
        }
        if attempts < ATTEMPTS {
            let turned = Turned { turn, branch, message: answers, sending: Sending::First };
            return self.open(turned, Owed::SinceBefore, minutes);
        }
        let text = if self.memory.turns.runs.contains_key(&branch) {
            format!("i stopped {ATTEMPTS} times in the middle of it, so i left it.")
        } else {
            format!("i stopped {ATTEMPTS} times while answering this, so i left it. say it again.")
        };
        let ending = Ending::Failed(Failure::Stopped(text));
        minutes.close(turn, ending.clone(), Usage::default());
        self.run_ended(&branch, &ending, minutes);
        minutes.shown.push(Shown::Ended { turn, branch, answers: answers.id, ending });
    }

    /// Ends runs without a turn: the process ended while they were ending, or during their
    /// compaction.
    pub(super) fn resume_runs(&mut self, unfinished: &[Unfinished], minutes: &mut Minutes) {
        let runs: Vec<Branch> = self.memory.turns.runs.keys().cloned().collect();
        for branch in runs {
            self.limit(&branch, minutes);
            if !unfinished.iter().any(|left| left.branch == branch) {
                self.run_ended(&branch, &Ending::Finished, minutes);
            }
        }
    }

    /// Records results for calls without one, so that none is repeated: a call that only waited for
    /// approval did not run; the outcome of all others is unknown.
    pub(super) fn tell_unknown(
        &mut self,
        turn: TurnId,
        branch: &Branch,
        calls: &[ToolCall],
        minutes: &mut Minutes,
    ) {
        if calls.is_empty() {
            return;
        }
        let told = |call: &ToolCall| {
            let kept = self.memory.approvals.kept_from(turn, call);
            kept.and_then(|refused| Decision::refused(call, refused).refusal())
                .unwrap_or_else(|| unknown(call))
        };
        let results = calls.iter().map(told).collect();
        self.say_on(branch, Said::Tools(results), minutes);
    }

    pub(super) fn keep(&mut self, text: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return (Answer::Refused("there is nothing in that to keep.".to_owned()), Vec::new());
        }
        let mut minutes = Minutes::at(now);
        let id = self.put_in_inbox(&text, &mut minutes);
        self.can_undo_plan(Replanned { kept: vec![id], ..Replanned::default() }, &mut minutes);
        (Answer::Told(format!("kept as {}", id.0)), minutes.effects())
    }

    /// Adds `text` to the inbox, and returns its number.
    pub(super) fn put_in_inbox(&mut self, text: &str, minutes: &mut Minutes) -> KeptId {
        let id = self.memory.inbox.next;
        self.memory.inbox.next = KeptId(id.0 + 1);
        let kept = Kept { id, at: minutes.at, text: text.to_owned() };
        Arc::make_mut(&mut self.memory.inbox.kept).push(kept.clone());
        minutes.records.push(Record::Inbox(InboxChange::Kept(kept.clone())));
        self.keep_for_model(&kept, minutes);
        self.note_kept(id, text, minutes);
        id
    }

    /// Removes an item from the inbox, without undo.
    pub(super) fn remove(&mut self, id: KeptId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(at) = self.memory.inbox.kept.iter().position(|kept| kept.id == id) else {
            let why = format!("there is no {} in the inbox. `inbox_list` tells the numbers.", id.0);
            return (Answer::Refused(why), Vec::new());
        };
        let removed = Arc::make_mut(&mut self.memory.inbox.kept).remove(at);
        let mut minutes = Minutes::at(now);
        minutes.records.push(Record::Inbox(InboxChange::Removed(id, minutes.at)));
        self.not_for_model(id, &mut minutes);
        (Answer::Told(format!("removed {}: {}", id.0, removed.text)), minutes.effects())
    }

    pub(super) fn read_inbox(&self) -> (Answer, Vec<Effect>) {
        (Answer::Told(read_out(&self.memory.inbox.kept)), Vec::new())
    }

    /// Returns the counts for status displays.
    pub(super) fn numbers(&self, now: &Zoned) -> Numbers {
        let pings = self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(now)).at(now);
        let updates = self.memory.reports.waiting.len();
        let inbox = self.memory.inbox.kept.len();
        let here = self.memory.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone());
        let filled = self.memory.turns.filled.get(&here).copied();
        Numbers { updates, inbox, pings, filled, room: self.room_on(&here), limit: self.purse.limit }
    }

    pub(super) fn status(&self) -> (Answer, Vec<Effect>) {
        let kept = self.memory.inbox.kept.len();
        let waiting = self.memory.messages.waiting.len();
        let held = match self.why_it_waits() {
            None => String::new(),
            Some(REFUSES) => format!(" {REFUSES}, so i can't answer before it takes one."),
            Some(why) => format!(" {why}; what waits for it is tried again."),
        };
        let asked = match self.memory.approvals.open.len() {
            0 => String::new(),
            open => format!(" approvals waiting: {open}."),
        };
        (Answer::Told(format!("inbox: {kept}. messages waiting: {waiting}.{asked}{held}")), Vec::new())
    }
}

fn unknown(call: &ToolCall) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        text: UNKNOWN_OUTCOME.to_owned(),
        outcome: Outcome::Failed,
        label: crate::label::Label::PLAIN,
    }
}
