//! The daily budget: recording model calls, and admitting calls of unattended turns.

use jiff::Zoned;

use super::progressing::gone;
use super::{Answer, Assistant, Effect, Known, Minutes, Record, Running, Shown};
use crate::conversation::Branch;
use crate::cost::{
    Account, Attended, Call, Day, Most, Next, Pace, Purse, Refusal, Source, Spent, alert, may_spend,
};
use crate::thinking::Thinking;
use crate::turn::TurnId;

impl Assistant {
    /// Sets prices and limits. A limit set by the user takes precedence over the configured one.
    #[must_use]
    pub fn minding(mut self, purse: Purse) -> Self {
        let written = purse.limit;
        let limit = self.memory.chosen.settings.daily_limit.over(written);
        self.purse = Purse { limit, written, ..purse };
        self
    }

    /// E4: records the turn's calls, and returns whether it may make the `next` one. While other
    /// turns run, the rest of the budget must suffice for all of them; alone, one call may exceed
    /// the limit.
    pub(super) fn may_spend(
        &mut self,
        turn: TurnId,
        spent: Vec<Call>,
        next: Next,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.run_of(turn) else { return gone() };
        let mut minutes = Minutes::at(now);
        self.spend(&branch, &running, spent, &mut minutes);
        let day = self.today(&minutes);
        let may = |day: &Day| self.may_use(&running.account, day);
        let answer = match (may(&day), next.pace) {
            (Err(refusal), _) => Answer::Overspent(refusal),
            (Ok(()), Pace::Hurried) => self.attend(&branch),
            (Ok(()), Pace::Beside) if may(&day.and(self.going_on(turn))).is_err() => {
                Answer::Overspent(Refusal::Taken)
            }
            (Ok(()), Pace::Beside | Pace::Alone) => {
                let most = self.most(&branch, &next);
                self.calls(&branch, turn, Some(most));
                Answer::Noted
            }
        };
        (answer, minutes.effects())
    }

    /// Records the calls of a turn whose model call has ended.
    pub(super) fn has_spent(&mut self, turn: TurnId, spent: Vec<Call>, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.run_of(turn) else { return gone() };
        let mut minutes = Minutes::at(now);
        self.spend(&branch, &running, spent, &mut minutes);
        (Answer::Noted, minutes.effects())
    }

    /// Returns whether a web search may be made that uses at most the calls `most`. An attended
    /// turn may always search. For others the daily limit applies, and the maximum is reserved
    /// until the search ends.
    pub(super) fn may_search(&mut self, turn: TurnId, most: &[Call], now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.run_of(turn) else { return gone() };
        if running.account.attended == Attended::Waited {
            return (Answer::Noted, Vec::new());
        }
        let day = self.today(&Minutes::at(now));
        let most = self.purse.sum(most);
        let others = self.going_on(turn).and(running.searching);
        let may = |day: &Day| self.may_use(&running.account, day);
        let answer = match may(&day) {
            Err(refusal) => Answer::Overspent(refusal),
            Ok(()) if may(&day.and(others)).is_err() => Answer::Overspent(Refusal::Taken),
            Ok(()) => {
                self.searches(&branch, turn, |searching| searching.and(most));
                Answer::Noted
            }
        };
        (answer, Vec::new())
    }

    /// Records the calls of a web search.
    pub(super) fn has_searched(
        &mut self,
        turn: TurnId,
        announced: &[Call],
        spent: Vec<Call>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let abandoned = || self.abandoned.get(&turn).cloned();
        let Some((branch, running)) = self.run_of(turn).or_else(abandoned) else { return gone() };
        let mut minutes = Minutes::at(now);
        let announced = self.purse.sum(announced);
        self.searches(&branch, turn, |searching| searching.less(announced));
        let search = Running { account: Account::search(running.account.attended), ..running };
        self.write_down(&branch, &search, spent, &mut minutes);
        (Answer::Noted, minutes.effects())
    }

    fn searches(&mut self, branch: &Branch, turn: TurnId, change: impl FnOnce(Most) -> Most) {
        if let Some(running) = self.running.get_mut(branch).filter(|running| running.turn == turn) {
            running.searching = change(running.searching);
        }
    }

    /// Returns why unattended work may not call a model any more today, or `None` if it may.
    pub(super) fn refusal(&self, minutes: &Minutes) -> Option<Refusal> {
        let nobody = Account { source: Source::Main, attended: Attended::Unattended };
        self.may_use(&nobody, &self.today(minutes)).err()
    }

