//! The daily budget: recording model calls, and admitting calls of unattended turns.

use jiff::Zoned;

use super::turn_requests::turn_ended_refusal;
use super::{ActiveTurn, Answer, Assistant, Effect, KeyNotice, Record, Transaction, Update};
use crate::conversation::Branch;
use crate::cost::{
    Account, Attendance, Budget, BudgetRefusal, CallConcurrency, CallCost, CostSource, DaySpending,
    LedgerEntry, ModelCall, NextCall, alert, check_budget,
};
use crate::thinking::Thinking;
use crate::turn::TurnId;

impl Assistant {
    /// Sets prices and limits. A limit set by the user takes precedence over the configured one.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        let configured = budget.limit;
        let limit = self.state.choices.settings.daily_limit.resolve(configured);
        self.budget = Budget { limit, configured_limit: configured, ..budget };
        self
    }

    /// E4: records the turn's calls, and returns whether it may make the `next` one. While other
    /// turns run, the rest of the budget must suffice for all of them; alone, one call may exceed
    /// the limit.
    pub(super) fn may_call_model(
        &mut self,
        turn: TurnId,
        calls: Vec<ModelCall>,
        next: NextCall,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.find_turn(turn) else { return turn_ended_refusal() };
        let mut tx = Transaction::at(now);
        self.record_calls(&branch, &running, calls, &mut tx);
        let day = self.todays_usage(&tx);
        let is_affordable = |day: &DaySpending| self.may_use(&running.account, day);
        let answer = match (is_affordable(&day), next.concurrency) {
            (Err(refusal), _) => Answer::OverBudget(refusal),
            (Ok(()), CallConcurrency::Attended) => self.allow_prioritized_call(&branch),
            (Ok(()), CallConcurrency::Concurrent)
                if is_affordable(&day.plus(self.reserved_usage(turn))).is_err() =>
            {
                Answer::OverBudget(BudgetRefusal::Reserved)
            }
            (Ok(()), CallConcurrency::Concurrent | CallConcurrency::Exclusive) => {
                let most = self.call_bound(&branch, &next);
                self.set_call_bound(&branch, turn, Some(most));
                Answer::Done
            }
        };
        (answer, tx.into_effects())
    }

    /// Records the calls of a turn whose model call has ended.
    pub(super) fn on_calls_made(
        &mut self,
        turn: TurnId,
        calls: Vec<ModelCall>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.find_turn(turn) else { return turn_ended_refusal() };
        let mut tx = Transaction::at(now);
        self.record_calls(&branch, &running, calls, &mut tx);
        (Answer::Done, tx.into_effects())
    }

    /// Returns whether a web search may be made that uses at most the calls `most`. An attended
    /// turn may always search. For others the daily limit applies, and the maximum is reserved
    /// until the search ends.
    pub(super) fn may_search(
        &mut self,
        turn: TurnId,
        most: &[ModelCall],
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.find_turn(turn) else { return turn_ended_refusal() };
        if running.account.attended == Attendance::Attended {
            return (Answer::Done, Vec::new());
        }
        let day = self.todays_usage(&Transaction::at(now));
        let most = self.budget.total_cost(most);
        let others = self.reserved_usage(turn).plus(running.search_bound);
        let is_affordable = |day: &DaySpending| self.may_use(&running.account, day);
        let answer = match is_affordable(&day) {
            Err(refusal) => Answer::OverBudget(refusal),
            Ok(()) if is_affordable(&day.plus(others)).is_err() => {
                Answer::OverBudget(BudgetRefusal::Reserved)
            }
            Ok(()) => {
                self.update_search_bound(&branch, turn, |searching| searching.plus(most));
                Answer::Done
            }
        };
        (answer, Vec::new())
    }

    /// Records the calls of a web search.
    pub(super) fn on_search_done(
        &mut self,
        turn: TurnId,
        announced: &[ModelCall],
        calls: Vec<ModelCall>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let abandoned = || self.abandoned.get(&turn).cloned();
        let Some((branch, running)) = self.find_turn(turn).or_else(abandoned) else {
            return turn_ended_refusal();
        };
        let mut tx = Transaction::at(now);
        let announced = self.budget.total_cost(announced);
        self.update_search_bound(&branch, turn, |searching| searching.minus(announced));
        let search = ActiveTurn { account: Account::search(running.account.attended), ..running };
        self.record_on_account(&branch, &search, calls, &mut tx);
        (Answer::Done, tx.into_effects())
    }

    fn update_search_bound(
        &mut self,
        branch: &Branch,
        turn: TurnId,
        change: impl FnOnce(CallCost) -> CallCost,
    ) {
        if let Some(running) = self.active_turns.get_mut(branch).filter(|running| running.turn == turn) {
            running.search_bound = change(running.search_bound);
        }
    }

    /// Returns why unattended work may not call a model any more today, or `None` if it may.
    pub(super) fn budget_refusal(&self, tx: &Transaction) -> Option<BudgetRefusal> {
        let unattended = Account { source: CostSource::Main, attended: Attendance::Unattended };
        self.may_use(&unattended, &self.todays_usage(tx)).err()
    }

    /// The offline model costs nothing.
    fn may_use(&self, account: &Account, day: &DaySpending) -> Result<(), BudgetRefusal> {
        if self.choices.is_offline() { Ok(()) } else { check_budget(account, day, &self.budget.limit) }
    }

    fn todays_usage(&self, tx: &Transaction) -> DaySpending {
        self.budget.days.get(tx.zone.to_datetime(tx.at).date())
    }

    /// Returns the upper bound for the active calls of all other unattended turns.
    fn reserved_usage(&self, except: TurnId) -> CallCost {
        let abandoned = self.abandoned.values().map(|(_, running)| running);
        let others = self.active_turns.values().chain(abandoned).filter(|running| running.turn != except);
        others.fold(CallCost::default(), |sum, running| {
            sum.plus(running.call_bound.unwrap_or_default()).plus(running.search_bound)
        })
    }

    /// Returns the upper bound for the call `next` on `branch`: its input, and the longest reply.
    /// Thinking counts towards the reply; only a thinking budget in tokens is added to it.
    fn call_bound(&self, branch: &Branch, next: &NextCall) -> CallCost {
        let thoughts = match self.thinking_for(branch) {
            Thinking::Auto | Thinking::Off | Thinking::Adaptive => 0,
            Thinking::Budget(tokens) => u64::from(tokens.get()),
        };
        let read = next.max_input.min(self.window.limit);
        self.budget.max_call(&next.model, read, self.budget.max_reply_tokens.saturating_add(thoughts))
    }

    /// Sets the upper bound for the model call of `turn`, or clears it.
    fn set_call_bound(&mut self, branch: &Branch, turn: TurnId, bound: Option<CallCost>) {
        if let Some(running) = self.active_turns.get_mut(branch).filter(|running| running.turn == turn) {
            running.call_bound = bound;
        }
    }

    /// Records the calls that the turn `running` made on `branch`.
    pub(super) fn record_calls(
        &mut self,
        branch: &Branch,
        running: &ActiveTurn,
        calls: Vec<ModelCall>,
        tx: &mut Transaction,
    ) {
        if !calls.is_empty() {
            // The model is reachable and accepts the key: the next failure is reported again.
            self.transient.key_notice = KeyNotice::NotShown;
            self.transient.model_retry = None;
            self.transient.key_retry = None;
        }
        self.set_call_bound(branch, running.turn, None);
        self.record_on_account(branch, running, calls, tx);
    }

    /// Records `calls` on the turn's account, and counts them.
    fn record_on_account(
        &mut self,
        branch: &Branch,
        running: &ActiveTurn,
        calls: Vec<ModelCall>,
        tx: &mut Transaction,
    ) {
        let ActiveTurn { turn, account, .. } = running;
        let before = self.todays_usage(tx);
        let mut day = before;
        for call in calls {
            self.set_context_tokens(branch, &account.source, &call);
            let cost = self.budget.prices.cost_of(&call);
            let branch = branch.clone();
            let account = account.clone();
            let spent = LedgerEntry { at: tx.at, branch, turn: *turn, account, call, cost };
            day.add(&spent);
            tx.records.push(Record::CallSpent(spent));
        }
        tx.updates.extend(alert(&before, &day, &self.budget.limit).map(Update::Notice));
        self.budget.days.set(day);
    }

    /// Stores the context size of `branch`. Calls for a summary or a web search do not count, nor
    /// do calls that failed before their usage was known.
    fn set_context_tokens(&mut self, branch: &Branch, source: &CostSource, call: &ModelCall) {
        let held = call.usage.total();
        if held > 0 && !matches!(source, CostSource::Compaction | CostSource::Search) {
            self.state.turns.context_tokens.insert(branch.clone(), held);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use jiff::civil::date;

    use super::super::{
        Request, ScheduleCommand, SettingCommand, State, TurnRequest, TurnState, UserMessage,
    };
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Conversation, EntryId, Usage};
    use crate::cost::{BudgetLimit, Micros, Price, Prices, Rates, SpendingByDay};
    use crate::place::{BackgroundPlace, ChainPosition};
    use crate::record::SurfaceName;
    use crate::rng::Rng;
    use crate::run::{Job, Requester};
    use crate::schedule::{Prompt, RunOptions};
    use crate::settings::Setting;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Returns an assistant with an active turn, a limit of 100 micro-dollars a day, and a price of
    /// one per token.
    fn assistant_with_limit(account: Account) -> Assistant {
        let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        let price =
            Price { rates: Rates { input: Micros(1_000_000), ..Rates::default() }, ..Price::default() };
        let limit = BudgetLimit { money: Some(Micros(100)), tokens: None };
        let prices = Prices::new([("known".to_owned(), price)]);
        let budget = Budget { prices: Arc::new(prices), limit, ..Budget::default() };
        let mut assistant =
            Assistant::new(memory, Arc::new([]), ContextWindow::DEFAULT, Rng::new(7)).with_budget(budget);
        assistant.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at("15T08:00"));
        for running in assistant.active_turns.values_mut() {
            running.account = account.clone();
        }
        assistant
    }

    fn routine() -> Account {
        Account { source: CostSource::Routine("mail".to_owned()), attended: Attendance::Unattended }
    }

    /// Returns the usage of the 15th.
    fn usage_days(cost: u64) -> SpendingByDay {
        let mut days = SpendingByDay::default();
        days.set(DaySpending { cost: Micros(cost), tokens: cost, ..DaySpending::empty(date(2026, 11, 15)) });
        days
    }

    fn call(model: &str, input: u64) -> ModelCall {
        ModelCall { model: model.to_owned(), usage: Usage { input, cache_read: 7, ..Usage::default() } }
    }

    fn next() -> NextCall {
        NextCall { model: "known".to_owned(), max_input: u64::MAX, concurrency: CallConcurrency::Concurrent }
    }

    fn ask_call(assistant: &mut Assistant, calls: Vec<ModelCall>, time: &str) -> Answer {
        assistant.handle(Request::Turn(TurnId(1), TurnRequest::MayCallModel(calls, next())), &at(time)).0
    }

    /// E4: an unattended run is refused calls once the limit is reached, until the next day; a call
    /// with an unknown price costs nothing.
    #[test]
    fn unattended_work_stops_at_the_daily_limit_until_the_next_day() {
        let mut assistant = assistant_with_limit(routine());
        assert_eq!(ask_call(&mut assistant, vec![], "15T08:00"), Answer::Done);
        assert_eq!(
            ask_call(&mut assistant, vec![call("known", 99), call("who", 900)], "15T08:01"),
            Answer::Done
        );
        let refusal = BudgetRefusal::Money { spent: Micros(109), most: Micros(100) };
        assert_eq!(
            ask_call(&mut assistant, vec![call("known", 10)], "15T23:59"),
            Answer::OverBudget(refusal)
        );
        assert_eq!(ask_call(&mut assistant, vec![], "16T00:00"), Answer::Done);

        let mut waited = assistant_with_limit(Account::answer_on(&Branch::Main));
        assert_eq!(ask_call(&mut waited, vec![call("known", 1_000)], "15T08:01"), Answer::Done);
        assert_eq!(waited.budget.days, usage_days(0), "what is waited for does not count");
    }

    /// E4: an active call counts with its upper bound until its usage is known, except for a turn
    /// that runs alone.
    #[test]
    fn call_waits_while_another_may_use_up_the_budget() {
        let mut assistant = assistant_with_limit(routine());
        assistant.budget.limit.money = Some(Micros(150_000));
        let name = "b".to_owned();
        let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let prompt = Prompt::new("go");
        let job = Job {
            source: CostSource::Routine(name.clone()),
            name,
            place: aside,
            terms: RunOptions::default(),
            prompt,
        };
        assistant.handle(Request::Schedule(ScheduleCommand::RunJob(job)), &at("15T08:00"));
        let mut asks = |turn: u64, pace: CallConcurrency| {
            let next = NextCall { concurrency: pace, ..next() };
            assistant
                .handle(Request::Turn(TurnId(turn), TurnRequest::MayCallModel(vec![], next)), &at("15T08:00"))
                .0
        };
        assert_eq!(asks(1, CallConcurrency::Concurrent), Answer::Done);
        assert_eq!(
            asks(2, CallConcurrency::Concurrent),
            Answer::OverBudget(BudgetRefusal::Reserved),
            "the room alone may cost 0.2"
        );
        assert_eq!(asks(2, CallConcurrency::Exclusive), Answer::Done);
        assert_eq!(asks(1, CallConcurrency::Concurrent), Answer::OverBudget(BudgetRefusal::Reserved));
        let spent = Request::Turn(TurnId(2), TurnRequest::CallsMade(vec![call("known", 10)]));
        assert_eq!(assistant.handle(spent, &at("15T08:01")).0, Answer::Done);
        assert_eq!(assistant.budget.days, usage_days(10));
        let beside = Request::Turn(TurnId(1), TurnRequest::MayCallModel(vec![], next()));
        assert_eq!(assistant.handle(beside, &at("15T08:02")).0, Answer::Done);
    }

    /// A full context may cost more than the daily limit, but small calls of background runs run in
    /// parallel.
    #[test]
    fn small_calls_run_in_parallel() {
        let mut assistant = assistant_with_limit(routine());
        assistant.budget.limit.money = Some(Micros(150_000));
        let name = "b".to_owned();
        let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let prompt = Prompt::new("go");
        let job = Job {
            source: CostSource::Routine(name.clone()),
            name,
            place: aside,
            terms: RunOptions::default(),
            prompt,
        };
        assistant.handle(Request::Schedule(ScheduleCommand::RunJob(job)), &at("15T08:00"));
        let mut asks = |turn: u64| {
            let next = NextCall { max_input: 1_000, ..next() };
            assistant
                .handle(Request::Turn(TurnId(turn), TurnRequest::MayCallModel(vec![], next)), &at("15T08:00"))
                .0
        };
        assert_eq!((asks(1), asks(2)), (Answer::Done, Answer::Done));
    }

    fn ask_search(assistant: &mut Assistant, most: &[ModelCall], time: &str) -> Answer {
        assistant.handle(Request::Turn(TurnId(1), TurnRequest::MaySearch(most.to_vec())), &at(time)).0
    }

    fn end_search(assistant: &mut Assistant, announced: &[ModelCall], spent: &[ModelCall]) -> Vec<Effect> {
        let progress = TurnRequest::Searched { announced: announced.to_vec(), model_calls: spent.to_vec() };
        assistant.handle(Request::Turn(TurnId(1), progress), &at("15T08:02")).1
    }

    /// E4: a web search of unattended work counts towards the daily limit, and its upper bound is
    /// reserved.
    #[test]
    fn web_search_counts_towards_the_daily_limit() {
        let mut assistant = assistant_with_limit(routine());
        let most = [call("known", 60)];
        assert_eq!(ask_search(&mut assistant, &most, "15T08:00"), Answer::Done);
        assert_eq!(ask_search(&mut assistant, &most, "15T08:00"), Answer::Done);
        let taken = Answer::OverBudget(BudgetRefusal::Reserved);
        assert_eq!(ask_search(&mut assistant, &most, "15T08:01"), taken, "two may use 120 of 100");
        end_search(&mut assistant, &most, &[call("known", 10)]);
        end_search(&mut assistant, &most, &[call("known", 20)]);
        assert_eq!(assistant.budget.days, usage_days(30));
        assert_eq!(ask_search(&mut assistant, &most, "15T08:03"), Answer::Done);
        end_search(&mut assistant, &most, &[call("known", 70)]);
        let refusal = BudgetRefusal::Money { spent: Micros(100), most: Micros(100) };
        assert_eq!(ask_search(&mut assistant, &most, "15T08:04"), Answer::OverBudget(refusal));
        assert_eq!(ask_search(&mut assistant, &most, "16T08:00"), Answer::Done);

        let mut waited = assistant_with_limit(Account::answer_on(&Branch::Main));
        assert_eq!(ask_search(&mut waited, &[call("known", 1_000)], "15T08:01"), Answer::Done);
        end_search(&mut waited, &[], &[call("known", 1_000)]);
        assert_eq!(waited.budget.days, usage_days(0), "the user waits for it");
    }

    #[test]
    fn web_search_has_its_own_source_and_does_not_count_as_context() {
        let mut assistant = assistant_with_limit(Account::answer_on(&Branch::Main));
        let effects = end_search(&mut assistant, &[], &[call("known", 10)]);
        let Some(Effect::Write(records)) = effects.first() else { panic!("{effects:?}") };
        let [Record::CallSpent(spent)] = records.as_slice() else { panic!("{records:?}") };
        assert_eq!((&spent.account.source, spent.cost), (&CostSource::Search, Some(Micros(10))));
        assert_eq!(assistant.state.turns.context_tokens, BTreeMap::new());
    }

    /// MC-6, E4: a message that waits for a turn which is not interrupted prioritizes this turn and
    /// its subagents: their calls wait for no others and do not count. Other runs are not affected.
    #[test]
    fn prioritized_call_waits_for_no_other_and_does_not_count() {
        let mut assistant = assistant_with_limit(routine());
        assistant.budget.limit.money = Some(Micros(150_000));
        assistant.active_turns.values_mut().for_each(|running| running.state = TurnState::Resumed);
        for name in ["b", "agent"].map(str::to_owned) {
            let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
            let prompt = Prompt::new("go");
            let source = CostSource::Routine(name.clone());
            let job = Job { source, name, place: aside, terms: RunOptions::default(), prompt };
            assistant.handle(Request::Schedule(ScheduleCommand::RunJob(job)), &at("15T08:00"));
        }
        let agent = assistant.state.turns.runs.values_mut().find(|run| run.name == "agent").unwrap();
        Arc::make_mut(agent).progress.requester =
            Some(Requester { turn: TurnId(1), call: "call-1".to_owned() });
        let asks = |assistant: &mut Assistant, turn: u64, pace: CallConcurrency| {
            let progress = TurnRequest::MayCallModel(vec![], NextCall { concurrency: pace, ..next() });
            assistant.handle(Request::Turn(TurnId(turn), progress), &at("15T08:00")).0
        };
        let taken = Answer::OverBudget(BudgetRefusal::Reserved);
        assert_eq!(asks(&mut assistant, 2, CallConcurrency::Concurrent), Answer::Done);
        assert_eq!(asks(&mut assistant, 1, CallConcurrency::Concurrent), taken);
        assert_eq!(asks(&mut assistant, 1, CallConcurrency::Attended), taken, "nobody waits yet");

        let hello = Request::Say(UserMessage::from_text(SurfaceName::Page, "hello"));
        let (_, effects) = assistant.handle(hello, &at("15T08:01"));
        let commands: Vec<_> = effects.iter().filter(|effect| !matches!(effect, Effect::Write(_))).collect();
        assert_eq!(commands, [&Effect::Prioritize(TurnId(1)), &Effect::Prioritize(TurnId(3))]);
        assert_eq!(asks(&mut assistant, 2, CallConcurrency::Attended), taken, "it holds nobody up");
        assert_eq!(asks(&mut assistant, 3, CallConcurrency::Attended), Answer::Done);
        assert_eq!(asks(&mut assistant, 1, CallConcurrency::Attended), Answer::Done);
        for turn in [1, 3] {
            let spent = Request::Turn(TurnId(turn), TurnRequest::CallsMade(vec![call("known", 1_000)]));
            assistant.handle(spent, &at("15T08:02"));
        }
        assert_eq!(assistant.budget.days, usage_days(0), "what is waited for does not count");
    }

    /// E4: the user is notified once a day when the limit is near and when it is reached, also
    /// across a restart.
    #[test]
    fn user_is_notified_of_each_limit_once_a_day() {
        let count_notices = |assistant: &mut Assistant, tokens: u64, time: &str| {
            let spent = TurnRequest::MayCallModel(vec![call("known", tokens)], next());
            let (_, effects) = assistant.handle(Request::Turn(TurnId(1), spent), &at(time));
            effects.iter().filter(|effect| matches!(effect, Effect::Show(Update::Notice(_)))).count()
        };
        let mut assistant = assistant_with_limit(routine());
        assert_eq!(count_notices(&mut assistant, 79, "15T08:01"), 0);
        assert_eq!(count_notices(&mut assistant, 1, "15T08:02"), 1);
        assert_eq!(count_notices(&mut assistant, 10, "15T08:03"), 0);
        // A start begins with the recorded usage.
        let days = assistant.budget.days.clone();
        let mut again = assistant_with_limit(routine());
        again.budget.days = days;
        assert_eq!(count_notices(&mut again, 5, "15T08:04"), 0);
        assert_eq!(count_notices(&mut again, 5, "15T08:05"), 1);
        assert_eq!(count_notices(&mut again, 50, "15T08:06"), 0);
        assert_eq!(count_notices(&mut again, 85, "16T08:00"), 1);
    }

    /// SL-13, E4: a limit set by the user applies at once and after a restart, until it is reset.
    #[test]
    fn raised_limit_applies_without_a_restart() {
        let mut assistant = assistant_with_limit(routine());
        let refused = |answer| matches!(answer, Answer::OverBudget(_));
        assert!(refused(ask_call(&mut assistant, vec![call("known", 100)], "15T08:00")));
        let set = |assistant: &mut Assistant, typed: &str| {
            let choice = SettingCommand::Setting(Setting::DailyLimit, typed.to_owned());
            assistant.handle(Request::Configure(choice), &at("15T08:01")).0
        };
        let told = "**daily_limit**: $1.00. it was $0.01. `/config daily_limit default` takes it back.";
        assert_eq!(set(&mut assistant, "1"), Answer::Text(told.to_owned()));
        assert_eq!(ask_call(&mut assistant, vec![], "15T08:02"), Answer::Done);
        let limit = assistant.budget.configured_limit;
        let mut again = assistant.clone().with_budget(Budget { limit, ..assistant.budget.clone() });
        assert_eq!(again.budget.limit.money, Some(Micros(1_000_000)), "a start knows it");
        set(&mut again, "default");
        assert!(refused(ask_call(&mut again, vec![], "15T08:03")));
    }

    #[test]
    fn context_size_is_that_of_the_newest_call_except_summaries() {
        let mut assistant = assistant_with_limit(Account::answer_on(&Branch::Main));
        ask_call(&mut assistant, vec![call("known", 10), call("known", 20)], "15T08:01");
        assert_eq!(assistant.state.turns.context_tokens, [(Branch::Main, 27)].into());
        ask_call(
            &mut assistant,
            vec![ModelCall { model: "known".to_owned(), usage: Usage::default() }],
            "15T08:01",
        );
        assert_eq!(assistant.state.turns.context_tokens, [(Branch::Main, 27)].into());
        let summary = Account { source: CostSource::Compaction, attended: Attendance::Attended };
        let mut assistant = assistant_with_limit(summary);
        ask_call(&mut assistant, vec![call("known", 10)], "15T08:01");
        assert_eq!(assistant.state.turns.context_tokens, BTreeMap::new());
    }
}
