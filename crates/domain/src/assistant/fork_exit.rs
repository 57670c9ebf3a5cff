//! Leaving a fork: its three exits, and the idle timeout.

use jiff::{Timestamp, Zoned};

use super::blocked_turns::KEY_REJECTED;
use super::forks::refusal_reply;
use super::{Answer, Assistant, Effect, MainChangeKind, SideUpdate, Transaction, TurnState, Update};
use crate::context;
use crate::conversation::{Branch, MoveReason};
use crate::fork::{Fork, ForkExit, IdleAction, PendingExit};
use crate::record::{Address, ForkChange, Message, MessageChange, MessageId, Record, SessionChange};

/// An exit command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitCommand {
    /// Promotes the fork to main.
    Save,
    /// Leaves this report for main; if empty, the model writes it.
    Report(String),
    /// Discards the fork.
    Drop,
}

/// The cause of a fork's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitCause {
    /// Requested by the user or the model.
    Requested,
    /// Idle timeout.
    Idle,
    /// A `/clear`.
    Cleared,
}

impl ExitCause {
    /// Returns the reason and the notice for a discarded fork.
    fn reason(self) -> (MoveReason, String) {
        let (why, text) = match self {
            Self::Idle => (MoveReason::Lapsed, "nobody had spoken for a while."),
            Self::Cleared => (MoveReason::Dropped, "we started over."),
            Self::Requested => (MoveReason::Dropped, ""),
        };
        (why, text.to_owned())
    }
}

impl Assistant {
    /// Returns the time at which an idle fork needs attention.
    pub(super) fn next_fork_wake(&self, now: Timestamp) -> Option<Timestamp> {
        let fork = self.state.fork.as_ref().filter(|_| self.user_turn().is_none())?;
        match fork.idle_action(now) {
            IdleAction::WaitUntil(time) => Some(time),
            IdleAction::Ask | IdleAction::End => Some(now),
        }
    }

    /// IF-24, IF-25: handles an exit command. It takes effect once earlier messages are answered,
    /// or after the model has written the report; a discard interrupts the answer.
    pub(super) fn exit_fork(&mut self, command: ExitCommand, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(fork) = self.state.fork.clone() else {
            return refusal_reply("we are not in a side conversation. /fork starts one.");
        };
        let blocked =
            self.active_turns.get(&fork.branch).is_some_and(|running| running.state == TurnState::Blocked);
        let mut tx = Transaction::at(now);
        let mut interrupt = None;
        let exit = match command {
            ExitCommand::Report(words) if words.trim().is_empty() && blocked => {
                let why = self.blocked_reason().unwrap_or(KEY_REJECTED);
                return refusal_reply(&format!(
                    "{why}, so it can't sum this up. use your own words: /report WORDS"
                ));
            }
            ExitCommand::Report(words) if words.trim().is_empty() => {
                let asked = context::REPORT_REQUESTED.to_owned();
                let message = self.own_message(fork.branch.clone(), asked, &mut tx);
                self.state.messages.waiting.push_back(message);
                PendingExit::ReportRequested
            }
            ExitCommand::Report(words) => {
                self.leave_fork_update(words.trim().to_owned(), &mut tx);
                PendingExit::Chosen(ForkExit::Report(words.trim().to_owned()))
            }
            ExitCommand::Save => PendingExit::Chosen(ForkExit::Save),
            ExitCommand::Drop => {
                interrupt = self.interrupt_effect().filter(|_| self.active_turns.contains_key(&fork.branch));
                PendingExit::Chosen(ForkExit::Discard)
            }
        };
        if blocked {
            self.abandon_turn(&fork.branch, &mut tx);
        }
        // Behind a blocked turn, earlier messages would never be answered.
        let until = if blocked { MessageId(0) } else { self.state.messages.next };
        self.update_fork(&mut tx, |fork| (fork.pending_exit, fork.end_message) = (exit, until));
        let (answer, effects) = self.switch_now(tx);
        match interrupt {
            Some(interrupt) => (Answer::Done, effects.into_iter().chain([interrupt]).collect()),
            None => (answer, effects),
        }
    }

    pub(super) fn exit_on_request(&mut self, exit: ForkExit, tx: &mut Transaction) {
        self.end_fork(exit, ExitCause::Requested, tx);
    }

    /// Stays in the fork because the model wrote no report, so that nothing is lost.
    pub(super) fn stay_in_fork(&mut self, tx: &mut Transaction) {
        let text = "nothing was reported, so we are still in the side conversation. leave it with your own words \
                    (/report WORDS), or with /save or /exit.";
        tx.updates.push(Update::Notice(text.to_owned()));
        self.update_fork(tx, |fork| {
            (fork.pending_exit, fork.end_message) = (PendingExit::Stay, MessageId(0))
        });
    }

