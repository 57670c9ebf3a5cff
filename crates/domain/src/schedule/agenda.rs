//! The agenda: all planned jobs and their next times.
//!
//! Each [`Plan`] has a [`Watermark`]: all its times up to there were run or recorded as missed. Due
//! times follow from the watermark and the clock alone, so times that passed during downtime are
//! found too. Clones share unchanged parts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use super::cron::just_before;
use super::{
    CandidateRole, JobSpec, MAX_LOOKAHEAD, MissedPolicy, PauseState, Placement, PlannedJob, RECENT_WINDOW,
    Reminder, ScheduleCandidate, UpcomingFire, forward_schedule,
};
use crate::cost::CostSource;

/// The maximum delay that still counts as on time.
const ON_TIME_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);
/// The maximum distance of a watermark in the future. Within it a clock that was set back must
/// catch up, so nothing is due twice; beyond it the plan restarts at the current time.
pub const MAX_CLOCK_SETBACK: SignedDuration = SignedDuration::from_hours(25);
/// The maximum number of upcoming plans scanned for the forward schedule.
const MAX_UPCOMING_SCANNED: usize = 100;
/// The maximum number of recently fired plans scanned for the forward schedule.
const MAX_RECENT_SCANNED: usize = 20;
/// The maximum number of missed times of a plan that are counted exactly.
pub const MAX_COUNTED_MISSES: u32 = 1_000;

/// All planned jobs, indexed by next time.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    plans: RedBlackTreeMapSync<CostSource, Plan>,
    next: RedBlackTreeSetSync<(Timestamp, CostSource)>,
    /// The plans that fired within [`RECENT_WINDOW`].
    fired: RedBlackTreeSetSync<(Timestamp, CostSource)>,
    /// Plans that are late and wait for their turn.
    late: RedBlackTreeSetSync<(Timestamp, CostSource)>,
    /// Plans that wait for a cue.
    cued: RedBlackTreeSetSync<CostSource>,
    /// The pause of all routines.
    pause: PauseState,
}

/// A planned job and its watermark.
#[derive(Clone, Debug)]
pub struct Plan {
    pub job: Arc<PlannedJob>,
    pub watermark: Watermark,
    pub next: Option<Timestamp>,
}

/// The time up to which all times of a plan were run or recorded as missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// The time rule of the plan; a plan with another rule starts afresh.
    pub rule: String,
    pub until: Timestamp,
}

/// The due and missed times of a plan.
#[derive(Clone, Debug)]
pub struct Due {
    pub job: Arc<PlannedJob>,
    /// The times that passed and will not run.
    pub missed: Option<Missed>,
    /// The time that runs now, or as soon as it is its turn.
    pub fire: Option<(Timestamp, Lateness)>,
}

/// Times that passed and will not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub first: Timestamp,
    pub last: Timestamp,
    /// The number of times, capped at [`MAX_COUNTED_MISSES`].
    pub count: u32,
    /// The reason, for the user.
    pub why: String,
}

/// Whether a time runs on schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lateness {
    OnTime,
    /// The time passed while the job could not run.
    Late,
}

