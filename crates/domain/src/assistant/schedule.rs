//! The schedule: plans from job files, and the times that are due.
//!
//! A due time is recorded in the transaction that starts its job. Late jobs start one after another
//! after a downtime, and times that are too late are reported once.

use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use super::missed::MissedPlan;
use super::{
    Answer, Assistant, BrokenFile, Effect, FileProblem, FileScan, OperatingMode, ScheduleCommand,
    Transaction, Update,
};
use crate::cost::CostSource;
use crate::occurrence::{Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState};
use crate::record::{JobFileEdit, JobFileRemoval, MessageChange, MessageId, PlanChange, Record};
use crate::schedule::{
    Due, ItemId, JobFileChange, JobSpec, JobTarget, Lateness, MAX_CLOCK_SETBACK, PlannedJob, one_time_rule,
};

/// Most late jobs that run at a time.
const MAX_LATE: usize = 2;
/// Least time between the starts of two late jobs.
const LATE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

impl Assistant {
    /// Handles changed job files. After the first scan, plans without a file are removed.
    pub(super) fn on_files_changed(
        &mut self,
        news: Vec<JobFileChange>,
        scan: FileScan,
        now: &Zoned,
    ) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        self.transient.job_files_loaded = true;
        for news in news {
            self.on_file_changed(news, &mut tx);
        }
        // The first scan covers all files. A plan still missing then may be in a broken file that
        // is repaired later.
        let known = self.state.plans.known_watermarks.keys();
        let gone: Vec<CostSource> =
            known.filter(|source| !self.may_be_in_broken_file(source)).cloned().collect();
        let first = scan == FileScan::First;
        let any = !gone.is_empty();
        for source in gone {
            self.remove_plan(&source, &mut tx);
        }
        if first && any {
            self.notify_all_stranded(&mut tx);
        }
        if first && self.transient.mode == OperatingMode::Autonomous {
            self.retry_lost_occurrences(&mut tx);
        }
        self.tick_schedule(&mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }

    fn on_file_changed(&mut self, news: JobFileChange, tx: &mut Transaction) {
        match news {
            JobFileChange::Planned(planned) => self.add_plan(planned, tx),
            JobFileChange::Removed(source) => self.remove_plan(&source, tx),
            JobFileChange::Invalid { file, source, reason: why, reported_before: told_before } => {
                let text = format!("{file} can't be used: {why}");
                let new = self
                    .state
                    .plans
                    .set_broken(file, BrokenFile { problem: FileProblem::Unreadable(source), why });
                tx.updates.extend((new && !told_before).then_some(Update::Notice(text)));
            }
            JobFileChange::Withheld { file, reason: why, reported_before: told_before } => {
                let text = format!("{file} {why}");
                let new =
                    self.state.plans.set_broken(file, BrokenFile { problem: FileProblem::NotAccepted, why });
                tx.updates.extend((new && !told_before).then_some(Update::Notice(text)));
            }
            JobFileChange::Repaired(file) => drop(self.state.plans.broken.remove(&file)),
        }
    }

    /// RP-29: returns true if an unreadable file may be that of `source`: it names it, or no plan
    /// at all.
    fn may_be_in_broken_file(&self, source: &CostSource) -> bool {
        let folder = match source {
            CostSource::Routine(_) => "routines",
            CostSource::Reminder(_) => "reminders",
            CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Webhook(_)
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => return false,
        };
        // The folder itself may be unreadable.
        let mut broken =
            self.state.plans.broken.iter().filter(|(file, _)| file.split('/').next() == Some(folder));
        broken.any(|(_, broken)| match &broken.problem {
            FileProblem::Unreadable(whose) => whose.as_ref().is_none_or(|whose| whose == source),
            FileProblem::NotAccepted => false,
        })
    }

    /// SC-3: adds or replaces a plan; a run in progress is not affected.
    pub(super) fn add_plan(&mut self, planned: Arc<PlannedJob>, tx: &mut Transaction) {
        self.label_new_plan(&planned, tx);
        let source = planned.source();
        let plans = &mut self.state.plans;
        let before = plans.agenda.get(&source).map(|plan| plan.job.display_name());
        let before = before.filter(|before| *before != planned.display_name());
        let watermark = plans.known_watermarks.get(&source).cloned();
        plans.known_watermarks.remove_mut(&source);
        let new_watermark = plans.agenda.plan(planned, watermark, tx.at, &tx.zone);
        if new_watermark.is_some() {
            self.cancel_unstarted(&source, "its time was changed", tx);
        }
        tx.record_plan(new_watermark.map(|accounted| PlanChange::Watermark(source, accounted)));
        if let Some(before) = before {
            self.notify_stranded(&before, tx);
        }
    }

