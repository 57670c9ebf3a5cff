//! Occurrences of jobs: starting them when they are due, and ending each in exactly one way.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::gathering::{PHRASING_TIME, put_plainly};
use super::loading::with_tools;
use super::planning::{is_for_main, taken_away};
use super::{Assistant, Ending, Minutes, RUNS, Shown, Turned};
use crate::context::skills::Loaded;
use crate::context::{self, Preamble, Scheduled, Where};
use crate::conversation::Branch;
use crate::cost::Source;
use crate::failure::Failure;
use crate::label::{Label, Realm};
use crate::occurrence::{AS_WRITTEN, End, Key, Occurrence, Stage, TRIES, UNPAID, wait_after};
use crate::place::{Aside, Follow};
use crate::record::{MessageId, PlanChange};
use crate::run::{Job, Kind, Run};
use crate::schedule::{
    Charter, Lateness, Overlap, Planned, Prompt, Terms, Upcoming, What, allowance, as_told,
};

impl Assistant {
    /// P2, A7: starts the occurrence unless the job is still running; then it is skipped or queued
    /// once.
    pub(super) fn begin_or_wait(
        &mut self,
        planned: &Arc<Planned>,
        occurrence: Occurrence,
        minutes: &mut Minutes,
    ) {
        let plans = &self.memory.plans;
        let source = &occurrence.key.source;
        let overlap = planned.manner().overlap;
        match (plans.busy_with(source), plans.queued(source), overlap) {
            (None, _, _) => self.try_once(planned, occurrence, minutes),
            (Some(_), None, Overlap::Queue) => self.stands(occurrence, Stage::Queued, minutes),
            (Some(_), Some(_), _) | (Some(_), None, Overlap::Skip) => {
                let why = "the one before it was still being done".to_owned();
                self.settle(occurrence, End::Skipped(why), minutes);
            }
        }
    }

    /// Makes one attempt, after loading the job's skills if it names any.
    pub(super) fn try_once(&mut self, planned: &Arc<Planned>, occurrence: Occurrence, minutes: &mut Minutes) {
        match self.wanted(planned, minutes) {
            Some(wanted) => self.load_first(occurrence, wanted, minutes),
            None => self.try_with(planned, occurrence, &Loaded::default(), minutes),
        }
    }

    /// Makes one attempt with the loaded skills. If no run is free or a previous check is still
    /// open, it is retried later.
    pub(super) fn try_with(
        &mut self,
        planned: &Arc<Planned>,
        occurrence: Occurrence,
        loaded: &Loaded,
        minutes: &mut Minutes,
    ) {
        // Reminders on main wait in its queue, and may be grouped.
        if !is_for_main(planned) && self.refusal(minutes).is_some() {
            return self.left_out(occurrence, minutes);
        }
        let full = planned.charter().terms().is_some() && self.memory.turns.runs.len() >= RUNS;
        if full || self.waits_for_check(planned) {
            let again = minutes.at + wait_after(1, self.dice.roll());
            return self.stands(occurrence, Stage::Again(again), minutes);
        }
        let occurrence = Occurrence { tries: occurrence.tries + 1, ..occurrence };
        let prompt = self.prompt(planned, &occurrence, loaded, minutes);
        let Some((terms, kind)) = planned.charter().terms().zip(kind(planned)) else {
            let label = loaded.label.join(self.label_of_words(&occurrence.key.source));
            return self.put_to_main(occurrence, (prompt, label), minutes);
        };
        let ahead = self.label_ahead(planned, &occurrence, kind, minutes);
        let aside = match kind {
            Kind::Forked => Aside::Forked(follow(planned)),
            Kind::Isolated => Aside::Isolated(follow(planned)),
            Kind::Persistent => Aside::Persistent,
        };
        let terms = Terms { tools: with_tools(allowance(terms, kind), &loaded.tools), ..terms.clone() };
        let source = occurrence.key.source.clone();
        let name = occurrence.name.clone();
        let words = self.label_of_words(&source);
        let job = Job { source, name, aside, terms, prompt: Prompt::new(&prompt) };
        // The preamble names upcoming tasks of the user.
        let label = loaded.label.join(Label::private(Realm::Tasks)).join(words).join(ahead);
        let branch = self.set_off(job, label, Some(occurrence.key.due), minutes);
        self.stands(occurrence, Stage::Running(branch), minutes);
    }