impl Agenda {
    /// Adds or replaces a plan. The existing or `known` watermark is used if it has the same rule.
    /// Returns the watermark if it is new and has to be written.
    pub fn plan(
        &mut self,
        planned: Arc<PlannedJob>,
        known: Option<Watermark>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Watermark> {
        let source = planned.source();
        let rule = rule(&planned, zone);
        let known = self.remove(&source).map(|plan| plan.watermark).or(known);
        let kept = known.filter(|known| known.rule == rule);
        let until = kept.as_ref().map_or(initial_watermark(&planned, now), |known| {
            correct_future_watermark(&planned, known.until, now)
        });
        let fresh = kept.is_none_or(|known| known.until != until);
        let accounted = Watermark { rule, until };
        let next = self.next_time(&planned, until, zone);
        self.insert(source, Plan { job: planned, watermark: accounted.clone(), next });
        fresh.then_some(accounted)
    }

    /// Removes the plan of `source`.
    pub fn remove(&mut self, source: &CostSource) -> Option<Plan> {
        let plan = self.plans.get(source).cloned()?;
        self.remove_from_indexes(&plan, source);
        self.plans.remove_mut(source);
        Some(plan)
    }

    /// Moves the watermark of `source` forward to `until`.
    pub fn advance_watermark(
        &mut self,
        source: &CostSource,
        until: Timestamp,
        zone: &TimeZone,
    ) -> Option<Watermark> {
        let plan = self.plans.get(source).cloned()?;
        self.remove_from_indexes(&plan, source);
        let accounted = Watermark { until: until.max(plan.watermark.until), ..plan.watermark };
        let next = self.next_time(&plan.job, accounted.until, zone);
        self.insert(source.clone(), Plan { job: plan.job, watermark: accounted.clone(), next });
        Some(accounted)
    }

    /// Returns the due work of the plan with the earliest time; `None` if no time has come.
    pub fn next_due(&self, now: Timestamp, zone: &TimeZone) -> Option<Due> {
        let (_, source) = self.next.first().filter(|(next, _)| *next <= now)?;
        self.due_for(source, now, zone)
    }

    /// The late plan that has waited longest.
    pub fn late(&self) -> Option<&CostSource> {
        self.late.first().map(|(_, source)| source)
    }

    /// Returns the due work of `source`; `None` if its time has not come.
    pub fn due_for(&self, source: &CostSource, now: Timestamp, zone: &TimeZone) -> Option<Due> {
        let plan = self.plans.get(source)?;
        let first = plan.next.filter(|next| *next <= now)?;
        let newest = self.newest_time(&plan.job, first, now, zone).unwrap_or(first);
        let late = now.duration_since(newest);
        let lateness = if late <= ON_TIME_TOLERANCE {
            Some(Lateness::OnTime)
        } else {
            missed_policy(&plan.job, newest, zone).allows(late).then_some(Lateness::Late)
        };
        let (first, newest) = match &plan.job.spec {
            JobSpec::Routine(_) => (first, newest),
            // A reminder keeps its original time, however long it was paused.
            JobSpec::Reminder(reminder) => {
                (to_stored_precision(reminder.run_at.at), to_stored_precision(reminder.run_at.at))
            }
        };
        let missed = self.missed(plan, first, newest, lateness.is_some(), zone);
        let kept = lateness.map(|lateness| (newest, lateness));
        Some(Due { job: Arc::clone(&plan.job), missed, fire: kept })
    }

    /// Moves the due time of `source` to the late queue.
    pub fn mark_late(&mut self, source: &CostSource) {
        let Some(next) = self.plans.get(source).and_then(|plan| plan.next) else { return };
        self.next.remove_mut(&(next, source.clone()));
        self.late.insert_mut((next, source.clone()));
    }

    /// Records that `source` fires now.
    pub fn fired(&mut self, source: &CostSource, now: Timestamp) {
        while let Some(old) =
            self.fired.first().filter(|(at, _)| now.duration_since(*at) > RECENT_WINDOW).cloned()
        {
            self.fired.remove_mut(&old);
        }
        self.fired.insert_mut((now, source.clone()));
    }

    /// FS-3: the forward schedule around `now` for the run of `running`, which was due at `due`.
    pub fn forward_schedule(
        &self,
        running: &CostSource,
        due: Timestamp,
        now: Timestamp,
    ) -> Vec<UpcomingFire> {
        let far = now.checked_add(MAX_LOOKAHEAD).unwrap_or(Timestamp::MAX);
        let soon = self
            .next
            .iter()
            .take_while(|(at, _)| *at <= far)
            .take(MAX_UPCOMING_SCANNED)
            .map(|(_, source)| source);
        let recent: BTreeMap<&CostSource, Timestamp> =
            self.fired.iter().rev().take(MAX_RECENT_SCANNED).map(|(at, source)| (source, *at)).collect();
        let sources: BTreeSet<&CostSource> = soon.chain(recent.keys().copied()).chain([running]).collect();
        let candidate = |source: &CostSource| {
            let plan = self.plans.get(source)?;
            let (recent, role) = match source == running {
                // A run started manually may be due slightly later, or long after `now`.
                true => (Some(due.max(now - RECENT_WINDOW).min(now)), CandidateRole::Running),
                false => (recent.get(source).copied(), CandidateRole::Other),
            };
            let aside = plan.job.target().placement() == Placement::Background;
            aside.then(|| ScheduleCandidate { job: &plan.job, recent, next: plan.next, role })
        };
        forward_schedule(sources.into_iter().filter_map(candidate), now)
    }

    /// The earliest next time of all plans.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.next.first().map(|(next, _)| *next)
    }

