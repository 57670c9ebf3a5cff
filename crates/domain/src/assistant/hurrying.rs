//! Priorities: an unattended turn becomes attended as soon as a message of the user waits for it.
//!
//! The active turn is not always interrupted (MC-7), and near the daily limit its calls would wait
//! for those of background runs. From then on they wait for none and do not count towards the limit
//! (E4).

use super::{Answer, Assistant, Effect, Minutes};
use crate::conversation::Branch;
use crate::cost::{Attended, Refusal};
use crate::record::SurfaceName;

impl Assistant {
    /// Notifies all unattended turns that block the user.
    pub(super) fn hurry(&self, minutes: &mut Minutes) {
        let unattended =
            self.running.iter().filter(|(_, running)| running.account.attended == Attended::Unattended);
        let held_up = unattended.filter(|(branch, _)| self.holds_up(branch)).map(|(_, running)| running.turn);
        minutes.reins.extend(held_up.map(Effect::Hurry));
    }

    /// Allows the next call of a prioritized turn, unless nothing waits for it any more.
    pub(super) fn attend(&mut self, branch: &Branch) -> Answer {
        let holds_up = self.holds_up(branch);
        let Some(running) = self.running.get_mut(branch) else { return Answer::Overspent(Refusal::Taken) };
        if holds_up {
            running.account.attended = Attended::Waited;
        }
        match running.account.attended {
            Attended::Waited => Answer::Noted,
            Attended::Unattended => Answer::Overspent(Refusal::Taken),
        }
    }

    /// Returns true if a message of the user waits for the end of the turn on `branch`, or of its
    /// requester.
    fn holds_up(&self, branch: &Branch) -> bool {
        let speaks = self.speaking().is_some_and(|(speaking, _)| speaking == branch);
        let asker = self.memory.turns.runs.get(branch).and_then(|run| run.doings.asker.as_ref());
        match asker.and_then(|asker| self.run_of(asker.turn)) {
            Some((asker, _)) => self.holds_up(&asker),
            None => speaks && self.words_wait(),
        }
    }

    /// Returns true if a message of the user or a compaction request waits.
    fn words_wait(&self) -> bool {
        let mut waiting = self.memory.messages.waiting.iter();
        !self.wants.compactions.is_empty() || waiting.any(|message| message.surface != SurfaceName::House)
    }
}