    /// A6: cancels the occurrences of `source` that have not started.
    fn cancel_unstarted(&mut self, source: &CostSource, why: &str, tx: &mut Transaction) {
        let plans = &self.state.plans;
        let open = [plans.busy_with(source), plans.queued(source)].into_iter().flatten().cloned();
        for occurrence in open.collect::<Vec<_>>() {
            let begun = match &occurrence.state {
                OccurrenceState::Retrying(_) | OccurrenceState::Queued => false,
                OccurrenceState::SentToMain(message) => !self.withdraw_message(*message, tx),
                OccurrenceState::Running(_) | OccurrenceState::Ended(_) => true,
            };
            if !begun {
                if occurrence.shown_verbatim {
                    self.withdraw_card(source, tx);
                }
                self.finish_occurrence(occurrence, OccurrenceEnd::Cancelled(why.to_owned()), tx);
            }
        }
    }

    /// Removes a queued message of the assistant. Returns false if it was not queued.
    pub(super) fn withdraw_message(&mut self, message: MessageId, tx: &mut Transaction) -> bool {
        let waiting = &mut self.state.messages.waiting;
        let Some(at) = waiting.iter().position(|waiting| waiting.id == message) else { return false };
        waiting.remove(at);
        tx.records.push(Record::Message(MessageChange::Dropped(message)));
        true
    }

    /// SC-4, RP-28: removes a plan; a run in progress is not stopped.
    pub(super) fn remove_plan(&mut self, source: &CostSource, tx: &mut Transaction) {
        let plans = &mut self.state.plans;
        let name = plans.agenda.get(source).map(|plan| plan.job.display_name());
        plans.known_watermarks.remove_mut(source);
        plans.agenda.remove(source);
        tx.record_plan(Some(PlanChange::Forgotten(source.clone())));
        if let CostSource::Routine(id) = source {
            let had = ItemId::parse(id).ok().filter(|id| plans.sessions.remove(id).is_some());
            tx.record_plan(had.map(|id| PlanChange::SessionHead(id, None)));
        }
        plans.failing.remove(source);
        self.cancel_unstarted(source, "its file is gone", tx);
        if let Some(name) = name {
            self.notify_stranded(&name, tx);
        }
    }

    /// Handles a schedule command.
    pub(super) fn handle_schedule(&mut self, command: ScheduleCommand, now: &Zoned) -> (Answer, Vec<Effect>) {
        match command {
            ScheduleCommand::RunJob(job) => self.start_job(job, now),
            ScheduleCommand::FireNow(source) => self.fire_now(&source, now),
            ScheduleCommand::Pause(source, rest) => self.pause_plan(&source, rest, now),
            // Without a model, text without a time has to be stored here.
            ScheduleCommand::PlanText(words) if self.choices.is_offline() => self.capture(&words, now),
            ScheduleCommand::PlanText(words) => self.plan_text(&words, now),
            ScheduleCommand::Capture(words) => self.capture(&words, now),
            ScheduleCommand::Remind(what, when) => self.create_reminder(what, &when, now),
            ScheduleCommand::DeliverWebhook(delivery) => self.receive_delivery(*delivery, now),
        }
    }

    /// Returns the next due time, retry, or start of a late job.
    pub(super) fn next_schedule_wake(&self) -> Option<jiff::Timestamp> {
        let plans = &self.state.plans;
        let late = plans.agenda.late().filter(|_| self.may_start_late());
        let late = late.map(|_| plans.caught_up.map_or(jiff::Timestamp::MIN, |last| last + LATE_INTERVAL));
        let deliveries = self.state.messages.deliveries.paused_until;
        [plans.agenda.next_wake(), plans.next_retry(), late, deliveries].into_iter().flatten().min()
    }

    /// Starts everything that is due: new times, retries, deliveries, and late jobs in order.
    pub(super) fn tick_schedule(&mut self, tx: &mut Transaction) {
        if self.transient.mode == OperatingMode::OnRequestOnly {
            return;
        }
        self.on_clock_set_back(tx);
        let mut missed = Vec::new();
        while let Some(due) = self.state.plans.agenda.next_due(tx.at, &tx.zone) {
            self.on_due(due, &mut missed, tx);
        }
        self.retry_failed(tx);
        self.start_queued(tx);
        self.start_deliveries(tx);
        self.catch_up(&mut missed, tx);
        self.notify_missed(&missed, tx);
    }