    /// The offline model costs nothing.
    fn may_use(&self, account: &Account, day: &Day) -> Result<(), Refusal> {
        if self.choices.is_offline() { Ok(()) } else { may_spend(account, day, &self.purse.limit) }
    }

    fn today(&self, minutes: &Minutes) -> Day {
        self.purse.days.on(minutes.zone.to_datetime(minutes.at).date())
    }

    /// Returns the upper bound for the active calls of all other unattended turns.
    fn going_on(&self, but: TurnId) -> Most {
        let abandoned = self.abandoned.values().map(|(_, running)| running);
        let others = self.running.values().chain(abandoned).filter(|running| running.turn != but);
        others.fold(Most::default(), |sum, running| {
            sum.and(running.calling.unwrap_or_default()).and(running.searching)
        })
    }

    /// Returns the upper bound for the call `next` on `branch`: its input, and the longest reply.
    /// Thinking counts towards the reply; only a thinking budget in tokens is added to it.
    fn most(&self, branch: &Branch, next: &Next) -> Most {
        let thoughts = match self.thinking(branch) {
            Thinking::Auto | Thinking::Off | Thinking::Adaptive => 0,
            Thinking::Budget(tokens) => u64::from(tokens.get()),
        };
        let read = next.read.min(self.room.limit);
        self.purse.most(&next.model, read, self.purse.reply.saturating_add(thoughts))
    }

    /// Sets the upper bound for the model call of `turn`, or clears it.
    fn calls(&mut self, branch: &Branch, turn: TurnId, most: Option<Most>) {
        if let Some(running) = self.running.get_mut(branch).filter(|running| running.turn == turn) {
            running.calling = most;
        }
    }

    /// Records the calls that the turn `running` made on `branch`.
    pub(super) fn spend(
        &mut self,
        branch: &Branch,
        running: &Running,
        calls: Vec<Call>,
        minutes: &mut Minutes,
    ) {
        if !calls.is_empty() {
            // The model is reachable and accepts the key: the next failure is reported again.
            self.wants.refusal = Known::Unknown;
            self.wants.away = None;
            self.wants.key_refused = None;
        }
        self.calls(branch, running.turn, None);
        self.write_down(branch, running, calls, minutes);
    }

    /// Records `calls` on the turn's account, and counts them.
    fn write_down(&mut self, branch: &Branch, running: &Running, calls: Vec<Call>, minutes: &mut Minutes) {
        let Running { turn, account, .. } = running;
        let before = self.today(minutes);
        let mut day = before;
        for call in calls {
            self.fill(branch, &account.source, &call);
            let cost = self.purse.prices.of(&call);
            let branch = branch.clone();
            let account = account.clone();
            let spent = Spent { at: minutes.at, branch, turn: *turn, account, call, cost };
            day.count(&spent);
            minutes.records.push(Record::Spent(spent));
        }
        minutes.shown.extend(alert(&before, &day, &self.purse.limit).map(Shown::Notice));
        self.purse.days.put(day);
    }

