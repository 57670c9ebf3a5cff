//! Progressing: what a turn asks while it goes on, and what it has done.

use jiff::Zoned;

use super::approving::Caller;
use super::{Answer, Assistant, Effect, Minutes};
use crate::conversation::{Block, Branch, Reach, Said, calls};
use crate::cost::Call;
use crate::permission::Ruling;
use crate::tool::{ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn may_run(
        &mut self,
        turn: TurnId,
        (blocks, spent): (Vec<Block>, Vec<Call>),
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let (Some((branch, running)), Some(authority)) = (self.run_of(turn), self.authority(turn)) else {
            return gone();
        };
        let called: Vec<ToolCall> = calls(&blocks).cloned().collect();
        let mut minutes = Minutes::at(now);
        self.spend(&branch, &running, spent, &mut minutes);
        self.wants.tried.worked.insert(turn);
        self.say_on(&branch, Said::Assistant(blocks, Reach::Whole), &mut minutes);
        if let Some(running) = self.running.get_mut(&branch) {
            running.unanswered = called.clone();
        }
        let caller = Caller { turn, branch, authority };
        let rulings: Vec<Ruling> =
            called.into_iter().map(|call| self.rule_and_delegate(call, &caller, &mut minutes)).collect();
        (Answer::Decided(rulings), minutes.effects())
    }

    pub(super) fn ran(
        &mut self,
        turn: TurnId,
        results: Vec<ToolResult>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.run_of(turn) else { return gone() };
        let mut minutes = Minutes::at(now);
        if self.reads_aside(&branch, &results) {
            let asked = self.read_aside(turn, (&running.unanswered, &results), &mut minutes);
            return (Answer::Reading(asked), minutes.effects());
        }
        let entry = self.say_on(&branch, Said::Tools(results), &mut minutes);
        if let Some(running) = self.running.get_mut(&branch) {
            running.unanswered.clear();
            let readings = std::mem::take(&mut running.readings);
            if let Some(entry) = entry {
                self.keep_readings(readings, entry.id.into(), &mut minutes);
            }
        }
        // IF-8: who asked to step aside has nothing more to say here.
        let aside = (branch == Branch::Main && self.is_called_aside()).then_some(Effect::Interrupt(turn));
        (Answer::Noted, minutes.effects().into_iter().chain(aside).collect())
    }
}

pub(super) fn gone() -> (Answer, Vec<Effect>) {
    (Answer::Refused("this turn has already ended; stop.".to_owned()), Vec::new())
}
