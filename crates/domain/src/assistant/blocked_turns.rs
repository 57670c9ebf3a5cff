//! Blocked turns: while the model rejects the API key, all messages wait in order.
//!
//! The rejected turn stays open, on disk too, and new messages queue behind it. The user is
//! notified once. It is retried when the key changes, with a new message, on `/retry`, and at
//! intervals, because a vendor may reject a valid key for a moment.

use jiff::{SignedDuration, Zoned};

use super::retry::{Backoff, Retry};
use super::{ActiveTurn, Answer, Assistant, Effect, Transaction, TurnRef, TurnState, TurnWork, Update};
use crate::conversation::{Branch, Usage};
use crate::failure::Failure;
use crate::record::{MessageId, Record, SurfaceName, TurnChange};
use crate::turn::TurnEnding;

/// Retry intervals after a rejected key. They are long, so that the vendor does not lock the
/// account.
const KEY_BACKOFF: Backoff =
    Backoff { first: SignedDuration::from_mins(1), longest: SignedDuration::from_mins(30) };
/// Reason while the user has to act.
pub(super) const KEY_REJECTED: &str = "the model refuses the key";
/// Reason while the model is unreachable.
const UNREACHABLE: &str = "the model can't be reached right now";

/// Whether the user has been notified of a rejected key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyNotice {
    #[default]
    NotShown,
    /// Notified, and nothing has changed since.
    Shown,
}

impl Assistant {
    /// Returns true if a turn is blocked.
    pub fn is_blocked(&self) -> bool {
        self.active_turns.values().any(|running| running.state == TurnState::Blocked)
    }

    /// Returns the reason why messages wait, if a turn is blocked.
    pub(super) fn blocked_reason(&self) -> Option<&'static str> {
        let why = if self.transient.model_retry.is_some() { UNREACHABLE } else { KEY_REJECTED };
        self.is_blocked().then_some(why)
    }

    /// E5: blocks the turn, and notifies the user once.
    pub(super) fn block_turn(&mut self, turn_ref: TurnRef, why: &Failure, tx: &mut Transaction) {
        let TurnRef { turn, branch, message, attempt: sending } = turn_ref;
        tx.records.push(Record::Turn(TurnChange::Blocked(turn)));
        if matches!(why, Failure::BadKey(_)) {
            // A rejected key means that the model is reachable.
            self.transient.model_retry = None;
            let last = self.transient.key_retry;
            self.transient.key_retry =
                Some(Retry::after_failure(last, KEY_BACKOFF, SignedDuration::ZERO, tx.at));
        }
        let notice = std::mem::replace(&mut self.transient.key_notice, KeyNotice::Shown);
        let newest = MessageId(self.state.messages.next.0.saturating_sub(1));
        match (self.state.turns.runs.contains_key(&branch), notice) {
            (false, notice) => {
                let branch = branch.clone();
                let why = why.clone();
                tx.updates.push(Update::TurnBlocked { turn, branch, newest, notice, why });
            }
            // No message of the user waits for a background run.
            (true, KeyNotice::NotShown) => tx.updates.push(Update::Notice(why.to_string())),
            (true, KeyNotice::Shown) => {}
        }
        let account = self.account(&branch, message.id);
        let work = TurnWork::Answer(message, sending);
        self.active_turns.insert(branch, ActiveTurn::new(turn, work, account, TurnState::Blocked));
        self.deliver_waiting_verbatim(tx);
    }

    /// Retries all blocked turns. They count as resumed, so that a new message does not interrupt
    /// them.
    pub(super) fn retry_blocked(&mut self, tx: &mut Transaction) {
        let blocked = self.active_turns.iter().filter(|(_, running)| running.state == TurnState::Blocked);
        let blocked: Vec<TurnRef> =
            blocked.filter_map(|(branch, running)| turn_ref(branch, running)).collect();
        for turn_ref in blocked {
            self.open_turn(turn_ref, TurnState::Resumed, tx);
        }
    }

    /// Handles `/retry`.
    pub(super) fn retry_now(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if !self.is_blocked() {
            return (Answer::Refused("nothing waits to be tried again.".to_owned()), Vec::new());
        }
        (Answer::Text("i try it again.".to_owned()), self.on_key_renewed(now))
    }

    pub(super) fn on_key_renewed(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        self.retry_blocked(&mut tx);
        tx.into_effects()
    }

    /// Drops the blocked turn of `branch` without an answer; the next message can start.
    pub(super) fn drop_blocked_turn(
        &mut self,
        branch: &Branch,
        running: &ActiveTurn,
        now: &Zoned,
    ) -> Vec<Effect> {
        self.active_turns.remove(branch);
        let mut tx = Transaction::at(now);
        if let Some(TurnRef { turn, branch, message, .. }) = turn_ref(branch, running) {
            let ending = self.settle_answer(message.id, TurnEnding::Interrupted, &mut tx);
            tx.close_turn(turn, ending.clone(), Usage::default());
            let answers = message.id;
            tx.updates.push(Update::TurnEnded { turn, branch, answers, ending });
            let rest = self.state.messages.waiting.len();
            let what = match message.surface {
                SurfaceName::Internal => String::new(),
                SurfaceName::Terminal | SurfaceName::Page | SurfaceName::Discord => {
                    format!("i will not answer `{}`. ", message.text.chars().take(40).collect::<String>())
                }
            };
            let text = format!("stopped: {what}messages still waiting: {rest}.");
            tx.updates.push(Update::Notice(text));
        }
        self.apply_fork_switch(&mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }
}

fn turn_ref(branch: &Branch, running: &ActiveTurn) -> Option<TurnRef> {
    match &running.work {
        TurnWork::Answer(message, sending) => {
            let branch = branch.clone();
            let message = message.clone();
            Some(TurnRef { turn: running.turn, branch, message, attempt: *sending })
        }
        TurnWork::Compact(_) => None,
    }
}
