//! Webhook deliveries. Each is on disk before the caller gets its response, and is processed from
//! disk.
//!
//! A delivery is an occurrence: it ends in exactly one way and survives a crash. Deliveries of one
//! webhook are processed in order. Their content is labelled as outside text from the start.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::subagents::last_answer;
use super::{Answer, Assistant, Effect, MAX_RUNS, OperatingMode, Transaction, TurnOutcome, Update};
use crate::context::{self, Preamble};
use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::delivery::{CheckVerdict, Delivery, DeliveryChange, MAX_WAITING, REPEAT};
use crate::effort::Effort;
use crate::label::{Label, Realm};
use crate::occurrence::{MAX_TRIES, Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState, retry_delay};
use crate::place::{BackgroundPlace, ChainPosition};
use crate::record::PlanChange;
use crate::run::{Job, RunMode};
use crate::schedule::{
    InitialContext, Lateness, ModelName, Prompt, RunOptions, ThinkingOverride, ToolRule, advertised_tools,
    allowed_tools,
};

/// WH-15: the model that checks values.
const CHECK_MODEL: &str = "haiku";

impl Assistant {
    /// WH-11, P7: accepts a delivery once.
    pub(super) fn receive_delivery(&mut self, delivery: Delivery, now: &Zoned) -> (Answer, Vec<Effect>) {
        let deliveries = &mut self.state.messages.deliveries;
        let at = now.timestamp();
        if deliveries.is_known(&delivery.marks, at) {
            return (Answer::Text(REPEAT.to_owned()), Vec::new());
        }
        // Deliveries that wait for the next day must not block those that need no model, which are
        // shown at once.
        let most = if deliveries.paused_until.is_some() && !delivery.needs_model() {
            2 * MAX_WAITING
        } else {
            MAX_WAITING
        };
        if deliveries.open.size() >= most {
            let why = format!("{MAX_WAITING} deliveries wait already; try again later");
            return (Answer::Refused(why), Vec::new());
        }
        if !deliveries.add_marks(&delivery.marks, at) {
            let why = "more came this week than i can remember; try again later".to_owned();
            return (Answer::Refused(why), Vec::new());
        }
        let mut tx = Transaction::at(now);
        self.accept_delivery(delivery, &mut tx);
        self.start_deliveries(&mut tx);
        (Answer::Done, tx.into_effects())
    }

    fn accept_delivery(&mut self, delivery: Delivery, tx: &mut Transaction) {
        let deliveries = &mut self.state.messages.deliveries;
        let key = OccurrenceKey { source: delivery.source(), due: deliveries.unique_time(tx.at) };
        let delivery = Arc::new(delivery);
        deliveries.open.insert_mut(key.clone(), Arc::clone(&delivery));
        let occurrence = Occurrence {
            key: key.clone(),
            name: delivery.display_name(),
            prompt: delivery.webhook.active_template().to_owned(),
            lateness: Lateness::OnTime,
            tries: 0,
            state: OccurrenceState::Queued,
            since: tx.at,
            shown_verbatim: false,
        };
        tx.record_plan(Some(PlanChange::Delivery(DeliveryChange::Received(key, delivery, tx.at))));
        self.set_stage(occurrence, OccurrenceState::Queued, tx);
    }

    /// Starts all deliveries that can start: for each webhook the oldest open one.
    pub(super) fn start_deliveries(&mut self, tx: &mut Transaction) {
        if self.transient.mode == OperatingMode::OnRequestOnly {
            return;
        }
        self.defer_deliveries(tx);
        while let Some((occurrence, delivery)) = self.next_delivery(tx.at) {
            self.start_delivery(occurrence, &delivery, tx);
        }
    }

