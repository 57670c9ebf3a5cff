//! Webhook deliveries. Each is on disk before the caller gets its response, and is processed from
//! disk.
//!
//! A delivery is an occurrence: it ends in exactly one way and survives a crash. Deliveries of one
//! webhook are processed in order. Their content is labelled as outside text from the start.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::delegating::words;
use super::{Answer, Assistant, Effect, Ended, Minutes, RUNS, Shown, Tends};
use crate::context::{self, Preamble};
use crate::conversation::Branch;
use crate::cost::Source;
use crate::delivery::{Delivery, DeliveryChange, REPEAT, Verdict, WAITING};
use crate::effort::Effort;
use crate::label::{Label, Realm};
use crate::occurrence::{End, Key, Occurrence, Stage, TRIES, wait_after};
use crate::place::{Aside, Follow};
use crate::record::PlanChange;
use crate::run::{Job, Kind};
use crate::schedule::{Knowing, Lateness, ModelName, Prompt, Terms, Thinking, ToolRule, allowance, as_told};

/// WH-15: the model that checks values.
const CHECKER: &str = "haiku";

impl Assistant {
    /// WH-11, P7: accepts a delivery once.
    pub(super) fn deliver(&mut self, delivery: Delivery, now: &Zoned) -> (Answer, Vec<Effect>) {
        let deliveries = &mut self.memory.messages.deliveries;
        let at = now.timestamp();
        if deliveries.remembers(&delivery.marks, at) {
            return (Answer::Told(REPEAT.to_owned()), Vec::new());
        }
        // Deliveries that wait for the next day must not block those that need no model, which are
        // shown at once.
        let most = if deliveries.until.is_some() && !delivery.needs_model() { 2 * WAITING } else { WAITING };
        if deliveries.open.size() >= most {
            let why = format!("{WAITING} deliveries wait already; try again later");
            return (Answer::Refused(why), Vec::new());
        }
        if !deliveries.remember(&delivery.marks, at) {
            let why = "more came this week than i can remember; try again later".to_owned();
            return (Answer::Refused(why), Vec::new());
        }
        let mut minutes = Minutes::at(now);
        self.take_in(delivery, &mut minutes);
        self.tend_deliveries(&mut minutes);
        (Answer::Noted, minutes.effects())
    }

    fn take_in(&mut self, delivery: Delivery, minutes: &mut Minutes) {
        let deliveries = &mut self.memory.messages.deliveries;
        let key = Key { source: delivery.source(), due: deliveries.next_time(minutes.at) };
        let delivery = Arc::new(delivery);
        deliveries.open.insert_mut(key.clone(), Arc::clone(&delivery));
        let occurrence = Occurrence {
            key: key.clone(),
            name: delivery.name(),
            words: delivery.hook.words().to_owned(),
            lateness: Lateness::OnTime,
            tries: 0,
            stage: Stage::Queued,
            since: minutes.at,
            shown: false,
        };
        minutes.plan(Some(PlanChange::Delivery(DeliveryChange::Came(key, delivery, minutes.at))));
        self.stands(occurrence, Stage::Queued, minutes);
    }

    /// Starts all deliveries that can start: for each webhook the oldest open one.
    pub(super) fn tend_deliveries(&mut self, minutes: &mut Minutes) {
        if self.wants.tends == Tends::Nothing {
            return;
        }
        self.let_deliveries_wait(minutes);
        while let Some((occurrence, delivery)) = self.next_delivery(minutes.at) {
            self.begin_delivery(occurrence, &delivery, minutes);
        }
    }

    /// Returns the next delivery that can start. While model calls wait, only one that needs no
    /// model.
    fn next_delivery(&self, now: Timestamp) -> Option<(Occurrence, Arc<Delivery>)> {
        let deliveries = &self.memory.messages.deliveries;
        let mut before: Option<&Source> = None;
        for (key, delivery) in deliveries.open.iter() {
            if before.replace(&key.source) == Some(&key.source) || deliveries.is_checked(&key.source) {
                continue;
            }
            if deliveries.until.is_some() && delivery.needs_model() {
                continue;
            }
            let occurrence = self.memory.plans.open.get(key);
            let ready = |occurrence: &&Occurrence| match occurrence.stage {
                Stage::Queued => true,
                Stage::Again(at) => at <= now,
                Stage::Running(_) | Stage::Asked(_) | Stage::Ended(_) => false,
            };
            if let Some(occurrence) = occurrence.filter(ready) {
                return Some((occurrence.clone(), Arc::clone(delivery)));
            }
        }
        None
    }

    fn begin_delivery(&mut self, occurrence: Occurrence, delivery: &Delivery, minutes: &mut Minutes) {
        if let Some(words) = delivery.words() {
            return self.tell_delivery(occurrence, delivery, words, minutes);
        }
        if self.choices.is_offline() {
            let words = format!(
                "{} was called, and i have no model to act on it.\n{}",
                delivery.name(),
                delivery.list()
            );
            return self.tell_delivery(occurrence, delivery, words, minutes);
        }
        if occurrence.tries >= TRIES {
            return self.not_done(occurrence, "i stopped every time before it had begun", minutes);
        }
        if self.memory.turns.runs.len() >= RUNS {
            let again = minutes.at + wait_after(1, self.dice.roll());
            return self.stands(occurrence, Stage::Again(again), minutes);
        }
        let occurrence = Occurrence { tries: occurrence.tries + 1, ..occurrence };
        match delivery.free() {
            Some(values) => self.check_values(occurrence, &values, minutes),
            None => self.set_off_delivery(occurrence, delivery, minutes),
        }
    }