    /// Returns the label of the texts of other jobs in the preamble.
    fn label_ahead(
        &self,
        planned: &Planned,
        occurrence: &Occurrence,
        kind: Kind,
        minutes: &Minutes,
    ) -> Label {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let around = (&occurrence.key.source, occurrence.key.due);
        let ahead = self.ahead(around, (kind == Kind::Isolated).then_some(planned), &now);
        let told = ahead.iter().filter(|fire| !fire.file.is_empty());
        let sources =
            told.flat_map(|fire| [Source::Routine(fire.id.clone()), Source::Reminder(fire.id.clone())]);
        sources.fold(Label::PLAIN, |label, source| label.join(self.label_of_words(&source)))
    }

    /// SC-14, SC-21 to SC-25: returns the prompt of the job with its preamble.
    fn prompt(
        &self,
        planned: &Planned,
        occurrence: &Occurrence,
        loaded: &Loaded,
        minutes: &Minutes,
    ) -> String {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let due = occurrence.key.due.to_zoned(minutes.zone.clone());
        let late = match occurrence.lateness {
            Lateness::Late => context::late(&due, &now),
            Lateness::OnTime => String::new(),
        };
        let preamble = self.preamble(planned, occurrence, loaded, &now);
        let at = match planned.charter().terms() {
            None => Where::Main,
            Some(terms) => Where::Aside { preamble: &preamble, reporting: terms.voice.reporting },
        };
        let id = planned.id().as_str();
        let body = planned.message().as_str();
        let scheduled = Scheduled { id, at, late: &late, skills: &loaded.section, body };
        match &planned.what {
            What::Routine(_) => scheduled.routine(),
            What::Reminder(reminder) => scheduled.reminder(&reminder.chain),
        }
    }

    /// PR-1: returns the preamble for a run of `planned`; empty for a job on main.
    fn preamble(&self, planned: &Planned, occurrence: &Occurrence, loaded: &Loaded, now: &Zoned) -> String {
        let Some((terms, kind)) = planned.charter().terms().zip(kind(planned)) else { return String::new() };
        let around = (&occurrence.key.source, occurrence.key.due);
        let preamble = Preamble {
            session: kind,
            voice: terms.voice,
            busy: self.busy(),
            limits: self.ping_limits(now),
            outside: self.begins_with(&occurrence.key.source, kind, loaded.label).is_tainted(),
            ahead: self.ahead(around, (kind == Kind::Isolated).then_some(planned), now),
            tools: as_told(&with_tools(allowance(terms, kind), &loaded.tools), terms.voice),
        };
        preamble.write(now)
    }

    /// Returns the label of the context of a run before its own prompt: the conversation it forks
    /// from, the pending updates, and the `loaded` skills.
    fn begins_with(&self, source: &Source, kind: Kind, loaded: Label) -> Label {
        let beneath = match kind {
            Kind::Forked => {
                let main = self.main_at_rest().map_or(Label::PLAIN, |spot| spot.label);
                self.memory.reports.waiting.iter().map(|report| report.label).fold(main, Label::join)
            }
            Kind::Persistent => self.stand_of(source).map_or(Label::PLAIN, |stand| stand.label),
            Kind::Isolated => Label::PLAIN,
        };
        loaded.join(beneath)
    }

    /// Returns the upcoming background jobs for the preamble. A run without the main conversation
    /// (`alone`, and every webhook run) gets only the times of other jobs.
    pub(super) fn ahead(
        &self,
        (source, due): (&Source, Timestamp),
        alone: Option<&Planned>,
        now: &Zoned,
    ) -> Vec<Upcoming> {
        let ahead = self.memory.plans.agenda.around(source, due, now.timestamp());
        let is_webhook = matches!(source, Source::Webhook(_));
        let is_hidden =
            |fire: &Upcoming| is_webhook || alone.is_some_and(|planned| planned.file != fire.file);
        ahead.into_iter().map(|fire| if is_hidden(&fire) { fire.time_only() } else { fire }).collect()
    }