    /// Returns the next delivery that can start. While model calls wait, only one that needs no
    /// model.
    fn next_delivery(&self, now: Timestamp) -> Option<(Occurrence, Arc<Delivery>)> {
        let deliveries = &self.state.messages.deliveries;
        let mut before: Option<&CostSource> = None;
        for (key, delivery) in deliveries.open.iter() {
            if before.replace(&key.source) == Some(&key.source) || deliveries.is_checked(&key.source) {
                continue;
            }
            if deliveries.paused_until.is_some() && delivery.needs_model() {
                continue;
            }
            let occurrence = self.state.plans.open.get(key);
            let ready = |occurrence: &&Occurrence| match occurrence.state {
                OccurrenceState::Queued => true,
                OccurrenceState::Retrying(at) => at <= now,
                OccurrenceState::Running(_) | OccurrenceState::SentToMain(_) | OccurrenceState::Ended(_) => {
                    false
                }
            };
            if let Some(occurrence) = occurrence.filter(ready) {
                return Some((occurrence.clone(), Arc::clone(delivery)));
            }
        }
        None
    }

    fn start_delivery(&mut self, occurrence: Occurrence, delivery: &Delivery, tx: &mut Transaction) {
        if let Some(words) = delivery.verbatim_text() {
            return self.ping_delivery(occurrence, delivery, words, tx);
        }
        if self.choices.is_offline() {
            let words = format!(
                "{} was called, and i have no model to act on it.\n{}",
                delivery.display_name(),
                delivery.list()
            );
            return self.ping_delivery(occurrence, delivery, words, tx);
        }
        if occurrence.tries >= MAX_TRIES {
            return self.fail_occurrence(occurrence, "i stopped every time before it had begun", tx);
        }
        if self.state.turns.runs.len() >= MAX_RUNS {
            let again = tx.at + retry_delay(1, self.rng.next_u64());
            return self.set_stage(occurrence, OccurrenceState::Retrying(again), tx);
        }
        let occurrence = Occurrence { tries: occurrence.tries + 1, ..occurrence };
        match delivery.free_values() {
            Some(values) => self.start_check(occurrence, &values, tx),
            None => self.start_delivery_run(occurrence, delivery, tx),
        }
    }

    /// WH-15, F6: lets a run without tools check the values first. After a crash the check is
    /// repeated.
    fn start_check(&mut self, occurrence: Occurrence, values: &str, tx: &mut Transaction) {
        let terms = RunOptions {
            model: ModelName::parse(CHECK_MODEL),
            thinking: ThinkingOverride::Off,
            effort: Some(Effort::Low),
            tools: ToolRule::Only(Vec::new()),
            ..RunOptions::default()
        };
        let name = "reader".to_owned();
        let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let prompt = Prompt::new(&context::check_prompt(values));
        let key = occurrence.key.clone();
        self.set_stage(occurrence, OccurrenceState::Queued, tx);
        let job = Job { source: CostSource::Reader, name, place: aside, terms, prompt };
        let branch = self.start_tainted_run(job, None, tx);
        self.state.messages.deliveries.checks.insert(branch, (key, CheckVerdict::Unknown));
    }

    /// Starts a run whose context contains outside text from the start.
    fn start_tainted_run(&mut self, job: Job, due: Option<Timestamp>, tx: &mut Transaction) -> Branch {
        let (run, text) = self.create_run_branch(job, due, tx);
        // The preamble names upcoming tasks of the user.
        let label = webhook_label().join(Label::private(Realm::Tasks));
        self.state.conversation.raise_label(&run.branch, label);
        self.begin_run(run.branch.clone(), text, tx);
        run.branch.clone()
    }

    /// Stores the verdict of the check on `branch`, if it is one.
    pub(super) fn store_verdict(&mut self, branch: &Branch, ended: &TurnOutcome) {
        let deliveries = &mut self.state.messages.deliveries;
        let Some((key, verdict)) = deliveries.checks.get_mut(branch) else { return };
        if let Some(delivery) = deliveries.open.get(key) {
            *verdict = CheckVerdict::parse(&last_answer(ended), delivery);
        }
    }

