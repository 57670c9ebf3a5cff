//! What the assistant writes down of calls, and what it remembers of them.

use super::{Assistant, Minutes, Record, Running};
use crate::conversation::Branch;
use crate::cost::{Call, Source, Spent};

impl Assistant {
    /// Writes down the calls that the turn `running` made on `branch`.
    pub(super) fn spend(
        &mut self,
        branch: &Branch,
        running: &Running,
        calls: Vec<Call>,
        minutes: &mut Minutes,
    ) {
        let Running { turn, errand, .. } = running;
        let mut day = self.memory.day.on(minutes.date);
        for call in calls {
            self.fill(branch, &errand.source, &call);
            let cost = self.purse.prices.of(&call);
            let (branch, errand) = (branch.clone(), errand.clone());
            let spent = Spent { at: minutes.at, branch, turn: *turn, errand, call, cost };
            day.count(&spent);
            minutes.records.push(Record::Spent(spent));
        }
        self.memory.day = day;
    }

    /// Remembers how full the context of `branch` was. The call for a summary is about to be replaced by it,
    /// and a call that broke off before it was counted tells nothing.
    fn fill(&mut self, branch: &Branch, source: &Source, call: &Call) {
        let held = call.usage.held();
        if held > 0 && *source != Source::Compaction {
            self.memory.filled.insert(branch.clone(), held);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::Arc;

    use jiff::Zoned;

    use super::super::{Answer, Memory, Request};
    use super::*;
    use crate::conversation::{Conversation, EntryId, Usage};
    use crate::cost::{Attended, Day, Errand, Limit, Micros, Price, Prices, Purse, Refusal};
    use crate::dice::Dice;
    use crate::record::{MessageId, SurfaceName};
    use crate::turn::TurnId;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    /// An assistant in the middle of a turn that may use 100 millionths of a dollar a day, at one a token.
    fn working(errand: Errand) -> Assistant {
        let memory = Memory {
            conversation: Conversation::new(BTreeMap::new(), EntryId(1)),
            unfinished: Vec::new(),
            waiting: VecDeque::new(),
            inbox: Arc::default(),
            next_message: MessageId(1),
            next_turn: TurnId(1),
            filled: BTreeMap::new(),
            day: Day::default(),
        };
        let price = Price { input: Micros(1_000_000), ..Price::default() };
        let limit = Limit { money: Some(Micros(100)), tokens: None };
        let purse = Purse { prices: Prices::new([("known".to_owned(), price)]), limit };
        let mut assistant = Assistant::new(memory, Arc::new([]), Dice::new(7)).minding(purse);
        assistant.asked(Request::Say(SurfaceName::Page, "go".to_owned()), &at("15T08:00"));
        for running in assistant.running.values_mut() {
            running.errand = errand.clone();
        }
        assistant
    }

    fn routine() -> Errand {
        Errand { source: Source::Routine("mail".to_owned()), attended: Attended::Unattended }
    }

    fn call(model: &str, input: u64) -> Call {
        Call { model: model.to_owned(), usage: Usage { input, cache_read: 7, ..Usage::default() } }
    }

    fn asks(assistant: &mut Assistant, calls: Vec<Call>, time: &str) -> Answer {
        assistant.asked(Request::MaySpend(TurnId(1), calls), &at(time)).0
    }

    /// E4: a run that nobody waits for is refused the call after the one that reached the limit, until the
    /// next day; a price that is not known costs it nothing.
    #[test]
    fn the_day_ends_for_unattended_work_at_its_limit_and_begins_anew() {
        let mut assistant = working(routine());
        assert_eq!(asks(&mut assistant, vec![], "15T08:00"), Answer::Noted);
        assert_eq!(
            asks(&mut assistant, vec![call("known", 99), call("who", 900)], "15T08:01"),
            Answer::Noted
        );
        let refusal = Refusal::Money { spent: Micros(109), most: Micros(100) };
        assert_eq!(asks(&mut assistant, vec![call("known", 10)], "15T23:59"), Answer::Overspent(refusal));
        assert_eq!(asks(&mut assistant, vec![], "16T00:00"), Answer::Noted);

        let mut waited = working(Errand::answer_on(&Branch::Main));
        assert_eq!(asks(&mut waited, vec![call("known", 1_000)], "15T08:01"), Answer::Noted);
        assert_eq!(waited.memory.day.cost, Micros(0), "what is waited for does not count");
    }

    #[test]
    fn the_newest_call_tells_how_full_a_branch_is_unless_it_asked_for_a_summary() {
        let mut assistant = working(Errand::answer_on(&Branch::Main));
        asks(&mut assistant, vec![call("known", 10), call("known", 20)], "15T08:01");
        assert_eq!(assistant.memory.filled, [(Branch::Main, 27)].into());
        asks(&mut assistant, vec![Call { model: "known".to_owned(), usage: Usage::default() }], "15T08:01");
        assert_eq!(assistant.memory.filled, [(Branch::Main, 27)].into());
        let summary = Errand { source: Source::Compaction, attended: Attended::Waited };
        let mut assistant = working(summary);
        asks(&mut assistant, vec![call("known", 10)], "15T08:01");
        assert_eq!(assistant.memory.filled, BTreeMap::new());
    }
}
