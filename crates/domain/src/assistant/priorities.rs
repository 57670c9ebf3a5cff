//! Priorities: an unattended turn becomes attended as soon as a message of the user waits for it.
//!
//! The active turn is not always interrupted (MC-7), and near the daily limit its calls would wait
//! for those of background runs. From then on they wait for none and do not count towards the limit
//! (E4).

use super::{Answer, Assistant, Effect, Transaction};
use crate::conversation::Branch;
use crate::cost::{Attendance, BudgetRefusal};
use crate::record::SurfaceName;

impl Assistant {
    /// Notifies all unattended turns that block the user.
    pub(super) fn prioritize_blocking_turns(&self, tx: &mut Transaction) {
        let unattended = self
            .active_turns
            .iter()
            .filter(|(_, running)| running.account.attended == Attendance::Unattended);
        let blocking =
            unattended.filter(|(branch, _)| self.blocks_user(branch)).map(|(_, running)| running.turn);
        tx.turn_commands.extend(blocking.map(Effect::Prioritize));
    }

    /// Allows the next call of a prioritized turn, unless nothing waits for it any more.
    pub(super) fn allow_prioritized_call(&mut self, branch: &Branch) -> Answer {
        let blocks_user = self.blocks_user(branch);
        let Some(running) = self.active_turns.get_mut(branch) else {
            return Answer::OverBudget(BudgetRefusal::Reserved);
        };
        if blocks_user {
            running.account.attended = Attendance::Attended;
        }
        match running.account.attended {
            Attendance::Attended => Answer::Done,
            Attendance::Unattended => Answer::OverBudget(BudgetRefusal::Reserved),
        }
    }

    /// Returns true if a message of the user waits for the end of the turn on `branch`, or of its
    /// requester.
    fn blocks_user(&self, branch: &Branch) -> bool {
        let speaks = self.user_turn().is_some_and(|(speaking, _)| speaking == branch);
        let requester = self.state.turns.runs.get(branch).and_then(|run| run.progress.requester.as_ref());
        match requester.and_then(|requester| self.find_turn(requester.turn)) {
            Some((requester, _)) => self.blocks_user(&requester),
            None => speaks && self.is_user_waiting(),
        }
    }

    /// Returns true if a message of the user or a compaction request waits.
    fn is_user_waiting(&self) -> bool {
        let mut waiting = self.state.messages.waiting.iter();
        !self.transient.compaction_requests.is_empty()
            || waiting.any(|message| message.surface != SurfaceName::Internal)
    }
}