    /// C4: reschedules all plans from now on if the clock was set back far.
    fn on_clock_set_back(&mut self, tx: &mut Transaction) {
        let latest = self.state.plans.latest_time.max(Some(tx.at)).unwrap_or(tx.at);
        if latest.duration_since(tx.at) <= MAX_CLOCK_SETBACK {
            self.state.plans.latest_time = Some(latest);
            return;
        }
        self.state.plans.latest_time = Some(tx.at);
        let plans = &self.state.plans;
        let planned: Vec<_> = plans.agenda.plans().map(|(_, plan)| Arc::clone(&plan.job)).collect();
        let again = |occurrence: &&Occurrence| matches!(occurrence.state, OccurrenceState::Retrying(_));
        let failed: Vec<Occurrence> = plans.open.values().filter(again).cloned().collect();
        for planned in planned {
            self.add_plan(planned, tx);
        }
        for occurrence in failed {
            self.set_stage(occurrence, OccurrenceState::Retrying(tx.at), tx);
        }
    }

    /// Handles a due time: starts it, postpones a late one, or records it as missed.
    fn on_due(&mut self, due: Due, missed: &mut Vec<MissedPlan>, tx: &mut Transaction) {
        match due.fire {
            // Late reminders are shown at once, together.
            Some((at, Lateness::Late)) if is_for_main(&due.job) => {
                self.record_missed(&due, missed, tx);
                self.fire(&due.job, at, Lateness::Late, tx);
            }
            // It is handled in its turn, including all times missed until then.
            Some((_, Lateness::Late)) => self.state.plans.agenda.mark_late(&due.job.source()),
            Some((at, Lateness::OnTime)) => {
                self.record_missed(&due, missed, tx);
                self.fire(&due.job, at, Lateness::OnTime, tx);
            }
            None => self.record_missed(&due, missed, tx),
        }
    }

    /// A4: starts late jobs in the order of their due times, a few at a time.
    fn catch_up(&mut self, missed: &mut Vec<MissedPlan>, tx: &mut Transaction) {
        while self.may_start_late() {
            let plans = &self.state.plans;
            let soon = plans.caught_up.is_some_and(|last| {
                // The last start may lie slightly ahead because of its jitter; one far ahead is
                // from before the clock was set back.
                tx.at.duration_since(last).abs() < LATE_INTERVAL
            });
            let Some(source) = plans.agenda.late().filter(|_| !soon).cloned() else { return };
            let Some(due) = plans.agenda.due_for(&source, tx.at, &tx.zone) else {
                // Its due time was reset with the clock.
                self.state.plans.agenda.advance_watermark(&source, jiff::Timestamp::MIN, &tx.zone);
                continue;
            };
            self.record_missed(&due, missed, tx);
            if let Some((at, lateness)) = due.fire {
                let spread =
                    SignedDuration::from_millis(i64::try_from(self.rng.next_u64() % 2_000).unwrap_or(0));
                self.state.plans.caught_up = Some(tx.at + spread);
                self.fire(&due.job, at, lateness, tx);
            }
        }
    }

    /// Returns true if another late job may start. Blocked turns do not count.
    fn may_start_late(&self) -> bool {
        self.state.plans.late_count() < MAX_LATE || self.is_blocked()
    }

    /// Records times that are too late, and collects them for the notice.
    fn record_missed(&mut self, due: &Due, missed: &mut Vec<MissedPlan>, tx: &mut Transaction) {
        let Some(passed) = &due.missed else { return };
        let source = due.job.source();
        self.advance_watermark(&source, passed.last, tx);
        let end =
            OccurrenceEnd::Missed { last: passed.last, count: passed.count, reason: passed.why.clone() };
        let occurrence = new_occurrence(&due.job, passed.first, Lateness::Late, tx);
        self.finish_occurrence(occurrence, end, tx);
        if due.fire.is_none() {
            missed.push(MissedPlan { source, name: due.job.display_name(), times: passed.clone() });
            self.keep_in_inbox(&due.job, tx);
        }
    }

    /// Stores the text of a missed reminder in the inbox.
    fn keep_in_inbox(&mut self, planned: &PlannedJob, tx: &mut Transaction) {
        if let JobSpec::Reminder(reminder) = &planned.spec {
            self.add_to_inbox(reminder.prompt.as_str(), tx);
        }
    }

    /// Fires a plan: starts or queues its occurrence.
    pub(super) fn fire(
        &mut self,
        planned: &Arc<PlannedJob>,
        at: jiff::Timestamp,
        lateness: Lateness,
        tx: &mut Transaction,
    ) {
        self.advance_watermark(&planned.source(), at, tx);
        self.state.plans.agenda.fired(&planned.source(), tx.at);
        let occurrence = new_occurrence(planned, at, lateness, tx);
        self.start_or_queue(planned, occurrence, tx);
    }