    pub fn get(&self, source: &CostSource) -> Option<&Plan> {
        self.plans.get(source)
    }

    pub fn plans(&self) -> impl Iterator<Item = (&CostSource, &Plan)> {
        self.plans.iter()
    }

    /// All plans with a next time, soonest first.
    pub fn upcoming(&self) -> impl Iterator<Item = (Timestamp, &Plan)> {
        self.next.iter().filter_map(|(next, source)| Some((*next, self.plans.get(source)?)))
    }

    pub fn pause(&self) -> PauseState {
        self.pause
    }

    /// Sets or ends the pause of all routines.
    pub fn set_pause(&mut self, rest: PauseState, zone: &TimeZone) {
        self.pause = rest;
        let sources: Vec<CostSource> = self.plans.keys().cloned().collect();
        for source in sources {
            let Some(plan) = self.plans.get(&source).cloned() else { continue };
            self.remove_from_indexes(&plan, &source);
            let next = self.next_time(&plan.job, plan.watermark.until, zone);
            self.insert(source, Plan { next, ..plan });
        }
    }

    /// The plans that still wait for a cue and are not paused.
    pub fn waiting_for_cue(&self, now: Timestamp) -> impl Iterator<Item = &Arc<PlannedJob>> {
        let plans = self.cued.iter().filter_map(|source| self.plans.get(source));
        let waits = move |plan: &&Plan| {
            let awake = pause_end(plan.job.firing_policy().pause).is_some_and(|end| end <= now);
            awake && plan.watermark.until == Timestamp::MIN
        };
        plans.filter(waits).map(|plan| &plan.job)
    }

    fn insert(&mut self, source: CostSource, plan: Plan) {
        if plan.job.cue().is_some() {
            self.cued.insert_mut(source.clone());
        }
        if let Some(next) = plan.next {
            self.next.insert_mut((next, source.clone()));
        }
        self.plans.insert_mut(source, plan);
    }

    fn remove_from_indexes(&mut self, plan: &Plan, source: &CostSource) {
        if let Some(next) = plan.next {
            self.next.remove_mut(&(next, source.clone()));
            self.late.remove_mut(&(next, source.clone()));
        }
        self.cued.remove_mut(source);
    }

    /// The first time after `until` that is not in a pause.
    fn next_time(&self, planned: &PlannedJob, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let rest = planned.firing_policy().pause;
        match &planned.spec {
            JobSpec::Routine(routine) => {
                let rested = pause_end(rest)?.max(pause_end(self.pause)?);
                // The end of a pause is exclusive: a time exactly at the end counts.
                routine.recurrence.next(until.max(just_before(rested)), zone)
            }
            JobSpec::Reminder(Reminder { cue: Some(_), .. }) => None,
            JobSpec::Reminder(reminder) => {
                let due = to_stored_precision(reminder.run_at.at);
                (due > until).then_some(due.max(to_stored_precision(pause_end(rest)?)))
            }
        }
    }

