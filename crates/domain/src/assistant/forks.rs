//! Interactive forks: at most one at a time, started by the user or by the model.

use jiff::Zoned;

use super::{
    Answer, Assistant, Effect, Position, SideUpdate, Transaction, TurnEnding, TurnState, TurnWork, Update,
};
use crate::context;
use crate::context_tool::ForkOptions;
use crate::conversation::{Branch, EntryId, Head};
use crate::failure::{Failure, InvalidReply};
use crate::fork::{Fork, ForkExit, ForkRequest, PendingExit};
use crate::label::Label;
use crate::record::{
    Address, ForkChange, Message, MessageChange, MessageId, Record, SessionChange, SurfaceName,
};

/// Position and session of a new fork.
pub(super) struct NewFork {
    /// The position in the tree, and the session id.
    pub(super) head: Head,
    /// The entry of main it contains, or `None` if it has nothing of main.
    pub(super) root: Option<EntryId>,
    /// The request.
    pub(super) request: ForkRequest,
}

impl Assistant {
    /// IF-6, IF-7: handles `/fork`.
    pub(super) fn request_fork(&mut self, topic: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.state.fork.is_some() {
            return refusal_reply(
                "we are in a side conversation already. end it first: /save, /report or /exit.",
            );
        }
        if self.state.main.fork_request.is_some() {
            return refusal_reply("a side conversation begins already, as soon as this answer is done.");
        }
        if let Some(why) = self.blocked_reason() {
            return refusal_reply(&format!(
                "{why}, so nobody could answer there. /retry tries it again now."
            ));
        }
        let topic = Some(topic.trim().to_owned()).filter(|topic| !topic.is_empty());
        let mut tx = Transaction::at(now);
        self.save_fork_request(ForkOptions { topic, idle_minutes: None }, self.state.messages.next, &mut tx);
        self.switch_now(tx)
    }

    /// IF-8, IF-11: handles the model's request for a fork. An earlier request of the user takes
    /// precedence.
    pub(super) fn request_fork_by_model(&mut self, asked: ForkOptions, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        if self.state.main.fork_request.is_none() {
            self.save_fork_request(asked, MessageId(0), &mut tx);
        }
        tx.into_effects()
    }

    /// Requests a fork that starts once all messages before `until` are answered.
    fn save_fork_request(&mut self, asked: ForkOptions, until: MessageId, tx: &mut Transaction) {
        let request =
            ForkRequest { topic: asked.topic, idle_minutes: asked.idle_minutes, start_message: until };
        tx.records.push(Record::Fork(ForkChange::Requested(Some(request.clone()))));
        self.state.main.fork_request = Some(request);
    }

    /// Enters or leaves now, or when the active answer is finished, without waiting for approvals.
    pub(super) fn switch_now(&mut self, mut tx: Transaction) -> (Answer, Vec<Effect>) {
        self.cancel_waiting(&mut tx);
        self.apply_fork_switch(&mut tx);
        self.start_next_turn(&mut tx);
        let leaving = self.state.fork.as_ref().map(|fork| &fork.pending_exit);
        let answer = match (leaving, &self.state.main.fork_request) {
            (Some(PendingExit::ReportRequested), _) => {
                text_reply("i sum this up, and then we are back in the main conversation.")
            }
            (Some(PendingExit::Chosen(_)), _) | (_, Some(_)) => text_reply("as soon as this answer is done."),
            (Some(PendingExit::Stay) | None, None) => Answer::Done,
        };
        (answer, tx.into_effects())
    }

    /// MC-7: returns the effect that interrupts the active answer; a compaction is not interrupted.
    pub(super) fn interrupt_effect(&self) -> Option<Effect> {
        let (_, running) = self.user_turn()?;
        match (&running.work, running.state) {
            (TurnWork::Answer(..), TurnState::Fresh | TurnState::Resumed) => {
                Some(Effect::Interrupt(running.turn))
            }
            (TurnWork::Answer(..), TurnState::Blocked) | (TurnWork::Compact(_), _) => None,
        }
    }

    /// IF-9, IF-10: carries out a requested entry or exit, if no turn is active.
    pub(super) fn apply_fork_switch(&mut self, tx: &mut Transaction) {
        if self.user_turn().is_some() {
            return;
        }
        match (self.state.main.fork_request.clone(), self.state.fork.clone()) {
            (Some(request), _) if self.has_messages_before(request.start_message) => {}
            (Some(request), None) => self.enter_fork(request, tx),
            (Some(_), Some(_)) => self.drop_fork_request(tx),
            (None, Some(fork)) if self.has_messages_before(fork.end_message) => {}
            (None, Some(Fork { pending_exit: PendingExit::Chosen(exit), .. })) => {
                self.exit_on_request(exit, tx)
            }
            (None, Some(Fork { pending_exit: PendingExit::ReportRequested, .. })) => self.stay_in_fork(tx),
            (None, Some(Fork { pending_exit: PendingExit::Stay, .. }) | None) => {}
        }
    }

    /// IF-8: returns true if the model requested a fork. A request of the user waits for the
    /// answer.
    pub(super) fn is_fork_requested_by_model(&self) -> bool {
        self.state.main.fork_request.as_ref().is_some_and(|entering| entering.start_message == MessageId(0))
    }