    /// Records all routine times during a pause as handled.
    pub(super) fn skip_paused_times(&mut self, tx: &mut Transaction) {
        let agenda = &self.state.plans.agenda;
        if !agenda.pause().covers(tx.at) {
            return;
        }
        let routines = agenda.plans().filter(|(source, _)| matches!(source, CostSource::Routine(_)));
        let routines: Vec<CostSource> = routines.map(|(source, _)| source.clone()).collect();
        for source in routines {
            self.advance_watermark(&source, tx.at, tx);
        }
    }

    /// Advances and records the watermark of `source` to `until`.
    pub(super) fn advance_watermark(
        &mut self,
        source: &CostSource,
        until: jiff::Timestamp,
        tx: &mut Transaction,
    ) {
        let watermark = self.state.plans.agenda.advance_watermark(source, until, &tx.zone);
        tx.record_plan(watermark.map(|watermark| PlanChange::Watermark(source.clone(), watermark)));
    }

    /// Retries failed occurrences, once their files are read.
    fn retry_failed(&mut self, tx: &mut Transaction) {
        let plans = &self.state.plans;
        let due = |occurrence: &&Occurrence| {
            matches!(occurrence.state, OccurrenceState::Retrying(at) if at <= tx.at)
                && !plans.is_unread(occurrence)
        };
        let due: Vec<Occurrence> = plans.open.values().filter(due).filter(is_planned).cloned().collect();
        for occurrence in due {
            match self.plan_of(&occurrence) {
                Some(planned) => self.start_attempt(&planned, occurrence, tx),
                None => self.finish_occurrence(
                    occurrence,
                    OccurrenceEnd::Cancelled("its file is gone".to_owned()),
                    tx,
                ),
            }
        }
    }

    /// Starts queued occurrences whose predecessor has ended.
    fn start_queued(&mut self, tx: &mut Transaction) {
        let plans = &self.state.plans;
        let free = |occurrence: &&Occurrence| {
            occurrence.state == OccurrenceState::Queued && plans.busy_with(&occurrence.key.source).is_none()
        };
        let queued: Vec<Occurrence> = plans.open.values().filter(free).filter(is_planned).cloned().collect();
        for occurrence in queued {
            if let Some(planned) = self.plan_of(&occurrence) {
                self.start_attempt(&planned, occurrence, tx);
            }
        }
    }

    /// Returns the plan of `occurrence`.
    pub(super) fn plan_of(&self, occurrence: &Occurrence) -> Option<Arc<PlannedJob>> {
        let plan = self.state.plans.agenda.get(&occurrence.key.source);
        plan.map(|plan| Arc::clone(&plan.job))
    }
}

/// Returns true for an occurrence of a plan, not of a webhook.
fn is_planned(occurrence: &&Occurrence) -> bool {
    !matches!(occurrence.key.source, CostSource::Webhook(_))
}

/// Returns true for a reminder on main.
pub(super) fn is_for_main(planned: &PlannedJob) -> bool {
    matches!(planned.spec, JobSpec::Reminder(_)) && matches!(planned.target(), JobTarget::Main(_))
}

/// Returns a new occurrence of `planned` that was due `at`.
pub(super) fn new_occurrence(
    planned: &PlannedJob,
    at: jiff::Timestamp,
    lateness: Lateness,
    tx: &Transaction,
) -> Occurrence {
    Occurrence {
        key: OccurrenceKey { source: planned.source(), due: at },
        name: planned.display_name(),
        prompt: planned.prompt().as_str().to_owned(),
        lateness,
        tries: 0,
        state: OccurrenceState::Queued,
        since: tx.at,
        shown_verbatim: false,
    }
}

/// Returns the removal of the `file` of a reminder that has ended.
pub(super) fn file_removal(ended: &Occurrence, file: String) -> Option<PlanChange> {
    let Occurrence { key, prompt: words, .. } = ended;
    match &key.source {
        CostSource::Reminder(_) => {
            let was = format!("{}\n{words}", one_time_rule(key.due));
            Some(PlanChange::JobFile(JobFileEdit::Remove(JobFileRemoval {
                source: key.source.clone(),
                file,
                old_content: was,
            })))
        }
        CostSource::Main
        | CostSource::Fork
        | CostSource::Compaction
        | CostSource::Routine(_)
        | CostSource::Webhook(_)
        | CostSource::Agent(_)
        | CostSource::Reader
        | CostSource::Search => None,
    }
}

impl Transaction {
    /// Adds the record of a schedule change.
    pub(super) fn record_plan(&mut self, change: Option<PlanChange>) {
        self.records.extend(change.map(Record::Plan));
    }
}
