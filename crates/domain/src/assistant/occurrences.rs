//! Occurrences of jobs: starting them when they are due, and ending each in exactly one way.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::job_skills::with_skill_tools;
use super::main_reminders::{REWORDING_TIME, verbatim_text_with_delay};
use super::schedule::{file_removal, is_for_main};
use super::{Assistant, MAX_RUNS, Transaction, TurnEnding, TurnRef, Update};
use crate::context::skills::LoadedSkills;
use crate::context::{self, JobPrompt, Preamble, PromptTarget};
use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::failure::Failure;
use crate::label::{Label, Realm};
use crate::occurrence::{
    MAX_TRIES, Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState, VERBATIM_NOTE,
    VERBATIM_OVER_LIMIT_NOTE, retry_delay,
};
use crate::place::{BackgroundPlace, ChainPosition};
use crate::record::{MessageId, PlanChange};
use crate::run::{Job, Run, RunMode};
use crate::schedule::{
    JobSpec, JobTarget, Lateness, OverlapPolicy, PlannedJob, Prompt, RunOptions, UpcomingFire,
    advertised_tools, allowed_tools,
};

impl Assistant {
    /// P2, A7: starts the occurrence unless the job is still running; then it is skipped or queued
    /// once.
    pub(super) fn start_or_queue(
        &mut self,
        planned: &Arc<PlannedJob>,
        occurrence: Occurrence,
        tx: &mut Transaction,
    ) {
        let plans = &self.state.plans;
        let source = &occurrence.key.source;
        let overlap = planned.firing_policy().overlap;
        match (plans.busy_with(source), plans.queued(source), overlap) {
            (None, _, _) => self.start_attempt(planned, occurrence, tx),
            (Some(_), None, OverlapPolicy::Queue) => self.set_stage(occurrence, OccurrenceState::Queued, tx),
            (Some(_), Some(_), _) | (Some(_), None, OverlapPolicy::Skip) => {
                let why = "the one before it was still being done".to_owned();
                self.finish_occurrence(occurrence, OccurrenceEnd::Skipped(why), tx);
            }
        }
    }

    /// Makes one attempt, after loading the job's skills if it names any.
    pub(super) fn start_attempt(
        &mut self,
        planned: &Arc<PlannedJob>,
        occurrence: Occurrence,
        tx: &mut Transaction,
    ) {
        match self.skills_to_load(planned, tx) {
            Some(skills) => self.load_skills(occurrence, skills, tx),
            None => self.start_attempt_with_skills(planned, occurrence, &LoadedSkills::default(), tx),
        }
    }

    /// Makes one attempt with the loaded skills. If no run is free or a previous check is still
    /// open, it is retried later.
    pub(super) fn start_attempt_with_skills(
        &mut self,
        planned: &Arc<PlannedJob>,
        occurrence: Occurrence,
        loaded: &LoadedSkills,
        tx: &mut Transaction,
    ) {
        // Reminders on main wait in its queue, and may be grouped.
        if !is_for_main(planned) && self.budget_refusal(tx).is_some() {
            return self.skip_unaffordable(occurrence, tx);
        }
        let no_free_run = planned.target().options().is_some() && self.state.turns.runs.len() >= MAX_RUNS;
        if no_free_run || self.waits_for_previous_check(planned) {
            let again = tx.at + retry_delay(1, self.rng.next_u64());
            return self.set_stage(occurrence, OccurrenceState::Retrying(again), tx);
        }
        let occurrence = Occurrence { tries: occurrence.tries + 1, ..occurrence };
        let prompt = self.job_prompt(planned, &occurrence, loaded, tx);
        let Some((terms, kind)) = planned.target().options().zip(run_kind(planned)) else {
            let label = loaded.label.join(self.label_of_text(&occurrence.key.source));
            return self.queue_on_main(occurrence, (prompt, label), tx);
        };
        let ahead = self.upcoming_label(planned, &occurrence, kind, tx);
        let mode = match kind {
            RunMode::Forked => BackgroundPlace::Forked(follow_up_of(planned)),
            RunMode::Isolated => BackgroundPlace::Isolated(follow_up_of(planned)),
            RunMode::Persistent => BackgroundPlace::Persistent,
        };
        let terms = RunOptions {
            tools: with_skill_tools(allowed_tools(terms, kind), &loaded.tools),
            ..terms.clone()
        };
        let source = occurrence.key.source.clone();
        let name = occurrence.name.clone();
        let prompt_label = self.label_of_text(&source);
        let job = Job { source, name, place: mode, terms, prompt: Prompt::new(&prompt) };
        // The preamble names upcoming tasks of the user.
        let label = loaded.label.join(Label::private(Realm::Tasks)).join(prompt_label).join(ahead);
        let branch = self.start_run(job, label, Some(occurrence.key.due), tx);
        self.set_stage(occurrence, OccurrenceState::Running(branch), tx);
    }