    /// The newest time from `first` to `now`.
    fn newest_time(
        &self,
        planned: &PlannedJob,
        first: Timestamp,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        match &planned.spec {
            JobSpec::Routine(routine) => routine.recurrence.last(now, first, zone),
            JobSpec::Reminder(_) => Some(first),
        }
    }

    /// The times from `first` on that will not run; excludes the newest if `kept`.
    fn missed(
        &self,
        plan: &Plan,
        first: Timestamp,
        newest: Timestamp,
        kept: bool,
        zone: &TimeZone,
    ) -> Option<Missed> {
        let until = if kept { just_before(newest) } else { newest };
        let mut count = 0;
        let mut last = first;
        let mut at = Some(first);
        while let Some(time) = at.filter(|time| *time <= until) {
            (count, last) = (count + 1, time);
            if count == MAX_COUNTED_MISSES {
                last = self.newest_time(&plan.job, first, until, zone).unwrap_or(time);
                break;
            }
            at = match &plan.job.spec {
                JobSpec::Routine(routine) => routine.recurrence.next(time, zone),
                JobSpec::Reminder(_) => None,
            };
        }
        let why = if kept { "a later time of it was kept instead" } else { "it was too late when i could" };
        (count > 0).then(|| Missed { first, last, count, why: why.to_owned() })
    }
}

/// The end of a pause: the minimum timestamp if not paused, `None` if indefinite.
pub(super) fn pause_end(rest: PauseState) -> Option<Timestamp> {
    match rest {
        PauseState::Active => Some(Timestamp::MIN),
        PauseState::Until(moment) => Some(moment.at),
        PauseState::Indefinite => None,
    }
}

/// The initial watermark: a new routine has no past, a new reminder may be overdue.
fn initial_watermark(planned: &PlannedJob, now: Timestamp) -> Timestamp {
    match planned.spec {
        JobSpec::Routine(_) => now,
        JobSpec::Reminder(_) => Timestamp::MIN,
    }
}

/// Corrects the watermark of a routine that is further in the future than [`MAX_CLOCK_SETBACK`].
fn correct_future_watermark(planned: &PlannedJob, until: Timestamp, now: Timestamp) -> Timestamp {
    match planned.spec {
        JobSpec::Routine(_) if until.duration_since(now) > MAX_CLOCK_SETBACK => now,
        JobSpec::Routine(_) | JobSpec::Reminder(_) => until,
    }
}

/// The rule of a plan that fires once.
pub fn one_time_rule(at: Timestamp) -> String {
    to_stored_precision(at).to_string()
}

/// Rounds to the microsecond precision of the journal.
fn to_stored_precision(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// The time rule of a plan.
fn rule(planned: &PlannedJob, zone: &TimeZone) -> String {
    match &planned.spec {
        JobSpec::Routine(routine) => match routine.firing_policy.pause {
            PauseState::Active => routine.recurrence.rule_text(zone),
            // The pause is part of the rule, so that times in it do not count as missed, even if it
            // ends early.
            PauseState::Indefinite => format!("{} at rest", routine.recurrence.rule_text(zone)),
            PauseState::Until(moment) => {
                format!("{} at rest until {moment}", routine.recurrence.rule_text(zone))
            }
        },
        JobSpec::Reminder(Reminder { cue: Some(cue), run_at, .. }) => format!("{cue} since {run_at}"),
        JobSpec::Reminder(reminder) => one_time_rule(reminder.run_at.at),
    }
}

fn missed_policy(planned: &PlannedJob, at: Timestamp, zone: &TimeZone) -> MissedPolicy {
    let usual = || match &planned.spec {
        JobSpec::Routine(routine) => {
            let period = routine.recurrence.period(at, zone);
            period.map_or(MissedPolicy::REMINDER_DEFAULT, MissedPolicy::routine_default)
        }
        JobSpec::Reminder(_) => MissedPolicy::REMINDER_DEFAULT,
    };
    planned.firing_policy().if_missed.unwrap_or_else(usual)
}