    /// WH-15, F6: lets a run without tools check the values first. After a crash the check is
    /// repeated.
    fn check_values(&mut self, occurrence: Occurrence, values: &str, minutes: &mut Minutes) {
        let terms = Terms {
            model: ModelName::read(CHECKER),
            thinking: Thinking::Off,
            effort: Some(Effort::Low),
            tools: ToolRule::Only(Vec::new()),
            ..Terms::default()
        };
        let name = "reader".to_owned();
        let aside = Aside::Isolated(Follow::Alone);
        let prompt = Prompt::new(&context::to_be_checked(values));
        let key = occurrence.key.clone();
        self.stands(occurrence, Stage::Queued, minutes);
        let job = Job { source: Source::Reader, name, aside, terms, prompt };
        let branch = self.set_off_outside(job, None, minutes);
        self.memory.messages.deliveries.checks.insert(branch, (key, Verdict::Unknown));
    }

    /// Starts a run whose context contains outside text from the start.
    fn set_off_outside(&mut self, job: Job, due: Option<Timestamp>, minutes: &mut Minutes) -> Branch {
        let (run, text) = self.branch_off(job, due, minutes);
        // The preamble names upcoming tasks of the user.
        let label = from_a_webhook().join(Label::private(Realm::Tasks));
        self.memory.conversation.know(&run.branch, label);
        self.say_first(run.branch.clone(), text, minutes);
        run.branch.clone()
    }

    /// Stores the verdict of the check on `branch`, if it is one.
    pub(super) fn note_verdict(&mut self, branch: &Branch, ended: &Ended) {
        let deliveries = &mut self.memory.messages.deliveries;
        let Some((key, verdict)) = deliveries.checks.get_mut(branch) else { return };
        if let Some(delivery) = deliveries.open.get(key) {
            *verdict = Verdict::read(&words(ended), delivery);
        }
    }

    /// WH-16, WH-17: handles the end of a check, and runs only deliveries found safe. Returns true
    /// if `branch` was a check.
    pub(super) fn check_ended(&mut self, branch: &Branch, minutes: &mut Minutes) -> bool {
        let deliveries = &mut self.memory.messages.deliveries;
        let Some((key, verdict)) = deliveries.checks.remove(branch) else { return false };
        let open = deliveries.open.get(&key).cloned();
        let Some((delivery, occurrence)) = open.zip(self.memory.plans.open.get(&key).cloned()) else {
            return true;
        };
        // The daily limit prevented the check, so it does not count as a try.
        if self.refusal(minutes).is_some() && !matches!(verdict, Verdict::Flagged(_)) {
            let tries = occurrence.tries.saturating_sub(1);
            self.left_out(Occurrence { tries, ..occurrence }, minutes);
            return true;
        }
        match verdict {
            Verdict::Safe => self.set_off_delivery(occurrence, &delivery, minutes),
            Verdict::Flagged(names) => {
                let what = match names.as_slice() {
                    [] => "what was brought".to_owned(),
                    names => format!("`{}`", names.join("`, `")),
                };
                let why = format!("{what} reads like an order to me");
                minutes.shown.push(Shown::Notice(format!("i did not run {}: {why}.", delivery.name())));
                self.settle(occurrence, End::Skipped(why), minutes);
            }
            Verdict::Unknown => {
                self.failed(occurrence, "nobody could check what was brought, so it was not run", minutes);
            }
        }
        true
    }

    /// WH-18: starts the run of a delivery.
    fn set_off_delivery(&mut self, occurrence: Occurrence, delivery: &Delivery, minutes: &mut Minutes) {
        let hook = &delivery.hook;
        let (kind, aside) = match hook.knowing {
            Knowing::Main => (Kind::Forked, Aside::Forked(Follow::Alone)),
            Knowing::Itself => (Kind::Isolated, Aside::Isolated(Follow::Alone)),
        };
        let terms = Terms { tools: allowance(&hook.terms, kind), ..hook.terms.clone() };
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let source = occurrence.key.source.clone();
        let due = occurrence.key.due;
        let preamble = Preamble {
            session: kind,
            voice: terms.voice,
            // WH-14.
            busy: self.busy(),
            limits: self.ping_limits(&now),
            outside: true,
            ahead: self.ahead((&source, due), None, &now),
            tools: as_told(&terms.tools, terms.voice),
        };
        let prompt = Prompt::new(&context::called(delivery, &preamble.write(&now)));
        let job = Job { source, name: delivery.name(), aside, terms, prompt };
        let branch = self.set_off_outside(job, Some(due), minutes);
        self.stands(occurrence, Stage::Running(branch), minutes);
    }

    /// Returns true for an occurrence of a webhook whose delivery is unknown.
    pub(super) fn is_lost(&self, key: &Key) -> bool {
        let known = self.memory.messages.deliveries.open.contains_key(key);
        matches!(key.source, Source::Webhook(_)) && !known
    }

    /// Forgets a delivery that has ended.
    pub(super) fn delivery_ended(&mut self, key: &Key, minutes: &mut Minutes) {
        if self.memory.messages.deliveries.open.remove_mut(key) {
            let ended = DeliveryChange::Ended(key.clone());
            minutes.plan(Some(PlanChange::Delivery(ended)));
        }
    }
}

/// Returns the label of a webhook's content.
pub(super) fn from_a_webhook() -> Label {
    Label::outside(Realm::Webhook)
}
