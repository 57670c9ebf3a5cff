//! Resumption of interrupted turns after a start, inbox commands, and the status.

use std::sync::Arc;

use jiff::Zoned;

use super::blocked_turns::KEY_REJECTED;
use super::{
    Answer, Assistant, Attempt, Effect, MAX_ATTEMPTS, Numbers, Record, Replanned, Transaction, TurnEnding,
    TurnRef, TurnState, UnfinishedTurn, Update,
};
use crate::context::UNKNOWN_OUTCOME;
use crate::conversation::{Branch, EntryContent, Usage};
use crate::cost::CostSource;
use crate::failure::Failure;
use crate::inbox::{InboxItem, InboxItemId, list_text};
use crate::permission::Decision;
use crate::ping_budget::PingBudget;
use crate::record::InboxChange;
use crate::tool::{Outcome, ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    /// Resumes a turn that was interrupted by the end of the process, or gives it up after too many
    /// attempts.
    pub(super) fn resume_turn(&mut self, unfinished: UnfinishedTurn, tx: &mut Transaction) {
        self.record_unknown_results(unfinished.turn, &unfinished.branch, &unfinished.unanswered, tx);
        let UnfinishedTurn { turn, branch, answers, attempts, calls, .. } = unfinished;
        if calls > 0 {
            // It must not be answered offline: its tools may have had effects.
            self.transient.offline_facts.used_tools.insert(turn);
        }
        let source = self.state.turns.runs.get(&branch).map(|run| run.source.clone());
        if matches!(source, Some(CostSource::Agent(_) | CostSource::Reader)) {
            // The turn that requested it is gone.
            tx.close_turn(turn, TurnEnding::Interrupted, Usage::default());
            return self.finish_run(&branch, &TurnEnding::Interrupted, tx);
        }
        if attempts < MAX_ATTEMPTS {
            let turn_ref = TurnRef { turn, branch, message: answers, attempt: Attempt::First };
            return self.open_turn(turn_ref, TurnState::Resumed, tx);
        }
        let text = if self.state.turns.runs.contains_key(&branch) {
            format!("i stopped {MAX_ATTEMPTS} times in the middle of it, so i left it.")
        } else {
            format!("i stopped {MAX_ATTEMPTS} times while answering this, so i left it. say it again.")
        };
        let ending = TurnEnding::Failed(Failure::Stopped(text));
        tx.close_turn(turn, ending.clone(), Usage::default());
        self.finish_run(&branch, &ending, tx);
        tx.updates.push(Update::TurnEnded { turn, branch, answers: answers.id, ending });
    }

    /// Ends runs without a turn: the process ended while they were ending, or during their
    /// compaction.
    pub(super) fn resume_runs(&mut self, unfinished: &[UnfinishedTurn], tx: &mut Transaction) {
        let runs: Vec<Branch> = self.state.turns.runs.keys().cloned().collect();
        for branch in runs {
            self.start_time_limit(&branch, tx);
            if !unfinished.iter().any(|left| left.branch == branch) {
                self.finish_run(&branch, &TurnEnding::Finished, tx);
            }
        }
    }

    /// Records results for calls without one, so that none is repeated: a call that only waited for
    /// approval did not run; the outcome of all others is unknown.
    pub(super) fn record_unknown_results(
        &mut self,
        turn: TurnId,
        branch: &Branch,
        calls: &[ToolCall],
        tx: &mut Transaction,
    ) {
        if calls.is_empty() {
            return;
        }
        let result_of = |call: &ToolCall| {
            let refusal = self.state.approvals.refusal_of(turn, call);
            refusal
                .and_then(|refused| Decision::refused(call, refused).refusal())
                .unwrap_or_else(|| unknown_result(call))
        };
        let results = calls.iter().map(result_of).collect();
        self.append(branch, EntryContent::Tools(results), tx);
    }

    pub(super) fn keep_text(&mut self, text: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return (Answer::Refused("there is nothing in that to keep.".to_owned()), Vec::new());
        }
        let mut tx = Transaction::at(now);
        let id = self.add_to_inbox(&text, &mut tx);
        self.push_plan_undo(Replanned { added_items: vec![id], ..Replanned::default() }, &mut tx);
        (Answer::Text(format!("kept as {}", id.0)), tx.into_effects())
    }

    /// Adds `text` to the inbox, and returns its number.
    pub(super) fn add_to_inbox(&mut self, text: &str, tx: &mut Transaction) -> InboxItemId {
        let id = self.state.inbox.next_id;
        self.state.inbox.next_id = InboxItemId(id.0 + 1);
        let kept = InboxItem { id, at: tx.at, text: text.to_owned() };
        Arc::make_mut(&mut self.state.inbox.items).push(kept.clone());
        tx.records.push(Record::Inbox(InboxChange::Added(kept.clone())));
        self.leave_inbox_update(&kept, tx);
        self.note_kept(id, text, tx);
        id
    }

    /// Removes an item from the inbox, without undo.
    pub(super) fn remove_from_inbox(&mut self, id: InboxItemId, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(at) = self.state.inbox.items.iter().position(|kept| kept.id == id) else {
            let why = format!("there is no {} in the inbox. `inbox_list` tells the numbers.", id.0);
            return (Answer::Refused(why), Vec::new());
        };
        let removed = Arc::make_mut(&mut self.state.inbox.items).remove(at);
        let mut tx = Transaction::at(now);
        tx.records.push(Record::Inbox(InboxChange::Removed(id, tx.at)));
        self.withdraw_inbox_update(id, &mut tx);
        (Answer::Text(format!("removed {}: {}", id.0, removed.text)), tx.into_effects())
    }

    pub(super) fn list_inbox(&self) -> (Answer, Vec<Effect>) {
        (Answer::Text(list_text(&self.state.inbox.items)), Vec::new())
    }

    /// Returns the counts for status displays.
    pub(super) fn numbers(&self, now: &Zoned) -> Numbers {
        let pings = self.state.choices.ping_budget.unwrap_or_else(|| PingBudget::full(now)).refilled(now);
        let updates = self.state.updates.waiting.len();
        let inbox = self.state.inbox.items.len();
        let branch = self.state.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone());
        let filled = self.state.turns.context_tokens.get(&branch).copied();
        Numbers {
            updates,
            inbox,
            pings,
            context_tokens: filled,
            window: self.context_window_for(&branch),
            limit: self.budget.limit,
        }
    }

    pub(super) fn status(&self) -> (Answer, Vec<Effect>) {
        let kept = self.state.inbox.items.len();
        let waiting = self.state.messages.waiting.len();
        let blocked = match self.blocked_reason() {
            None => String::new(),
            Some(KEY_REJECTED) => format!(" {KEY_REJECTED}, so i can't answer before it takes one."),
            Some(why) => format!(" {why}; what waits for it is tried again."),
        };
        let approvals = match self.state.approvals.open.len() {
            0 => String::new(),
            open => format!(" approvals waiting: {open}."),
        };
        (Answer::Text(format!("inbox: {kept}. messages waiting: {waiting}.{approvals}{blocked}")), Vec::new())
    }
}

fn unknown_result(call: &ToolCall) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        text: UNKNOWN_OUTCOME.to_owned(),
        outcome: Outcome::Failed,
        label: crate::label::Label::PLAIN,
    }
}