    /// WH-16, WH-17: handles the end of a check, and runs only deliveries found safe. Returns true
    /// if `branch` was a check.
    pub(super) fn on_check_ended(&mut self, branch: &Branch, tx: &mut Transaction) -> bool {
        let deliveries = &mut self.state.messages.deliveries;
        let Some((key, verdict)) = deliveries.checks.remove(branch) else { return false };
        let open = deliveries.open.get(&key).cloned();
        let Some((delivery, occurrence)) = open.zip(self.state.plans.open.get(&key).cloned()) else {
            return true;
        };
        // The daily limit prevented the check, so it does not count as a try.
        if self.budget_refusal(tx).is_some() && !matches!(verdict, CheckVerdict::Flagged(_)) {
            let tries = occurrence.tries.saturating_sub(1);
            self.skip_unaffordable(Occurrence { tries, ..occurrence }, tx);
            return true;
        }
        match verdict {
            CheckVerdict::Safe => self.start_delivery_run(occurrence, &delivery, tx),
            CheckVerdict::Flagged(names) => {
                let what = match names.as_slice() {
                    [] => "what was brought".to_owned(),
                    names => format!("`{}`", names.join("`, `")),
                };
                let why = format!("{what} reads like an order to me");
                tx.updates.push(Update::Notice(format!("i did not run {}: {why}.", delivery.display_name())));
                self.finish_occurrence(occurrence, OccurrenceEnd::Skipped(why), tx);
            }
            CheckVerdict::Unknown => {
                self.retry_or_fail(occurrence, "nobody could check what was brought, so it was not run", tx);
            }
        }
        true
    }

    /// WH-18: starts the run of a delivery.
    fn start_delivery_run(&mut self, occurrence: Occurrence, delivery: &Delivery, tx: &mut Transaction) {
        let hook = &delivery.webhook;
        let (kind, aside) = match hook.context {
            InitialContext::Main => (RunMode::Forked, BackgroundPlace::Forked(ChainPosition::NotInChain)),
            InitialContext::PromptOnly => {
                (RunMode::Isolated, BackgroundPlace::Isolated(ChainPosition::NotInChain))
            }
        };
        let terms = RunOptions { tools: allowed_tools(&hook.options, kind), ..hook.options.clone() };
        let now = tx.at.to_zoned(tx.zone.clone());
        let source = occurrence.key.source.clone();
        let due = occurrence.key.due;
        let preamble = Preamble {
            session: kind,
            report_policy: terms.report_policy,
            // WH-14.
            busy: self.user_activity(),
            limits: self.ping_limits(&now),
            tainted: true,
            upcoming: self.upcoming_jobs((&source, due), None, &now),
            tools: advertised_tools(&terms.tools, terms.report_policy),
        };
        let prompt = Prompt::new(&context::webhook_prompt(delivery, &preamble.render(&now)));
        let job = Job { source, name: delivery.display_name(), place: aside, terms, prompt };
        let branch = self.start_tainted_run(job, Some(due), tx);
        self.set_stage(occurrence, OccurrenceState::Running(branch), tx);
    }

    /// Returns true for an occurrence of a webhook whose delivery is unknown.
    pub(super) fn is_lost_delivery(&self, key: &OccurrenceKey) -> bool {
        let known = self.state.messages.deliveries.open.contains_key(key);
        matches!(key.source, CostSource::Webhook(_)) && !known
    }

    /// Forgets a delivery that has ended.
    pub(super) fn forget_delivery(&mut self, key: &OccurrenceKey, tx: &mut Transaction) {
        if self.state.messages.deliveries.open.remove_mut(key) {
            let ended = DeliveryChange::Ended(key.clone());
            tx.record_plan(Some(PlanChange::Delivery(ended)));
        }
    }
}

/// Returns the label of a webhook's content.
pub(super) fn webhook_label() -> Label {
    Label::outside(Realm::Webhook)
}