    /// Stores the context size of `branch`. Calls for a summary or a web search do not count, nor
    /// do calls that failed before their usage was known.
    fn fill(&mut self, branch: &Branch, source: &Source, call: &Call) {
        let held = call.usage.held();
        if held > 0 && !matches!(source, Source::Compaction | Source::Search) {
            self.memory.turns.filled.insert(branch.clone(), held);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use jiff::civil::date;

    use super::super::{Choice, Memory, Owed, Planning, Progress, Request, Saying};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Conversation, EntryId, Usage};
    use crate::cost::{Days, Limit, Micros, Price, Prices, Rates};
    use crate::dice::Dice;
    use crate::place::{Aside, Follow};
    use crate::record::SurfaceName;
    use crate::run::{Asker, Job};
    use crate::schedule::{Prompt, Terms};
    use crate::settings::Setting;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Returns an assistant with an active turn, a limit of 100 micro-dollars a day, and a price of
    /// one per token.
    fn working(account: Account) -> Assistant {
        let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        let price =
            Price { rates: Rates { input: Micros(1_000_000), ..Rates::default() }, ..Price::default() };
        let limit = Limit { money: Some(Micros(100)), tokens: None };
        let prices = Prices::new([("known".to_owned(), price)]);
        let purse = Purse { prices: Arc::new(prices), limit, ..Purse::default() };
        let mut assistant = Assistant::new(memory, Arc::new([]), Room::HOUSE, Dice::new(7)).minding(purse);
        assistant.asked(Request::Say(Saying::words(SurfaceName::Page, "go")), &at("15T08:00"));
        for running in assistant.running.values_mut() {
            running.account = account.clone();
        }
        assistant
    }

    fn routine() -> Account {
        Account { source: Source::Routine("mail".to_owned()), attended: Attended::Unattended }
    }

    /// Returns the usage of the 15th.
    fn days(cost: u64) -> Days {
        let mut days = Days::default();
        days.put(Day { cost: Micros(cost), tokens: cost, ..Day::fresh(date(2026, 11, 15)) });
        days
    }

    fn call(model: &str, input: u64) -> Call {
        Call { model: model.to_owned(), usage: Usage { input, cache_read: 7, ..Usage::default() } }
    }

    fn next() -> Next {
        Next { model: "known".to_owned(), read: u64::MAX, pace: Pace::Beside }
    }

    fn asks(assistant: &mut Assistant, calls: Vec<Call>, time: &str) -> Answer {
        assistant.asked(Request::Turn(TurnId(1), Progress::MaySpend(calls, next())), &at(time)).0
    }

    /// E4: an unattended run is refused calls once the limit is reached, until the next day; a call
    /// with an unknown price costs nothing.
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

        let mut waited = working(Account::answer_on(&Branch::Main));
        assert_eq!(asks(&mut waited, vec![call("known", 1_000)], "15T08:01"), Answer::Noted);
        assert_eq!(waited.purse.days, days(0), "what is waited for does not count");
    }

    /// E4: an active call counts with its upper bound until its usage is known, except for a turn
    /// that runs alone.
    #[test]
    fn a_call_waits_for_one_that_may_use_up_what_is_left() {
        let mut assistant = working(routine());
        assistant.purse.limit.money = Some(Micros(150_000));
        let name = "b".to_owned();
        let aside = Aside::Isolated(Follow::Alone);
        let prompt = Prompt::new("go");
        let job = Job { source: Source::Routine(name.clone()), name, aside, terms: Terms::default(), prompt };
        assistant.asked(Request::Plan(Planning::Do(job)), &at("15T08:00"));
        let mut asks = |turn: u64, pace: Pace| {
            let next = Next { pace, ..next() };
            assistant.asked(Request::Turn(TurnId(turn), Progress::MaySpend(vec![], next)), &at("15T08:00")).0
        };
        assert_eq!(asks(1, Pace::Beside), Answer::Noted);
        assert_eq!(asks(2, Pace::Beside), Answer::Overspent(Refusal::Taken), "the room alone may cost 0.2");
        assert_eq!(asks(2, Pace::Alone), Answer::Noted);
        assert_eq!(asks(1, Pace::Beside), Answer::Overspent(Refusal::Taken));
        let spent = Request::Turn(TurnId(2), Progress::Spent(vec![call("known", 10)]));
        assert_eq!(assistant.asked(spent, &at("15T08:01")).0, Answer::Noted);
        assert_eq!(assistant.purse.days, days(10));
        let beside = Request::Turn(TurnId(1), Progress::MaySpend(vec![], next()));
        assert_eq!(assistant.asked(beside, &at("15T08:02")).0, Answer::Noted);
    }

    /// A full context may cost more than the daily limit, but small calls of background runs run in
    /// parallel.
    #[test]
    fn calls_that_read_little_go_on_beside_each_other() {
        let mut assistant = working(routine());
        assistant.purse.limit.money = Some(Micros(150_000));
        let name = "b".to_owned();
        let aside = Aside::Isolated(Follow::Alone);
        let prompt = Prompt::new("go");
        let job = Job { source: Source::Routine(name.clone()), name, aside, terms: Terms::default(), prompt };
        assistant.asked(Request::Plan(Planning::Do(job)), &at("15T08:00"));
        let mut asks = |turn: u64| {
            let next = Next { read: 1_000, ..next() };
            assistant.asked(Request::Turn(TurnId(turn), Progress::MaySpend(vec![], next)), &at("15T08:00")).0
        };
        assert_eq!((asks(1), asks(2)), (Answer::Noted, Answer::Noted));
    }