    /// IF-19, IF-20: ends the fork with one of its three exits.
    pub(super) fn end_fork(&mut self, exit: ForkExit, cause: ExitCause, tx: &mut Transaction) {
        let Some(fork) = self.state.fork.take() else { return };
        self.state.choices.modes.fork = None;
        self.drop_messages_for(&fork.branch, tx);
        let (why, note) = match exit {
            ForkExit::Save => self.promote_fork(&fork, tx),
            ForkExit::Report(text) => (MoveReason::Reported, text),
            ForkExit::Discard => cause.reason(),
        };
        if why != MoveReason::Promoted {
            let ended = self.state.conversation.end(&fork.branch, why, tx.at);
            tx.records.extend(ended.map(Record::BranchMoved));
        }
        self.state.turns.context_tokens.remove(&fork.branch);
        tx.records.push(Record::Fork(ForkChange::Ended(fork.branch.clone())));
        tx.updates.push(Update::Side(SideUpdate::ForkEnded { branch: fork.branch, why, note }));
    }

    /// MC-25, IF-22: moves main to the fork's head, and marks the updates seen in the fork as read.
    fn promote_fork(&mut self, fork: &Fork, tx: &mut Transaction) -> (MoveReason, String) {
        let session = |branch: &Branch| self.state.conversation.head(branch).map(|head| head.session.clone());
        let from = session(&Branch::Main);
        let to = session(&fork.branch);
        let at = tx.at;
        let lost = self.promotion_remark(fork);
        let outside = if self.label(&fork.branch).is_tainted() {
            " words from outside are in it, so i ask you before i change or send anything."
        } else {
            ""
        };
        let Some(moves) = self.state.conversation.promote(&fork.branch, at) else {
            return (MoveReason::Dropped, "there was nothing to save.".to_owned());
        };
        self.push_main_undo(MainChangeKind::Promoted, &moves[0]);
        tx.records.extend(moves.map(Record::BranchMoved));
        let swapped = to.map(|to| SessionChange::Swapped { to, from, at });
        tx.records.extend(swapped.map(Record::Session));
        if let Some(seen) = fork.last_read_update {
            self.mark_updates_read(seen, None, tx);
        }
        self.state.turns.context_tokens.remove(&Branch::Main);
        let filled = self.state.turns.context_tokens.remove(&fork.branch);
        self.state.turns.context_tokens.extend(filled.map(|filled| (Branch::Main, filled)));
        (
            MoveReason::Promoted,
            format!("it is the main conversation now.{lost}{outside} /undo takes that back."),
        )
    }

    /// Returns a remark on entries of main that the promoted fork does not contain; they stay in
    /// the tree.
    fn promotion_remark(&self, fork: &Fork) -> &'static str {
        let main = self.state.conversation.head(&Branch::Main).and_then(|head| head.entry);
        match (fork.root, main) {
            (root, main) if root == main => "",
            (_, None) => "",
            (None, Some(_)) => " it knows nothing of what we said before; that stays in the tree.",
            (Some(_), Some(_)) => " what we said since it began is not part of it; that stays in the tree.",
        }
    }

    pub(super) fn drop_messages_for(&mut self, branch: &Branch, tx: &mut Transaction) {
        let is_for_branch =
            |message: &Message| matches!(&message.address, Address::Branch(to) if to == branch);
        let waiting = &mut self.state.messages.waiting;
        let dropped: Vec<MessageId> =
            waiting.iter().filter(|message| is_for_branch(message)).map(|message| message.id).collect();
        waiting.retain(|message| !is_for_branch(message));
        for id in dropped {
            tx.records.push(Record::Message(MessageChange::Dropped(id)));
            self.on_message_dropped(id, tx);
        }
    }

    /// IF-27 to IF-32: asks about an idle fork, and later ends it. This uses no model.
    pub(super) fn update_idle_fork(&mut self, tx: &mut Transaction) {
        let fork = self.state.fork.clone().filter(|_| self.user_turn().is_none());
        match fork.as_ref().map(|fork| (fork, fork.idle_action(tx.at))) {
            None | Some((_, IdleAction::WaitUntil(_))) => {}
            Some((fork, IdleAction::Ask)) => {
                let idle = fork.idle_minutes;
                let at = tx.at;
                let text = format!(
                    "this side conversation has been quiet for {idle} minutes. say something to keep it, or leave \
                     it: /save, /report or /exit. in {idle} minutes it ends by itself."
                );
                tx.updates.push(Update::Notice(text));
                self.update_fork(tx, |fork| fork.asked_at = Some(at));
            }
            Some((fork, IdleAction::End)) => {
                let exit = match &fork.pending_exit {
                    PendingExit::Chosen(exit) => exit.clone(),
                    PendingExit::Stay | PendingExit::ReportRequested => ForkExit::Discard,
                };
                self.end_fork(exit, ExitCause::Idle, tx);
            }
        }
    }
}