    /// Returns the label of the texts of other jobs in the preamble.
    fn upcoming_label(
        &self,
        planned: &PlannedJob,
        occurrence: &Occurrence,
        kind: RunMode,
        tx: &Transaction,
    ) -> Label {
        let now = tx.at.to_zoned(tx.zone.clone());
        let around = (&occurrence.key.source, occurrence.key.due);
        let ahead = self.upcoming_jobs(around, (kind == RunMode::Isolated).then_some(planned), &now);
        let visible = ahead.iter().filter(|fire| !fire.file.is_empty());
        let sources = visible
            .flat_map(|fire| [CostSource::Routine(fire.id.clone()), CostSource::Reminder(fire.id.clone())]);
        sources.fold(Label::PLAIN, |label, source| label.join(self.label_of_text(&source)))
    }

    /// SC-14, SC-21 to SC-25: returns the prompt of the job with its preamble.
    fn job_prompt(
        &self,
        planned: &PlannedJob,
        occurrence: &Occurrence,
        loaded: &LoadedSkills,
        tx: &Transaction,
    ) -> String {
        let now = tx.at.to_zoned(tx.zone.clone());
        let due = occurrence.key.due.to_zoned(tx.zone.clone());
        let late = match occurrence.lateness {
            Lateness::Late => context::late_note(&due, &now),
            Lateness::OnTime => String::new(),
        };
        let preamble = self.job_preamble(planned, occurrence, loaded, &now);
        let at = match planned.target().options() {
            None => PromptTarget::Main,
            Some(terms) => {
                PromptTarget::Background { preamble: &preamble, reporting: terms.report_policy.reporting }
            }
        };
        let id = planned.id().as_str();
        let body = planned.prompt().as_str();
        let scheduled = JobPrompt { id, target: at, late: &late, skills: &loaded.section, body };
        match &planned.spec {
            JobSpec::Routine(_) => scheduled.routine_prompt(),
            JobSpec::Reminder(reminder) => scheduled.reminder_prompt(&reminder.chain),
        }
    }

    /// PR-1: returns the preamble for a run of `planned`; empty for a job on main.
    fn job_preamble(
        &self,
        planned: &PlannedJob,
        occurrence: &Occurrence,
        loaded: &LoadedSkills,
        now: &Zoned,
    ) -> String {
        let Some((terms, kind)) = planned.target().options().zip(run_kind(planned)) else {
            return String::new();
        };
        let around = (&occurrence.key.source, occurrence.key.due);
        let preamble = Preamble {
            session: kind,
            report_policy: terms.report_policy,
            busy: self.user_activity(),
            limits: self.ping_limits(now),
            tainted: self.context_label(&occurrence.key.source, kind, loaded.label).is_tainted(),
            upcoming: self.upcoming_jobs(around, (kind == RunMode::Isolated).then_some(planned), now),
            tools: advertised_tools(
                &with_skill_tools(allowed_tools(terms, kind), &loaded.tools),
                terms.report_policy,
            ),
        };
        preamble.render(now)
    }

    /// Returns the label of the context of a run before its own prompt: the conversation it forks
    /// from, the pending updates, and the `loaded` skills.
    fn context_label(&self, source: &CostSource, kind: RunMode, loaded: Label) -> Label {
        let beneath = match kind {
            RunMode::Forked => {
                let main = self.settled_main_position().map_or(Label::PLAIN, |spot| spot.label);
                self.state.updates.waiting.iter().map(|report| report.label).fold(main, Label::join)
            }
            RunMode::Persistent => self.session_head(source).map_or(Label::PLAIN, |stand| stand.label),
            RunMode::Isolated => Label::PLAIN,
        };
        loaded.join(beneath)
    }

    /// Returns the upcoming background jobs for the preamble. A run without the main conversation
    /// (`alone`, and every webhook run) gets only the times of other jobs.
    pub(super) fn upcoming_jobs(
        &self,
        (source, due): (&CostSource, Timestamp),
        alone: Option<&PlannedJob>,
        now: &Zoned,
    ) -> Vec<UpcomingFire> {
        let upcoming = self.state.plans.agenda.forward_schedule(source, due, now.timestamp());
        let is_webhook = matches!(source, CostSource::Webhook(_));
        let is_hidden =
            |fire: &UpcomingFire| is_webhook || alone.is_some_and(|planned| planned.file != fire.file);
        upcoming.into_iter().map(|fire| if is_hidden(&fire) { fire.redacted() } else { fire }).collect()
    }