    /// SC-15, MC-18, MC-20: queues the prompt for main.
    fn put_to_main(&mut self, occurrence: Occurrence, prompt: (String, Label), minutes: &mut Minutes) {
        let message = self.our_labelled_message(Branch::Main, prompt, minutes);
        let id = message.id;
        self.memory.messages.waiting.push_back(message);
        self.stands(occurrence, Stage::Asked(id), minutes);
    }

    /// Delivers waiting reminders verbatim, because the model is not available.
    pub(super) fn ring_past(&mut self, minutes: &mut Minutes) {
        for occurrence in self.asked_in_vain(is_reminder, minutes) {
            self.goes_out(occurrence, AS_WRITTEN, minutes);
        }
    }

    /// Removes queued prompts from main's queue, and returns their occurrences.
    pub(super) fn asked_in_vain(
        &mut self,
        which: fn(&Occurrence) -> bool,
        minutes: &mut Minutes,
    ) -> Vec<Occurrence> {
        let waiting = self.memory.messages.waiting.iter();
        let asked = waiting.filter_map(|message| Some((message.id, self.memory.plans.asked(message.id)?)));
        let asked: Vec<(MessageId, Occurrence)> =
            asked.filter(|(_, asked)| which(asked)).map(|(id, asked)| (id, asked.clone())).collect();
        asked.into_iter().filter_map(|(id, asked)| self.take_back(id, minutes).then_some(asked)).collect()
    }

    /// Sets and records the stage of an open occurrence.
    pub(super) fn stands(&mut self, occurrence: Occurrence, stage: Stage, minutes: &mut Minutes) {
        let occurrence = Occurrence { stage, since: minutes.at, ..occurrence };
        self.memory.plans.open.insert_mut(occurrence.key.clone(), occurrence.clone());
        minutes.plan(Some(PlanChange::Occurred(occurrence)));
    }

    /// P1: ends the occurrence. The file of a reminder is removed only now.
    pub(super) fn settle(&mut self, occurrence: Occurrence, end: End, minutes: &mut Minutes) {
        let key = occurrence.key.clone();
        self.memory.plans.open.remove_mut(&key);
        self.delivery_ended(&key, minutes);
        let planned = self.plan_of(&occurrence);
        if let End::Done(_) = &end {
            self.memory.plans.failing.remove(&key.source);
            let rang = planned.as_ref().map(|planned| (planned.what.clone(), minutes.at));
            self.memory.plans.rang = rang.or(self.memory.plans.rang.take());
            if let Some(planned) = &planned {
                self.routine_rang(&planned.what, key.due, minutes);
            }
        }
        let file = planned.map(|planned| planned.file.clone()).unwrap_or_default();
        let ended = Occurrence { stage: Stage::Ended(end), since: minutes.at, ..occurrence };
        // A cancelled occurrence may be rescheduled: its file stays or has been removed already.
        let taken_away =
            taken_away(&ended, file).filter(|_| !matches!(ended.stage, Stage::Ended(End::Cancelled(_))));
        minutes.plan(Some(PlanChange::Occurred(ended.clone())));
        minutes.plan(taken_away);
        self.cued_by_end(&ended, minutes);
        // A skipped occurrence can end while another one is still running.
        let plans = &self.memory.plans;
        let queued = plans.queued(&key.source).filter(|_| plans.busy_with(&key.source).is_none()).cloned();
        if let Some((planned, queued)) = queued.and_then(|queued| Some((self.plan_of(&queued)?, queued))) {
            self.try_once(&planned, queued, minutes);
        }
    }

