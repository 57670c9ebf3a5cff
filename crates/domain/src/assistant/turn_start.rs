//! Turn start: takes waiting messages one at a time, appends them and opens their turns.

use std::sync::Arc;

use super::compaction::ActiveCompaction;
use super::routing::Route;
use super::{
    ActiveTurn, Assistant, Attempt, OperatingMode, Position, Transaction, TurnKind, TurnRef, TurnStart,
    TurnState, TurnWork, Update,
};
use crate::conversation::{Branch, EntryContent};
use crate::label::Label;
use crate::record::{Message, MessageChange, Record, TurnChange, TurnOpened};
use crate::turn::TurnId;

impl Assistant {
    /// Starts the next compaction or turn if no turn with the user is active.
    pub(super) fn start_next_turn(&mut self, tx: &mut Transaction) {
        if self.transient.mode == OperatingMode::Autonomous {
            self.show_due_reminders(tx);
            self.end_rewording(tx);
        }
        if self.user_turn().is_some()
            || self.transient.mode == OperatingMode::OnRequestOnly
            || self.awaits_job_files()
        {
            return self.stop_waiting_if_busy(tx);
        }
        if let Some(request) = self.transient.compaction_requests.pop_front() {
            return self.start_requested_compaction(request, tx);
        }
        self.limit_rewording(tx);
        self.skip_unaffordable_on_main(tx);
        let next = self.state.messages.waiting.front();
        let next = next.and_then(|next| Some((self.target_branch(next, tx)?, next.id)));
        if let Some((branch, next)) = next.filter(|(branch, _)| self.is_full(branch)) {
            let attended = self.account(&branch, next).attended;
            return self.start_compaction(ActiveCompaction::automatic(branch, attended), tx);
        }
        if let Some(message) = self.state.messages.waiting.pop_front() {
            self.start_answer(Arc::new(message), tx);
        }
    }

    /// Returns the active turn with the user, on main or in the fork. There is at most one.
    pub(super) fn user_turn(&self) -> Option<(&Branch, &ActiveTurn)> {
        let fork = self.state.fork.as_ref().map(|fork| &fork.branch);
        let on = |branch: &Branch| self.active_turns.get_key_value(branch);
        on(&Branch::Main).or_else(|| fork.and_then(on))
    }

    /// Routes `message` to its branch and starts the turn that answers it.
    pub(super) fn start_answer(&mut self, message: Arc<Message>, tx: &mut Transaction) {
        if self.is_model_unreachable(tx.at) && self.answer_offline(&message, tx) {
            return self.start_next_turn(tx);
        }
        match self.route_message(&message, tx) {
            Some(arrival) => self.start_answer_on(arrival, message, tx),
            None => self.start_next_turn(tx),
        }
    }

    /// Appends `message` to its branch and starts the turn that answers it.
    pub(super) fn start_answer_on(&mut self, route: Route, message: Arc<Message>, tx: &mut Transaction) {
        let Route { branch, lead, label } = route;
        if branch == Branch::Main {
            self.ensure_main(tx);
            self.state.main.position_before_turn =
                self.state.conversation.head(&branch).and_then(Position::of_head);
        }
        let (content, reader_label) = self.content_on(&message, &branch, &lead, tx);
        let entry_label = reader_label.join(label).join(message.label).join(self.inherited_label(&branch));
        let Some(entry) = self.append_labelled(&branch, EntryContent::User(content), entry_label, tx) else {
            return;
        };
        self.mark_updates_delivered(&branch, entry.id, tx);
        tx.records.push(Record::Message(MessageChange::Taken(message.id, entry.id)));
        let turn = self.next_turn_id();
        // A message from before the start must not wait any longer.
        let owed =
            if message.id < self.transient.first_message { TurnState::Resumed } else { TurnState::Fresh };
        self.open_turn(TurnRef { turn, branch, message, attempt: Attempt::First }, owed, tx);
    }

    /// Returns the label that the prompt of a run inherits from its branch.
    fn inherited_label(&self, branch: &Branch) -> Label {
        let begins = self.state.turns.runs.contains_key(branch);
        if begins { self.label(branch) } else { Label::PLAIN }
    }

    pub(super) fn next_turn_id(&mut self) -> TurnId {
        let turn = self.state.turns.next;
        self.state.turns.next = TurnId(turn.0 + 1);
        turn
    }

    /// Records a turn as opened, and starts it.
    pub(super) fn open_turn(&mut self, turn_ref: TurnRef, state: TurnState, tx: &mut Transaction) {
        let TurnRef { turn, branch, message, attempt: sending } = turn_ref;
        let answers = message.id;
        let opened = TurnOpened { turn, branch: branch.clone(), message: answers, at: tx.at };
        tx.records.push(Record::Turn(TurnChange::Opened(opened)));
        tx.updates.push(Update::TurnStarted { turn, branch: branch.clone(), answers });
        if branch == Branch::Main {
            self.set_reminder_deadline(answers, tx);
        }
        let work = TurnWork::Answer(message, sending);
        let account = self.account(&branch, answers);
        self.start_turn(branch, ActiveTurn::new(turn, work, account, state), tx);
    }

    /// Starts a turn at the head of `branch`.
    pub(super) fn start_turn(&mut self, branch: Branch, active: ActiveTurn, tx: &mut Transaction) {
        let Some(from) = self.state.conversation.head(&branch).and_then(|head| head.entry) else { return };
        let kind = match &active.work {
            TurnWork::Answer(..) => TurnKind::Answer,
            TurnWork::Compact(compacting) => TurnKind::Compact(compacting.instructions.clone()),
        };
        let turn = active.turn;
        let account = active.account.clone();
        let seed = self.rng.next_u64();
        let model = self.model_for(&branch);
        let thinking = self.thinking_for(&branch);
        let effort = self.effort_for(&branch);
        let window = self.model_window_for(&branch);
        self.active_turns.insert(branch.clone(), active);
        let user = self.user_name().to_owned();
        tx.starts.push(TurnStart {
            turn,
            branch,
            kind,
            account,
            model,
            thinking,
            effort,
            window,
            user,
            from,
            seed,
        });
        self.prioritize_blocking_turns(tx);
    }
}