    fn may_search(assistant: &mut Assistant, most: &[Call], time: &str) -> Answer {
        assistant.asked(Request::Turn(TurnId(1), Progress::MaySearch(most.to_vec())), &at(time)).0
    }

    fn searched(assistant: &mut Assistant, announced: &[Call], spent: &[Call]) -> Vec<Effect> {
        let progress = Progress::Searched { announced: announced.to_vec(), spent: spent.to_vec() };
        assistant.asked(Request::Turn(TurnId(1), progress), &at("15T08:02")).1
    }

    /// E4: a web search of unattended work counts towards the daily limit, and its upper bound is
    /// reserved.
    #[test]
    fn a_web_search_counts_towards_the_daily_limit() {
        let mut assistant = working(routine());
        let most = [call("known", 60)];
        assert_eq!(may_search(&mut assistant, &most, "15T08:00"), Answer::Noted);
        assert_eq!(may_search(&mut assistant, &most, "15T08:00"), Answer::Noted);
        let taken = Answer::Overspent(Refusal::Taken);
        assert_eq!(may_search(&mut assistant, &most, "15T08:01"), taken, "two may use 120 of 100");
        searched(&mut assistant, &most, &[call("known", 10)]);
        searched(&mut assistant, &most, &[call("known", 20)]);
        assert_eq!(assistant.purse.days, days(30));
        assert_eq!(may_search(&mut assistant, &most, "15T08:03"), Answer::Noted);
        searched(&mut assistant, &most, &[call("known", 70)]);
        let refusal = Refusal::Money { spent: Micros(100), most: Micros(100) };
        assert_eq!(may_search(&mut assistant, &most, "15T08:04"), Answer::Overspent(refusal));
        assert_eq!(may_search(&mut assistant, &most, "16T08:00"), Answer::Noted);

        let mut waited = working(Account::answer_on(&Branch::Main));
        assert_eq!(may_search(&mut waited, &[call("known", 1_000)], "15T08:01"), Answer::Noted);
        searched(&mut waited, &[], &[call("known", 1_000)]);
        assert_eq!(waited.purse.days, days(0), "the user waits for it");
    }

    #[test]
    fn a_web_search_has_a_source_of_its_own_and_does_not_fill_the_conversation() {
        let mut assistant = working(Account::answer_on(&Branch::Main));
        let effects = searched(&mut assistant, &[], &[call("known", 10)]);
        let Some(Effect::Write(records)) = effects.first() else { panic!("{effects:?}") };
        let [Record::Spent(spent)] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!((&spent.account.source, spent.cost), (&Source::Search, Some(Micros(10))));
        assert_eq!(assistant.memory.turns.filled, BTreeMap::new());
    }

    /// MC-6, E4: a message that waits for a turn which is not interrupted prioritizes this turn and
    /// its subagents: their calls wait for no others and do not count. Other runs are not affected.
    #[test]
    fn a_call_that_words_wait_behind_waits_for_no_other_and_does_not_count() {
        let mut assistant = working(routine());
        assistant.purse.limit.money = Some(Micros(150_000));
        assistant.running.values_mut().for_each(|running| running.owed = Owed::SinceBefore);
        for name in ["b", "agent"].map(str::to_owned) {
            let aside = Aside::Isolated(Follow::Alone);
            let prompt = Prompt::new("go");
            let source = Source::Routine(name.clone());
            let job = Job { source, name, aside, terms: Terms::default(), prompt };
            assistant.asked(Request::Plan(Planning::Do(job)), &at("15T08:00"));
        }
        let agent = assistant.memory.turns.runs.values_mut().find(|run| run.name == "agent").unwrap();
        Arc::make_mut(agent).doings.asker = Some(Asker { turn: TurnId(1), call: "call-1".to_owned() });
        let asks = |assistant: &mut Assistant, turn: u64, pace: Pace| {
            let progress = Progress::MaySpend(vec![], Next { pace, ..next() });
            assistant.asked(Request::Turn(TurnId(turn), progress), &at("15T08:00")).0
        };
        let taken = Answer::Overspent(Refusal::Taken);
        assert_eq!(asks(&mut assistant, 2, Pace::Beside), Answer::Noted);
        assert_eq!(asks(&mut assistant, 1, Pace::Beside), taken);
        assert_eq!(asks(&mut assistant, 1, Pace::Hurried), taken, "nobody waits yet");

        let hello = Request::Say(Saying::words(SurfaceName::Page, "hello"));
        let (_, effects) = assistant.asked(hello, &at("15T08:01"));
        let reins: Vec<_> = effects.iter().filter(|effect| !matches!(effect, Effect::Write(_))).collect();
        assert_eq!(reins, [&Effect::Hurry(TurnId(1)), &Effect::Hurry(TurnId(3))]);
        assert_eq!(asks(&mut assistant, 2, Pace::Hurried), taken, "it holds nobody up");
        assert_eq!(asks(&mut assistant, 3, Pace::Hurried), Answer::Noted);
        assert_eq!(asks(&mut assistant, 1, Pace::Hurried), Answer::Noted);
        for turn in [1, 3] {
            let spent = Request::Turn(TurnId(turn), Progress::Spent(vec![call("known", 1_000)]));
            assistant.asked(spent, &at("15T08:02"));
        }
        assert_eq!(assistant.purse.days, days(0), "what is waited for does not count");
    }