    /// Handles the end of a scheduled run: ends the occurrence, or this attempt.
    pub(super) fn run_settled(&mut self, run: &Run, due: Timestamp, ending: &Ending, minutes: &mut Minutes) {
        let key = Key { source: run.source.clone(), due };
        let goes_on = Stage::Running(run.branch.clone());
        let open = self.memory.plans.open.get(&key).filter(|occurrence| occurrence.stage == goes_on);
        let Some(occurrence) = open.cloned() else { return };
        match ending {
            Ending::Finished => self.settle(occurrence, End::Done(String::new()), minutes),
            Ending::Interrupted => self.failed(occurrence, "it was stopped", minutes),
            Ending::Failed(_) if ending.is_at_limit() => self.cut_off(occurrence, minutes),
            Ending::Failed(failure) if is_final(failure) => {
                self.not_done(occurrence, &failure.of_a_job(), minutes);
            }
            Ending::Failed(failure) => self.failed(occurrence, &failure.of_a_job(), minutes),
        }
    }

    /// Handles the end of a turn on main that answered a job. Returns the ending to show to the
    /// user.
    pub(super) fn asked_settled(
        &mut self,
        message: MessageId,
        ending: Ending,
        minutes: &mut Minutes,
    ) -> Ending {
        let Some(occurrence) = self.memory.plans.asked(message).cloned() else { return ending };
        match (&occurrence.key.source, &ending) {
            (_, Ending::Finished) => {
                self.put_in_words(&occurrence, minutes);
                self.settle(occurrence, End::Done(String::new()), minutes);
                ending
            }
            // A reminder needs no model: it is delivered verbatim.
            (Source::Reminder(_), Ending::Interrupted | Ending::Failed(_)) => {
                let note = if ending.is_at_limit() { UNPAID } else { AS_WRITTEN };
                if occurrence.shown {
                    // A partial answer does not replace the reminder, but is posted.
                    self.posting.has_no_place(&Branch::Main, self.says_more(&occurrence));
                    self.end_shown(occurrence, note, minutes);
                } else {
                    self.goes_out(occurrence, note, minutes)
                }
                Ending::Finished
            }
            (_, Ending::Failed(_)) if ending.is_at_limit() => {
                self.cut_off(occurrence, minutes);
                ending
            }
            (_, Ending::Failed(failure)) if is_final(failure) => {
                self.not_done(occurrence, &failure.of_a_job(), minutes);
                ending
            }
            (_, Ending::Interrupted) => {
                self.settle(occurrence, End::Done("you stopped the answer".to_owned()), minutes);
                ending
            }
            (_, Ending::Failed(failure)) => {
                let why = failure.of_a_job();
                self.failed(occurrence, &why, minutes);
                ending
            }
        }
    }

    /// Handles the removal of a queued prompt with its conversation: a reminder is retried in the
    /// next one.
    pub(super) fn asked_dropped(&mut self, message: MessageId, minutes: &mut Minutes) {
        let Some(occurrence) = self.memory.plans.asked(message).cloned() else { return };
        if is_reminder(&occurrence) {
            self.stands(occurrence, Stage::Again(minutes.at), minutes)
        } else {
            self.settle(occurrence, End::Cancelled("you started over".to_owned()), minutes)
        }
    }

    /// A8: retries later, up to three attempts in all.
    pub(super) fn failed(&mut self, occurrence: Occurrence, why: &str, minutes: &mut Minutes) {
        // Its text was shown, so there is nothing to retry.
        if occurrence.shown {
            return self.end_unheard(occurrence, AS_WRITTEN, minutes);
        }
        if occurrence.tries < TRIES {
            let again = minutes.at + wait_after(occurrence.tries, self.dice.roll());
            return self.stands(occurrence, Stage::Again(again), minutes);
        }
        self.not_done(occurrence, why, minutes);
    }

    /// A8: gives up on the occurrence and notifies the user; a reminder is shown verbatim.
    pub(super) fn not_done(&mut self, occurrence: Occurrence, why: &str, minutes: &mut Minutes) {
        let name = occurrence.name.clone();
        if is_reminder(&occurrence) && !occurrence.shown {
            self.say_as_written(&occurrence, minutes);
            self.rang(&occurrence, minutes);
        }
        let known = self.memory.plans.failing.insert(occurrence.key.source.clone(), why.to_owned());
        if known.as_deref() != Some(why) {
            minutes.shown.push(Shown::Notice(format!("{name} could not be finished: {why}")));
        }
        self.settle(occurrence, End::Failed(why.to_owned()), minutes);
    }

