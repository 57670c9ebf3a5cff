//! The schedule: plans from job files, and the times that are due.
//!
//! A due time is recorded in the transaction that starts its job. Late jobs start one after another
//! after a downtime, and times that are too late are reported once.

use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use super::missing::Passed;
use super::{Answer, Assistant, Broken, Effect, Flaw, Look, Minutes, Planning, Shown, Tends};
use crate::cost::Source;
use crate::occurrence::{End, Key, Occurrence, Stage};
use crate::record::{FileWork, MessageChange, MessageId, PlanChange, Record, Removal};
use crate::schedule::{Charter, Due, FileNews, ItemId, Lateness, Planned, SET_BACK, What, once};

/// Most late jobs that run at a time.
const LATE_AT_ONCE: usize = 2;
/// Least time between the starts of two late jobs.
const LATE_APART: SignedDuration = SignedDuration::from_secs(5);

impl Assistant {
    /// Handles changed job files. After the first scan, plans without a file are removed.
    pub(super) fn files_changed(&mut self, news: Vec<FileNews>, look: Look, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        self.wants.knows_files = true;
        for news in news {
            self.file_changed(news, &mut minutes);
        }
        // The first scan covers all files. A plan still missing then may be in a broken file that
        // is repaired later.
        let known = self.memory.plans.known.keys();
        let gone: Vec<Source> = known.filter(|source| !self.may_be_broken(source)).cloned().collect();
        let first = look == Look::First;
        let any = !gone.is_empty();
        for source in gone {
            self.not_planned(&source, &mut minutes);
        }
        if first && any {
            self.tell_all_stranded(&mut minutes);
        }
        if first && self.wants.tends == Tends::Everything {
            self.settle_leftovers(&mut minutes);
        }
        self.tend_plans(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }

    fn file_changed(&mut self, news: FileNews, minutes: &mut Minutes) {
        match news {
            FileNews::Plans(planned) => self.planned(planned, minutes),
            FileNews::Gone(source) => self.not_planned(&source, minutes),
            FileNews::Broken { file, source, why, told_before } => {
                let told = format!("{file} can't be used: {why}");
                let new = self.memory.plans.flawed(file, Broken { flaw: Flaw::Unreadable(source), why });
                minutes.shown.extend((new && !told_before).then_some(Shown::Notice(told)));
            }
            FileNews::Held { file, why, told_before } => {
                let told = format!("{file} {why}");
                let new = self.memory.plans.flawed(file, Broken { flaw: Flaw::Asking, why });
                minutes.shown.extend((new && !told_before).then_some(Shown::Notice(told)));
            }
            FileNews::Mended(file) => drop(self.memory.plans.broken.remove(&file)),
        }
    }

    /// RP-29: returns true if an unreadable file may be that of `source`: it names it, or no plan
    /// at all.
    fn may_be_broken(&self, source: &Source) -> bool {
        let folder = match source {
            Source::Routine(_) => "routines",
            Source::Reminder(_) => "reminders",
            Source::Main
            | Source::Fork
            | Source::Compaction
            | Source::Webhook(_)
            | Source::Agent(_)
            | Source::Reader
            | Source::Search => return false,
        };
        // The folder itself may be unreadable.
        let mut broken =
            self.memory.plans.broken.iter().filter(|(file, _)| file.split('/').next() == Some(folder));
        broken.any(|(_, broken)| match &broken.flaw {
            Flaw::Unreadable(whose) => whose.as_ref().is_none_or(|whose| whose == source),
            Flaw::Asking => false,
        })
    }

    /// SC-3: adds or replaces a plan; a run in progress is not affected.
    pub(super) fn planned(&mut self, planned: Arc<Planned>, minutes: &mut Minutes) {
        self.note_origin(&planned, minutes);
        let source = planned.source();
        let plans = &mut self.memory.plans;
        let before = plans.agenda.get(&source).map(|plan| plan.planned.name());
        let before = before.filter(|before| *before != planned.name());
        let known = plans.known.get(&source).cloned();
        plans.known.remove_mut(&source);
        let fresh = plans.agenda.plan(planned, known, minutes.at, &minutes.zone);
        if fresh.is_some() {
            self.call_off(&source, "its time was changed", minutes);
        }
        minutes.plan(fresh.map(|accounted| PlanChange::Accounted(source, accounted)));
        if let Some(before) = before {
            self.tell_stranded(&before, minutes);
        }
    }

    /// A6: cancels the occurrences of `source` that have not started.
    fn call_off(&mut self, source: &Source, why: &str, minutes: &mut Minutes) {
        let plans = &self.memory.plans;
        let open = [plans.busy_with(source), plans.queued(source)].into_iter().flatten().cloned();
        for occurrence in open.collect::<Vec<_>>() {
            let begun = match &occurrence.stage {
                Stage::Again(_) | Stage::Queued => false,
                Stage::Asked(message) => !self.take_back(*message, minutes),
                Stage::Running(_) | Stage::Ended(_) => true,
            };
            if !begun {
                if occurrence.shown {
                    self.withdraw_card(source, minutes);
                }
                self.settle(occurrence, End::Cancelled(why.to_owned()), minutes);
            }
        }
    }

    /// Removes a queued message of the assistant. Returns false if it was not queued.
    pub(super) fn take_back(&mut self, message: MessageId, minutes: &mut Minutes) -> bool {
        let waiting = &mut self.memory.messages.waiting;
        let Some(at) = waiting.iter().position(|waiting| waiting.id == message) else { return false };
        waiting.remove(at);
        minutes.records.push(Record::Message(MessageChange::Dropped(message)));
        true
    }

    /// SC-4, RP-28: removes a plan; a run in progress is not stopped.
    pub(super) fn not_planned(&mut self, source: &Source, minutes: &mut Minutes) {
        let plans = &mut self.memory.plans;
        let name = plans.agenda.get(source).map(|plan| plan.planned.name());
        plans.known.remove_mut(source);
        plans.agenda.forget(source);
        minutes.plan(Some(PlanChange::Forgotten(source.clone())));
        if let Source::Routine(id) = source {
            let had = ItemId::parse(id).ok().filter(|id| plans.sessions.remove(id).is_some());
            minutes.plan(had.map(|id| PlanChange::Session(id, None)));
        }
        plans.failing.remove(source);
        self.call_off(source, "its file is gone", minutes);
        if let Some(name) = name {
            self.tell_stranded(&name, minutes);
        }
    }

    /// Handles a schedule command.
    pub(super) fn plan(&mut self, planning: Planning, now: &Zoned) -> (Answer, Vec<Effect>) {
        match planning {
            Planning::Do(job) => self.run(job, now),
            Planning::Now(source) => self.fire_now(&source, now),
            Planning::Rest(source, rest) => self.let_rest(&source, rest, now),
            // Without a model, text without a time has to be stored here.
            Planning::Words(words) if self.choices.is_offline() => self.capture(&words, now),
            Planning::Words(words) => self.plan_words(&words, now),
            Planning::Capture(words) => self.capture(&words, now),
            Planning::Remind(what, when) => self.plan_apart(what, &when, now),
            Planning::Deliver(delivery) => self.deliver(*delivery, now),
        }
    }

    /// Returns the next due time, retry, or start of a late job.
    pub(super) fn plans_wake(&self) -> Option<jiff::Timestamp> {
        let plans = &self.memory.plans;
        let late = plans.agenda.late().filter(|_| self.has_room_for_late());
        let late = late.map(|_| plans.caught_up.map_or(jiff::Timestamp::MIN, |last| last + LATE_APART));
        let deliveries = self.memory.messages.deliveries.until;
        [plans.agenda.wakes(), plans.tries_again(), late, deliveries].into_iter().flatten().min()
    }

    /// Starts everything that is due: new times, retries, deliveries, and late jobs in order.
    pub(super) fn tend_plans(&mut self, minutes: &mut Minutes) {
        if self.wants.tends == Tends::Nothing {
            return;
        }
        self.mind_the_clock(minutes);
        let mut missed = Vec::new();
        while let Some(due) = self.memory.plans.agenda.due(minutes.at, &minutes.zone) {
            self.came(due, &mut missed, minutes);
        }
        self.try_failed(minutes);
        self.begin_queued(minutes);
        self.tend_deliveries(minutes);
        self.catch_up(&mut missed, minutes);
        self.tell_missed(&missed, minutes);
    }

    /// C4: reschedules all plans from now on if the clock was set back far.
    fn mind_the_clock(&mut self, minutes: &mut Minutes) {
        let latest = self.memory.plans.looked.max(Some(minutes.at)).unwrap_or(minutes.at);
        if latest.duration_since(minutes.at) <= SET_BACK {
            self.memory.plans.looked = Some(latest);
            return;
        }
        self.memory.plans.looked = Some(minutes.at);
        let plans = &self.memory.plans;
        let planned: Vec<_> = plans.agenda.plans().map(|(_, plan)| Arc::clone(&plan.planned)).collect();
        let again = |occurrence: &&Occurrence| matches!(occurrence.stage, Stage::Again(_));
        let failed: Vec<Occurrence> = plans.open.values().filter(again).cloned().collect();
        for planned in planned {
            self.planned(planned, minutes);
        }
        for occurrence in failed {
            self.stands(occurrence, Stage::Again(minutes.at), minutes);
        }
    }

    /// Handles a due time: starts it, postpones a late one, or records it as missed.
    fn came(&mut self, due: Due, missed: &mut Vec<Passed>, minutes: &mut Minutes) {
        match due.kept {
            // Late reminders are shown at once, together.
            Some((at, Lateness::Late)) if is_for_main(&due.planned) => {
                self.pass(&due, missed, minutes);
                self.keep_time(&due.planned, at, Lateness::Late, minutes);
            }
            // It is handled in its turn, including all times missed until then.
            Some((_, Lateness::Late)) => self.memory.plans.agenda.hold(&due.planned.source()),
            Some((at, Lateness::OnTime)) => {
                self.pass(&due, missed, minutes);
                self.keep_time(&due.planned, at, Lateness::OnTime, minutes);
            }
            None => self.pass(&due, missed, minutes),
        }
    }

    /// A4: starts late jobs in the order of their due times, a few at a time.
    fn catch_up(&mut self, missed: &mut Vec<Passed>, minutes: &mut Minutes) {
        while self.has_room_for_late() {
            let plans = &self.memory.plans;
            let soon = plans.caught_up.is_some_and(|last| {
                // The last start may lie slightly ahead because of its jitter; one far ahead is
                // from before the clock was set back.
                minutes.at.duration_since(last).abs() < LATE_APART
            });
            let Some(source) = plans.agenda.late().filter(|_| !soon).cloned() else { return };
            let Some(due) = plans.agenda.due_of(&source, minutes.at, &minutes.zone) else {
                // Its due time was reset with the clock.
                self.memory.plans.agenda.account(&source, jiff::Timestamp::MIN, &minutes.zone);
                continue;
            };
            self.pass(&due, missed, minutes);
            if let Some((at, lateness)) = due.kept {
                let spread =
                    SignedDuration::from_millis(i64::try_from(self.dice.roll() % 2_000).unwrap_or(0));
                self.memory.plans.caught_up = Some(minutes.at + spread);
                self.keep_time(&due.planned, at, lateness, minutes);
            }
        }
    }

    /// Returns true if another late job may start. Blocked turns do not count.
    fn has_room_for_late(&self) -> bool {
        self.memory.plans.late() < LATE_AT_ONCE || self.waits_for_key()
    }

    /// Records times that are too late, and collects them for the notice.
    fn pass(&mut self, due: &Due, missed: &mut Vec<Passed>, minutes: &mut Minutes) {
        let Some(passed) = &due.missed else { return };
        let source = due.planned.source();
        self.accounted(&source, passed.last, minutes);
        let end = End::Missed { last: passed.last, count: passed.count, why: passed.why.clone() };
        let occurrence = claim(&due.planned, passed.first, Lateness::Late, minutes);
        self.settle(occurrence, end, minutes);
        if due.kept.is_none() {
            missed.push(Passed { source, name: due.planned.name(), times: passed.clone() });
            self.keep_words(&due.planned, minutes);
        }
    }

    /// Stores the text of a missed reminder in the inbox.
    fn keep_words(&mut self, planned: &Planned, minutes: &mut Minutes) {
        if let What::Reminder(reminder) = &planned.what {
            self.put_in_inbox(reminder.message.as_str(), minutes);
        }
    }

    /// Fires a plan: starts or queues its occurrence.
    pub(super) fn keep_time(
        &mut self,
        planned: &Arc<Planned>,
        at: jiff::Timestamp,
        lateness: Lateness,
        minutes: &mut Minutes,
    ) {
        self.accounted(&planned.source(), at, minutes);
        self.memory.plans.agenda.fired(&planned.source(), minutes.at);
        let occurrence = claim(planned, at, lateness, minutes);
        self.begin_or_wait(planned, occurrence, minutes);
    }

    /// Records all routine times during a pause as handled.
    pub(super) fn rested(&mut self, minutes: &mut Minutes) {
        let agenda = &self.memory.plans.agenda;
        if !agenda.rest().holds(minutes.at) {
            return;
        }
        let routines = agenda.plans().filter(|(source, _)| matches!(source, Source::Routine(_)));
        let routines: Vec<Source> = routines.map(|(source, _)| source.clone()).collect();
        for source in routines {
            self.accounted(&source, minutes.at, minutes);
        }
    }

    /// Advances and records the watermark of `source` to `until`.
    pub(super) fn accounted(&mut self, source: &Source, until: jiff::Timestamp, minutes: &mut Minutes) {
        let accounted = self.memory.plans.agenda.account(source, until, &minutes.zone);
        minutes.plan(accounted.map(|accounted| PlanChange::Accounted(source.clone(), accounted)));
    }

    /// Retries failed occurrences, once their files are read.
    fn try_failed(&mut self, minutes: &mut Minutes) {
        let plans = &self.memory.plans;
        let due = |occurrence: &&Occurrence| {
            matches!(occurrence.stage, Stage::Again(at) if at <= minutes.at) && !plans.is_unread(occurrence)
        };
        let due: Vec<Occurrence> = plans.open.values().filter(due).filter(is_planned).cloned().collect();
        for occurrence in due {
            match self.plan_of(&occurrence) {
                Some(planned) => self.try_once(&planned, occurrence, minutes),
                None => self.settle(occurrence, End::Cancelled("its file is gone".to_owned()), minutes),
            }
        }
    }

    /// Starts queued occurrences whose predecessor has ended.
    fn begin_queued(&mut self, minutes: &mut Minutes) {
        let plans = &self.memory.plans;
        let free = |occurrence: &&Occurrence| {
            occurrence.stage == Stage::Queued && plans.busy_with(&occurrence.key.source).is_none()
        };
        let queued: Vec<Occurrence> = plans.open.values().filter(free).filter(is_planned).cloned().collect();
        for occurrence in queued {
            if let Some(planned) = self.plan_of(&occurrence) {
                self.try_once(&planned, occurrence, minutes);
            }
        }
    }

    /// Returns the plan of `occurrence`.
    pub(super) fn plan_of(&self, occurrence: &Occurrence) -> Option<Arc<Planned>> {
        let plan = self.memory.plans.agenda.get(&occurrence.key.source);
        plan.map(|plan| Arc::clone(&plan.planned))
    }
}

/// Returns true for an occurrence of a plan, not of a webhook.
fn is_planned(occurrence: &&Occurrence) -> bool {
    !matches!(occurrence.key.source, Source::Webhook(_))
}

/// Returns true for a reminder on main.
pub(super) fn is_for_main(planned: &Planned) -> bool {
    matches!(planned.what, What::Reminder(_)) && matches!(planned.charter(), Charter::Main(_))
}

/// Returns a new occurrence of `planned` that was due `at`.
pub(super) fn claim(
    planned: &Planned,
    at: jiff::Timestamp,
    lateness: Lateness,
    minutes: &Minutes,
) -> Occurrence {
    Occurrence {
        key: Key { source: planned.source(), due: at },
        name: planned.name(),
        words: planned.message().as_str().to_owned(),
        lateness,
        tries: 0,
        stage: Stage::Queued,
        since: minutes.at,
        shown: false,
    }
}

/// Returns the removal of the `file` of a reminder that has ended.
pub(super) fn taken_away(ended: &Occurrence, file: String) -> Option<PlanChange> {
    let Occurrence { key, words, .. } = ended;
    match &key.source {
        Source::Reminder(_) => {
            let was = format!("{}\n{words}", once(key.due));
            Some(PlanChange::File(FileWork::Remove(Removal { source: key.source.clone(), file, was })))
        }
        Source::Main
        | Source::Fork
        | Source::Compaction
        | Source::Routine(_)
        | Source::Webhook(_)
        | Source::Agent(_)
        | Source::Reader
        | Source::Search => None,
    }
}

impl Minutes {
    /// Adds the record of a schedule change.
    pub(super) fn plan(&mut self, change: Option<PlanChange>) {
        self.records.extend(change.map(Record::Plan));
    }
}