    /// E4: the user is notified once a day when the limit is near and when it is reached, also
    /// across a restart.
    #[test]
    fn the_human_hears_of_each_limit_once_a_day() {
        let heard = |assistant: &mut Assistant, tokens: u64, time: &str| {
            let spent = Progress::MaySpend(vec![call("known", tokens)], next());
            let (_, effects) = assistant.asked(Request::Turn(TurnId(1), spent), &at(time));
            effects.iter().filter(|effect| matches!(effect, Effect::Show(Shown::Notice(_)))).count()
        };
        let mut assistant = working(routine());
        assert_eq!(heard(&mut assistant, 79, "15T08:01"), 0);
        assert_eq!(heard(&mut assistant, 1, "15T08:02"), 1);
        assert_eq!(heard(&mut assistant, 10, "15T08:03"), 0);
        // A start begins with the recorded usage.
        let days = assistant.purse.days.clone();
        let mut again = working(routine());
        again.purse.days = days;
        assert_eq!(heard(&mut again, 5, "15T08:04"), 0);
        assert_eq!(heard(&mut again, 5, "15T08:05"), 1);
        assert_eq!(heard(&mut again, 50, "15T08:06"), 0);
        assert_eq!(heard(&mut again, 85, "16T08:00"), 1);
    }

    /// SL-13, E4: a limit set by the user applies at once and after a restart, until it is reset.
    #[test]
    fn the_human_lets_work_go_on_after_its_limit_without_a_restart() {
        let mut assistant = working(routine());
        let refused = |answer| matches!(answer, Answer::Overspent(_));
        assert!(refused(asks(&mut assistant, vec![call("known", 100)], "15T08:00")));
        let set = |assistant: &mut Assistant, typed: &str| {
            let choice = Choice::Setting(Setting::DailyLimit, typed.to_owned());
            assistant.asked(Request::Choose(choice), &at("15T08:01")).0
        };
        let told = "**daily_limit**: $1.00. it was $0.01. `/config daily_limit default` takes it back.";
        assert_eq!(set(&mut assistant, "1"), Answer::Told(told.to_owned()));
        assert_eq!(asks(&mut assistant, vec![], "15T08:02"), Answer::Noted);
        let limit = assistant.purse.written;
        let mut again = assistant.clone().minding(Purse { limit, ..assistant.purse.clone() });
        assert_eq!(again.purse.limit.money, Some(Micros(1_000_000)), "a start knows it");
        set(&mut again, "default");
        assert!(refused(asks(&mut again, vec![], "15T08:03")));
    }

    #[test]
    fn the_newest_call_tells_how_full_a_branch_is_unless_it_asked_for_a_summary() {
        let mut assistant = working(Account::answer_on(&Branch::Main));
        asks(&mut assistant, vec![call("known", 10), call("known", 20)], "15T08:01");
        assert_eq!(assistant.memory.turns.filled, [(Branch::Main, 27)].into());
        asks(&mut assistant, vec![Call { model: "known".to_owned(), usage: Usage::default() }], "15T08:01");
        assert_eq!(assistant.memory.turns.filled, [(Branch::Main, 27)].into());
        let summary = Account { source: Source::Compaction, attended: Attended::Waited };
        let mut assistant = working(summary);
        asks(&mut assistant, vec![call("known", 10)], "15T08:01");
        assert_eq!(assistant.memory.turns.filled, BTreeMap::new());
    }
}