    /// Returns true if messages before `until` still wait.
    fn has_messages_before(&self, until: MessageId) -> bool {
        self.state.messages.waiting.iter().any(|message| message.id < until)
    }

    pub(super) fn drop_fork_request(&mut self, tx: &mut Transaction) {
        if self.state.main.fork_request.take().is_some() {
            tx.records.push(Record::Fork(ForkChange::Requested(None)));
        }
    }

    /// IF-4, IF-12: starts a fork of main, and queues its first message.
    fn enter_fork(&mut self, request: ForkRequest, tx: &mut Transaction) {
        self.drop_fork_request(tx);
        self.ensure_main(tx);
        let main = self.state.conversation.head(&Branch::Main).and_then(Position::of_head);
        let root = main.map(|spot| spot.entry);
        let label = main.map_or(Label::PLAIN, |spot| spot.label);
        let head = Head { entry: root, session: self.rng.session_id(), label };
        let text = context::fork_started(request.topic.as_deref());
        let branch = self.open_fork(NewFork { head, root, request }, tx);
        let filled = self.state.turns.context_tokens.get(&Branch::Main).copied();
        self.state.turns.context_tokens.extend(filled.map(|filled| (branch.clone(), filled)));
        let message = self.own_message(branch, text, tx);
        self.state.messages.waiting.push_front(message);
    }

    /// IF-16: creates the fork's branch and records its session.
    pub(super) fn open_fork(&mut self, start: NewFork, tx: &mut Transaction) -> Branch {
        let NewFork { head, root, request } = start;
        let branch = self.rng.new_branch();
        let at = tx.at;
        let topic = request.topic.clone();
        let from = self.state.conversation.head(&Branch::Main).map(|head| head.session.clone());
        let forked = SessionChange::Forked { fork: head.session.clone(), from, at };
        let moved = self.state.conversation.fork_at(branch.clone(), head, at);
        tx.records.push(Record::BranchMoved(moved));
        tx.records.push(Record::Session(forked));
        tx.updates.push(Update::Side(SideUpdate::ForkStarted { branch: branch.clone(), topic }));
        let request = ForkRequest { idle_minutes: self.fork_idle_minutes(request.idle_minutes), ..request };
        let fork = Fork::new(branch.clone(), root, request, at);
        self.state.fork = Some(Fork { thinking: self.fork_thinking(), effort: self.fork_effort(), ..fork });
        self.update_fork(tx, |_| {});
        branch
    }

    /// Creates a message of the assistant itself for `branch`.
    pub(super) fn own_message(&mut self, branch: Branch, text: String, tx: &mut Transaction) -> Message {
        self.own_labelled_message(branch, (text, Label::PLAIN), tx)
    }

    /// Like [`Self::own_message`], with the label of quoted text.
    pub(super) fn own_labelled_message(
        &mut self,
        branch: Branch,
        (text, label): (String, Label),
        tx: &mut Transaction,
    ) -> Message {
        let id = self.next_message_id();
        let at = tx.at;
        let to = Address::Branch(branch);
        let message = Message {
            id,
            at,
            surface: SurfaceName::Internal,
            address: to,
            text,
            images: Vec::new(),
            external_id: None,
            label,
        };
        tx.records.push(Record::Message(MessageChange::Received(message.clone())));
        message
    }

    /// Changes the open fork and records it.
    pub(super) fn update_fork(&mut self, tx: &mut Transaction, change: impl FnOnce(&mut Fork)) {
        let Some(fork) = &mut self.state.fork else { return };
        change(fork);
        tx.records.push(Record::Fork(ForkChange::Open(fork.clone())));
    }

    /// IF-26: resets the idle time if `branch` is the fork.
    pub(super) fn reset_idle_time(&mut self, branch: &Branch, tx: &mut Transaction) {
        let at = tx.at;
        if self.state.fork.as_ref().is_some_and(|fork| fork.branch == *branch) {
            self.update_fork(tx, |fork| (fork.last_activity, fork.asked_at) = (at, None));
        }
    }

    /// IF-21: stores how the model ends the fork; its last call counts.
    pub(super) fn save_exit(&mut self, exit: ForkExit, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        if let ForkExit::Report(text) = &exit {
            self.leave_fork_update(text.clone(), &mut tx);
        }
        self.update_fork(&mut tx, |fork| {
            (fork.pending_exit, fork.end_message) = (PendingExit::Chosen(exit), MessageId(0))
        });
        tx.into_effects()
    }

    /// Returns the effective ending: a turn interrupted by its own fork request is finished, and so
    /// is a background run that ends without text.
    pub(super) fn effective_ending(&self, branch: &Branch, ending: TurnEnding) -> TurnEnding {
        let is_run = self.state.turns.runs.contains_key(branch);
        match ending {
            TurnEnding::Interrupted if self.is_fork_requested_by_model() => TurnEnding::Finished,
            TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Empty)) if is_run => TurnEnding::Finished,
            TurnEnding::Interrupted | TurnEnding::Finished | TurnEnding::Failed(_) => ending,
        }
    }
}

fn text_reply(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

pub(super) fn refusal_reply(why: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why.to_owned()), Vec::new())
}