    /// SC-15, MC-18, MC-20: queues the prompt for main.
    fn queue_on_main(&mut self, occurrence: Occurrence, prompt: (String, Label), tx: &mut Transaction) {
        let message = self.own_labelled_message(Branch::Main, prompt, tx);
        let id = message.id;
        self.state.messages.waiting.push_back(message);
        self.set_stage(occurrence, OccurrenceState::SentToMain(id), tx);
    }

    /// Delivers waiting reminders verbatim, because the model is not available.
    pub(super) fn deliver_waiting_verbatim(&mut self, tx: &mut Transaction) {
        for occurrence in self.withdraw_waiting(is_reminder, tx) {
            self.deliver_verbatim(occurrence, VERBATIM_NOTE, tx);
        }
    }

    /// Removes queued prompts from main's queue, and returns their occurrences.
    pub(super) fn withdraw_waiting(
        &mut self,
        filter: fn(&Occurrence) -> bool,
        tx: &mut Transaction,
    ) -> Vec<Occurrence> {
        let waiting = self.state.messages.waiting.iter();
        let asked =
            waiting.filter_map(|message| Some((message.id, self.state.plans.asked_with(message.id)?)));
        let asked: Vec<(MessageId, Occurrence)> =
            asked.filter(|(_, asked)| filter(asked)).map(|(id, asked)| (id, asked.clone())).collect();
        asked.into_iter().filter_map(|(id, asked)| self.withdraw_message(id, tx).then_some(asked)).collect()
    }

    /// Sets and records the stage of an open occurrence.
    pub(super) fn set_stage(&mut self, occurrence: Occurrence, stage: OccurrenceState, tx: &mut Transaction) {
        let occurrence = Occurrence { state: stage, since: tx.at, ..occurrence };
        self.state.plans.open.insert_mut(occurrence.key.clone(), occurrence.clone());
        tx.record_plan(Some(PlanChange::Occurrence(occurrence)));
    }

    /// P1: ends the occurrence. The file of a reminder is removed only now.
    pub(super) fn finish_occurrence(
        &mut self,
        occurrence: Occurrence,
        end: OccurrenceEnd,
        tx: &mut Transaction,
    ) {
        let key = occurrence.key.clone();
        self.state.plans.open.remove_mut(&key);
        self.forget_delivery(&key, tx);
        let planned = self.plan_of(&occurrence);
        if let OccurrenceEnd::Done(_) = &end {
            self.state.plans.failing.remove(&key.source);
            let fired = planned.as_ref().map(|planned| (planned.spec.clone(), tx.at));
            self.state.plans.last_finished = fired.or(self.state.plans.last_finished.take());
            if let Some(planned) = &planned {
                self.note_routine_fired(&planned.spec, key.due, tx);
            }
        }
        let file = planned.map(|planned| planned.file.clone()).unwrap_or_default();
        let ended = Occurrence { state: OccurrenceState::Ended(end), since: tx.at, ..occurrence };
        // A cancelled occurrence may be rescheduled: its file stays or has been removed already.
        let taken_away = file_removal(&ended, file)
            .filter(|_| !matches!(ended.state, OccurrenceState::Ended(OccurrenceEnd::Cancelled(_))));
        tx.record_plan(Some(PlanChange::Occurrence(ended.clone())));
        tx.record_plan(taken_away);
        self.fire_end_cues(&ended, tx);
        // A skipped occurrence can end while another one is still running.
        let plans = &self.state.plans;
        let queued = plans.queued(&key.source).filter(|_| plans.busy_with(&key.source).is_none()).cloned();
        if let Some((planned, queued)) = queued.and_then(|queued| Some((self.plan_of(&queued)?, queued))) {
            self.start_attempt(&planned, queued, tx);
        }
    }

