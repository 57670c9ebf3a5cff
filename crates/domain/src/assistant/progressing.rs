//! Progressing: what a turn asks while it goes on, and what it has done.

use jiff::Zoned;

use super::approving::Caller;
use super::{Answer, Assistant, Effect, Minutes};
use crate::context::{data_block, sources};
use crate::conversation::{Block, Branch, Reach, Said, calls};
use crate::cost::Call;
use crate::label::{Label, Realm, Realms};
use crate::permission::{Authority, Clock, Ruling};
use crate::tool::{Class, Outcome, ServerKinds, ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn may_run(
        &mut self,
        turn: TurnId,
        (blocks, spent): (Vec<Block>, Vec<Call>),
        kinds: ServerKinds,
        most: usize,
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
        let clock = Clock { now: now.clone(), habits: self.memory.chosen.settings.habits() };
        let caller = Caller { turn, branch, authority: Authority { kinds, clock: Some(clock), ..authority } };
        let mut rulings = Vec::with_capacity(called.len());
        for (index, call) in called.into_iter().enumerate() {
            rulings.push(if index < most {
                self.rule_and_delegate(call, &caller, &mut minutes)
            } else {
                Ruling::Answered(over_the_limit(call))
            });
        }
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
        self.note_links(&running.unanswered, &results);
        let results = self.as_data(results);
        self.say_on(&branch, Said::Tools(results.clone()), &mut minutes);
        if let Some(running) = self.running.get_mut(&branch) {
            running.unanswered.clear();
        }
        // IF-8: who asked to step aside has nothing more to say here.
        let aside = (branch == Branch::Main && self.is_called_aside()).then_some(Effect::Interrupt(turn));
        (Answer::Results(results), minutes.effects().into_iter().chain(aside).collect())
    }

    /// Remembers the addresses in results that somebody outside wrote: pages, search results, mail and tools of servers.
    /// What agents and earlier conversations tell is written by a model, which could have composed an address.
    fn note_links(&mut self, calls: &[ToolCall], results: &[ToolResult]) {
        for result in results.iter().filter(|result| result.label.is_tainted()) {
            let Some(call) = calls.iter().find(|call| call.id == result.call) else { continue };
            let spec = self.tools.iter().find(|tool| tool.name == call.name);
            let from_outside = match spec.map(|spec| spec.class) {
                Some(Class::Fetches | Class::Searches | Class::Foreign) => true,
                Some(Class::Shell) => result.label.outside == Realms::of(Realm::Mail),
                Some(_) | None => false,
            };
            if from_outside {
                self.memory.messages.remember_seen(&result.text, &call.input);
            }
        }
    }

    /// Puts results with text from outside into data blocks, as the model reads them.
    fn as_data(&mut self, results: Vec<ToolResult>) -> Vec<ToolResult> {
        let mut read = Vec::with_capacity(results.len());
        for result in results {
            if result.label.is_tainted() && !result.text.trim().is_empty() {
                let text = data_block(&self.dice.id8(), &sources(result.label), &result.text);
                read.push(ToolResult { text, ..result });
            } else {
                read.push(result);
            }
        }
        read
    }
}

/// The result of a call that is over the limit of its turn.
fn over_the_limit(call: ToolCall) -> ToolResult {
    let text = "Error: not run. This answer has reached its limit of tool calls. Answer with the results that you have, \
                and tell the human what is left to do.";
    ToolResult { call: call.id, text: text.to_owned(), outcome: Outcome::Failed, label: Label::PLAIN }
}

pub(super) fn gone() -> (Answer, Vec<Effect>) {
    (Answer::Refused("this turn has already ended; stop.".to_owned()), Vec::new())
}