    /// Ends a reminder without the model, for the reason `note`. Its text is shown unless it was.
    pub(super) fn goes_out(&mut self, occurrence: Occurrence, note: &str, minutes: &mut Minutes) {
        if occurrence.shown {
            return self.end_unheard(occurrence, note, minutes);
        }
        self.say_as_written(&occurrence, minutes);
        self.rang(&occurrence, minutes);
        self.settle(occurrence, End::Done(note.to_owned()), minutes);
    }

    /// Returns true if `turn_ref` answers a reminder that can be delivered verbatim without the
    /// model.
    pub(super) fn goes_out_as_written(&self, turned: &Turned) -> bool {
        self.memory.plans.asked(turned.message.id).is_some_and(is_reminder)
    }

    /// Sets the deadline of a turn for a reminder on main: one minute after it was due if only
    /// wording is needed, else one minute from now.
    pub(super) fn limit_reminder(&mut self, message: MessageId, minutes: &Minutes) {
        let Some(occurrence) = self.memory.plans.asked(message).filter(|asked| is_reminder(asked)) else {
            return;
        };
        let until = if self.is_plain(occurrence) {
            self.phrased_until(occurrence, minutes.at)
        } else {
            minutes.at + PHRASING_TIME
        };
        self.wants.deadlines.insert(Branch::Main, until);
    }

    /// Says the text of a reminder on main as written.
    fn say_as_written(&mut self, occurrence: &Occurrence, minutes: &mut Minutes) {
        let label = self.label_of_words(&occurrence.key.source);
        self.speak_of(&put_plainly(occurrence, minutes), label, minutes);
    }

    /// After a start: retries occurrences whose run or message was lost.
    pub(super) fn settle_leftovers(&mut self, minutes: &mut Minutes) {
        let open: Vec<Occurrence> = self.memory.plans.open.values().cloned().collect();
        for occurrence in open {
            if self.is_lost(&occurrence.key) {
                let why = "what was brought cannot be read any more".to_owned();
                self.settle(occurrence, End::Failed(why), minutes);
                continue;
            }
            let there = match &occurrence.stage {
                Stage::Running(branch) => self.memory.turns.runs.contains_key(branch),
                Stage::Asked(message) => self.is_open(*message),
                Stage::Again(_) | Stage::Queued | Stage::Ended(_) => true,
            };
            if !there {
                self.failed(occurrence, "it was cut off, and nobody knows how far it got", minutes);
            }
        }
    }

    /// Returns true if `message` is queued or being answered.
    fn is_open(&self, message: MessageId) -> bool {
        let waits = self.memory.messages.waiting.iter().any(|waiting| waiting.id == message);
        waits || self.running.values().any(|running| running.answers() == Some(message))
    }
}

pub(super) fn is_reminder(occurrence: &Occurrence) -> bool {
    matches!(occurrence.key.source, Source::Reminder(_))
}

/// Returns true for failures that a retry would only repeat.
fn is_final(failure: &Failure) -> bool {
    matches!(failure, Failure::Stopped(_) | Failure::SpendLimit(_))
}

/// Returns the mode of a run of `planned`, or `None` for a job on main.
fn kind(planned: &Planned) -> Option<Kind> {
    match planned.charter() {
        Charter::Main(_) => None,
        Charter::Fork(_) => Some(Kind::Forked),
        Charter::Alone(_) => Some(Kind::Isolated),
        Charter::Persistent(_) => Some(Kind::Persistent),
    }
}

/// Returns whether `planned` may schedule a follow-up check.
pub(super) fn follow(planned: &Planned) -> Follow {
    match &planned.what {
        What::Reminder(reminder) if reminder.chain.max > 0 => {
            Follow::Check { depth: reminder.chain.depth, max: reminder.chain.max }
        }
        What::Reminder(_) | What::Routine(_) => Follow::Alone,
    }
}