    /// Handles the end of a scheduled run: ends the occurrence, or this attempt.
    pub(super) fn on_scheduled_run_ended(
        &mut self,
        run: &Run,
        due: Timestamp,
        ending: &TurnEnding,
        tx: &mut Transaction,
    ) {
        let key = OccurrenceKey { source: run.source.clone(), due };
        let goes_on = OccurrenceState::Running(run.branch.clone());
        let open = self.state.plans.open.get(&key).filter(|occurrence| occurrence.state == goes_on);
        let Some(occurrence) = open.cloned() else { return };
        match ending {
            TurnEnding::Finished => {
                self.finish_occurrence(occurrence, OccurrenceEnd::Done(String::new()), tx)
            }
            TurnEnding::Interrupted => self.retry_or_fail(occurrence, "it was stopped", tx),
            TurnEnding::Failed(_) if ending.is_at_limit() => self.stop_unaffordable(occurrence, tx),
            TurnEnding::Failed(failure) if is_final(failure) => {
                self.fail_occurrence(occurrence, &failure.job_text(), tx);
            }
            TurnEnding::Failed(failure) => self.retry_or_fail(occurrence, &failure.job_text(), tx),
        }
    }

    /// Handles the end of a turn on main that answered a job. Returns the ending to show to the
    /// user.
    pub(super) fn settle_answer(
        &mut self,
        message: MessageId,
        ending: TurnEnding,
        tx: &mut Transaction,
    ) -> TurnEnding {
        let Some(occurrence) = self.state.plans.asked_with(message).cloned() else { return ending };
        match (&occurrence.key.source, &ending) {
            (_, TurnEnding::Finished) => {
                self.on_reworded(&occurrence, tx);
                self.finish_occurrence(occurrence, OccurrenceEnd::Done(String::new()), tx);
                ending
            }
            // A reminder needs no model: it is delivered verbatim.
            (CostSource::Reminder(_), TurnEnding::Interrupted | TurnEnding::Failed(_)) => {
                let note = if ending.is_at_limit() { VERBATIM_OVER_LIMIT_NOTE } else { VERBATIM_NOTE };
                if occurrence.shown_verbatim {
                    // A partial answer does not replace the reminder, but is posted.
                    self.outbox.on_not_replaced(&Branch::Main, self.has_task(&occurrence));
                    self.end_shown(occurrence, note, tx);
                } else {
                    self.deliver_verbatim(occurrence, note, tx)
                }
                TurnEnding::Finished
            }
            (_, TurnEnding::Failed(_)) if ending.is_at_limit() => {
                self.stop_unaffordable(occurrence, tx);
                ending
            }
            (_, TurnEnding::Failed(failure)) if is_final(failure) => {
                self.fail_occurrence(occurrence, &failure.job_text(), tx);
                ending
            }
            (_, TurnEnding::Interrupted) => {
                self.finish_occurrence(
                    occurrence,
                    OccurrenceEnd::Done("you stopped the answer".to_owned()),
                    tx,
                );
                ending
            }
            (_, TurnEnding::Failed(failure)) => {
                let why = failure.job_text();
                self.retry_or_fail(occurrence, &why, tx);
                ending
            }
        }
    }

    /// Handles the removal of a queued prompt with its conversation: a reminder is retried in the
    /// next one.
    pub(super) fn on_message_dropped(&mut self, message: MessageId, tx: &mut Transaction) {
        let Some(occurrence) = self.state.plans.asked_with(message).cloned() else { return };
        if is_reminder(&occurrence) {
            self.set_stage(occurrence, OccurrenceState::Retrying(tx.at), tx)
        } else {
            self.finish_occurrence(occurrence, OccurrenceEnd::Cancelled("you started over".to_owned()), tx)
        }
    }

    /// A8: retries later, up to three attempts in all.
    pub(super) fn retry_or_fail(&mut self, occurrence: Occurrence, why: &str, tx: &mut Transaction) {
        // Its text was shown, so there is nothing to retry.
        if occurrence.shown_verbatim {
            return self.end_unread(occurrence, VERBATIM_NOTE, tx);
        }
        if occurrence.tries < MAX_TRIES {
            let again = tx.at + retry_delay(occurrence.tries, self.rng.next_u64());
            return self.set_stage(occurrence, OccurrenceState::Retrying(again), tx);
        }
        self.fail_occurrence(occurrence, why, tx);
    }

    /// A8: gives up on the occurrence and notifies the user; a reminder is shown verbatim.
    pub(super) fn fail_occurrence(&mut self, occurrence: Occurrence, why: &str, tx: &mut Transaction) {
        let name = occurrence.name.clone();
        if is_reminder(&occurrence) && !occurrence.shown_verbatim {
            self.say_verbatim(&occurrence, tx);
            self.create_card(&occurrence, tx);
        }
        let known = self.state.plans.failing.insert(occurrence.key.source.clone(), why.to_owned());
        if known.as_deref() != Some(why) {
            tx.updates.push(Update::Notice(format!("{name} could not be finished: {why}")));
        }
        self.finish_occurrence(occurrence, OccurrenceEnd::Failed(why.to_owned()), tx);
    }

    /// Ends a reminder without the model, for the reason `note`. Its text is shown unless it was.
    pub(super) fn deliver_verbatim(&mut self, occurrence: Occurrence, note: &str, tx: &mut Transaction) {
        if occurrence.shown_verbatim {
            return self.end_unread(occurrence, note, tx);
        }
        self.say_verbatim(&occurrence, tx);
        self.create_card(&occurrence, tx);
        self.finish_occurrence(occurrence, OccurrenceEnd::Done(note.to_owned()), tx);
    }

    /// Returns true if `turn_ref` answers a reminder that can be delivered verbatim without the
    /// model.
    pub(super) fn is_deliverable_verbatim(&self, turn_ref: &TurnRef) -> bool {
        self.state.plans.asked_with(turn_ref.message.id).is_some_and(is_reminder)
    }

    /// Sets the deadline of a turn for a reminder on main: one minute after it was due if only
    /// wording is needed, else one minute from now.
    pub(super) fn set_reminder_deadline(&mut self, message: MessageId, tx: &Transaction) {
        let Some(occurrence) = self.state.plans.asked_with(message).filter(|asked| is_reminder(asked)) else {
            return;
        };
        let until = if self.is_text_only(occurrence) {
            self.rewording_deadline(occurrence, tx.at)
        } else {
            tx.at + REWORDING_TIME
        };
        self.transient.deadlines.insert(Branch::Main, until);
    }

    /// Says the text of a reminder on main as written.
    fn say_verbatim(&mut self, occurrence: &Occurrence, tx: &mut Transaction) {
        let label = self.label_of_text(&occurrence.key.source);
        self.say_labelled_on_main(&verbatim_text_with_delay(occurrence, tx), label, tx);
    }

    /// After a start: retries occurrences whose run or message was lost.
    pub(super) fn retry_lost_occurrences(&mut self, tx: &mut Transaction) {
        let open: Vec<Occurrence> = self.state.plans.open.values().cloned().collect();
        for occurrence in open {
            if self.is_lost_delivery(&occurrence.key) {
                let why = "what was brought cannot be read any more".to_owned();
                self.finish_occurrence(occurrence, OccurrenceEnd::Failed(why), tx);
                continue;
            }
            let there = match &occurrence.state {
                OccurrenceState::Running(branch) => self.state.turns.runs.contains_key(branch),
                OccurrenceState::SentToMain(message) => self.is_message_open(*message),
                OccurrenceState::Retrying(_) | OccurrenceState::Queued | OccurrenceState::Ended(_) => true,
            };
            if !there {
                self.retry_or_fail(occurrence, "it was cut off, and nobody knows how far it got", tx);
            }
        }
    }

    /// Returns true if `message` is queued or being answered.
    fn is_message_open(&self, message: MessageId) -> bool {
        let waits = self.state.messages.waiting.iter().any(|waiting| waiting.id == message);
        waits || self.active_turns.values().any(|running| running.answers() == Some(message))
    }
}

pub(super) fn is_reminder(occurrence: &Occurrence) -> bool {
    matches!(occurrence.key.source, CostSource::Reminder(_))
}

/// Returns true for failures that a retry would only repeat.
fn is_final(failure: &Failure) -> bool {
    matches!(failure, Failure::Stopped(_) | Failure::SpendLimit(_))
}

/// Returns the mode of a run of `planned`, or `None` for a job on main.
fn run_kind(planned: &PlannedJob) -> Option<RunMode> {
    match planned.target() {
        JobTarget::Main(_) => None,
        JobTarget::Fork(_) => Some(RunMode::Forked),
        JobTarget::Isolated(_) => Some(RunMode::Isolated),
        JobTarget::Persistent(_) => Some(RunMode::Persistent),
    }
}

/// Returns whether `planned` may schedule a follow-up check.
pub(super) fn follow_up_of(planned: &PlannedJob) -> ChainPosition {
    match &planned.spec {
        JobSpec::Reminder(reminder) if reminder.chain.max > 0 => {
            ChainPosition::Check { depth: reminder.chain.depth, max: reminder.chain.max }
        }
        JobSpec::Reminder(_) | JobSpec::Routine(_) => ChainPosition::NotInChain,
    }
}
