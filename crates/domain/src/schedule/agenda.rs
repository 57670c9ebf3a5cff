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
    Candidate, FAR, GRACE, IfMissed, Planned, Reminder, Rest, Role, Standing, Upcoming, What, forward,
};
use crate::cost::Source;

/// The maximum delay that still counts as on time.
const ON_TIME: SignedDuration = SignedDuration::from_secs(60);
/// The maximum distance of a watermark in the future. Within it a clock that was set back must
/// catch up, so nothing is due twice; beyond it the plan restarts at the current time.
pub const SET_BACK: SignedDuration = SignedDuration::from_hours(25);
/// The maximum number of upcoming plans scanned for the forward schedule.
const NEAREST: usize = 100;
/// The maximum number of recently fired plans scanned for the forward schedule.
const RECENT: usize = 20;
/// The maximum number of missed times of a plan that are counted exactly.
pub const COUNTED: u32 = 1_000;

/// All planned jobs, indexed by next time.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    plans: RedBlackTreeMapSync<Source, Plan>,
    next: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// The plans that fired within [`RECENT_WINDOW`].
    fired: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// Plans that are late and wait for their turn.
    late: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// Plans that wait for a cue.
    cued: RedBlackTreeSetSync<Source>,
    /// The pause of all routines.
    rest: Rest,
}

/// A planned job and its watermark.
#[derive(Clone, Debug)]
pub struct Plan {
    pub planned: Arc<Planned>,
    pub accounted: Accounted,
    pub next: Option<Timestamp>,
}

/// The time up to which all times of a plan were run or recorded as missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounted {
    /// The time rule of the plan; a plan with another rule starts afresh.
    pub rule: String,
    pub until: Timestamp,
}

/// The due and missed times of a plan.
#[derive(Clone, Debug)]
pub struct Due {
    pub planned: Arc<Planned>,
    /// The times that passed and will not run.
    pub missed: Option<Missed>,
    /// The time that runs now, or as soon as it is its turn.
    pub kept: Option<(Timestamp, Lateness)>,
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
        planned: Arc<Planned>,
        known: Option<Accounted>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Accounted> {
        let source = planned.source();
        let rule = rule(&planned, zone);
        let known = self.forget(&source).map(|plan| plan.accounted).or(known);
        let kept = known.filter(|known| known.rule == rule);
        let until =
            kept.as_ref().map_or(first_seen(&planned, now), |known| not_ahead(&planned, known.until, now));
        let fresh = kept.is_none_or(|known| known.until != until);
        let accounted = Accounted { rule, until };
        let next = self.next_of(&planned, until, zone);
        self.stand(source, Plan { planned, accounted: accounted.clone(), next });
        fresh.then_some(accounted)
    }

    /// Removes the plan of `source`.
    pub fn forget(&mut self, source: &Source) -> Option<Plan> {
        let plan = self.plans.get(source).cloned()?;
        self.leave(&plan, source);
        self.plans.remove_mut(source);
        Some(plan)
    }

    /// Moves the watermark of `source` forward to `until`.
    pub fn account(&mut self, source: &Source, until: Timestamp, zone: &TimeZone) -> Option<Accounted> {
        let plan = self.plans.get(source).cloned()?;
        self.leave(&plan, source);
        let accounted = Accounted { until: until.max(plan.accounted.until), ..plan.accounted };
        let next = self.next_of(&plan.planned, accounted.until, zone);
        self.stand(source.clone(), Plan { planned: plan.planned, accounted: accounted.clone(), next });
        Some(accounted)
    }

    /// What is due for the plan with the earliest time; `None` if no time has come.
    pub fn due(&self, now: Timestamp, zone: &TimeZone) -> Option<Due> {
        let (_, source) = self.next.first().filter(|(next, _)| *next <= now)?;
        self.due_of(source, now, zone)
    }

    /// The late plan that has waited longest.
    pub fn late(&self) -> Option<&Source> {
        self.late.first().map(|(_, source)| source)
    }

    /// What is due for `source`; `None` if its time has not come.
    pub fn due_of(&self, source: &Source, now: Timestamp, zone: &TimeZone) -> Option<Due> {
        let plan = self.plans.get(source)?;
        let first = plan.next.filter(|next| *next <= now)?;
        let newest = self.newest(&plan.planned, first, now, zone).unwrap_or(first);
        let late = now.duration_since(newest);
        let lateness = if late <= ON_TIME {
            Some(Lateness::OnTime)
        } else {
            if_missed(&plan.planned, newest, zone).allows(late).then_some(Lateness::Late)
        };
        let (first, newest) = match &plan.planned.what {
            What::Routine(_) => (first, newest),
            // A reminder keeps its original time, however long it was paused.
            What::Reminder(reminder) => (kept_as(reminder.run_at.at), kept_as(reminder.run_at.at)),
        };
        let missed = self.missed(plan, first, newest, lateness.is_some(), zone);
        let kept = lateness.map(|lateness| (newest, lateness));
        Some(Due { planned: Arc::clone(&plan.planned), missed, kept })
    }

    /// Moves the due time of `source` to the late queue.
    pub fn hold(&mut self, source: &Source) {
        let Some(next) = self.plans.get(source).and_then(|plan| plan.next) else { return };
        self.next.remove_mut(&(next, source.clone()));
        self.late.insert_mut((next, source.clone()));
    }

    /// Records that `source` fires now.
    pub fn fired(&mut self, source: &Source, now: Timestamp) {
        while let Some(old) = self.fired.first().filter(|(at, _)| now.duration_since(*at) > GRACE).cloned() {
            self.fired.remove_mut(&old);
        }
        self.fired.insert_mut((now, source.clone()));
    }

    /// FS-3: the forward schedule around `now` for the run of `running`, which was due at `due`.
    pub fn around(&self, running: &Source, due: Timestamp, now: Timestamp) -> Vec<Upcoming> {
        let far = now.checked_add(FAR).unwrap_or(Timestamp::MAX);
        let soon = self.next.iter().take_while(|(at, _)| *at <= far).take(NEAREST).map(|(_, source)| source);
        let recent: BTreeMap<&Source, Timestamp> =
            self.fired.iter().rev().take(RECENT).map(|(at, source)| (source, *at)).collect();
        let sources: BTreeSet<&Source> = soon.chain(recent.keys().copied()).chain([running]).collect();
        let candidate = |source: &Source| {
            let plan = self.plans.get(source)?;
            let (recent, role) = match source == running {
                // A run started manually may be due slightly later, or long after `now`.
                true => (Some(due.max(now - GRACE).min(now)), Role::Running),
                false => (recent.get(source).copied(), Role::Other),
            };
            let aside = plan.planned.charter().standing() == Standing::Background;
            aside.then(|| Candidate { planned: &plan.planned, recent, next: plan.next, role })
        };
        forward(sources.into_iter().filter_map(candidate), now)
    }

    /// The earliest next time of all plans.
    pub fn wakes(&self) -> Option<Timestamp> {
        self.next.first().map(|(next, _)| *next)
    }

    pub fn get(&self, source: &Source) -> Option<&Plan> {
        self.plans.get(source)
    }

    pub fn plans(&self) -> impl Iterator<Item = (&Source, &Plan)> {
        self.plans.iter()
    }

    /// All plans with a next time, soonest first.
    pub fn soonest(&self) -> impl Iterator<Item = (Timestamp, &Plan)> {
        self.next.iter().filter_map(|(next, source)| Some((*next, self.plans.get(source)?)))
    }

    pub fn rest(&self) -> Rest {
        self.rest
    }

    /// Sets or ends the pause of all routines.
    pub fn set_rest(&mut self, rest: Rest, zone: &TimeZone) {
        self.rest = rest;
        let sources: Vec<Source> = self.plans.keys().cloned().collect();
        for source in sources {
            let Some(plan) = self.plans.get(&source).cloned() else { continue };
            self.leave(&plan, &source);
            let next = self.next_of(&plan.planned, plan.accounted.until, zone);
            self.stand(source, Plan { next, ..plan });
        }
    }

    /// The plans that still wait for a cue and are not paused.
    pub fn waiting(&self, now: Timestamp) -> impl Iterator<Item = &Arc<Planned>> {
        let plans = self.cued.iter().filter_map(|source| self.plans.get(source));
        let waits = move |plan: &&Plan| {
            let awake = rested(plan.planned.manner().rest).is_some_and(|end| end <= now);
            awake && plan.accounted.until == Timestamp::MIN
        };
        plans.filter(waits).map(|plan| &plan.planned)
    }

    fn stand(&mut self, source: Source, plan: Plan) {
        if plan.planned.cue().is_some() {
            self.cued.insert_mut(source.clone());
        }
        if let Some(next) = plan.next {
            self.next.insert_mut((next, source.clone()));
        }
        self.plans.insert_mut(source, plan);
    }

    fn leave(&mut self, plan: &Plan, source: &Source) {
        if let Some(next) = plan.next {
            self.next.remove_mut(&(next, source.clone()));
            self.late.remove_mut(&(next, source.clone()));
        }
        self.cued.remove_mut(source);
    }

    /// The first time after `until` that is not in a pause.
    fn next_of(&self, planned: &Planned, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let rest = planned.manner().rest;
        match &planned.what {
            What::Routine(routine) => {
                let rested = rested(rest)?.max(rested(self.rest)?);
                // The end of a pause is exclusive: a time exactly at the end counts.
                routine.rhythm.next(until.max(just_before(rested)), zone)
            }
            What::Reminder(Reminder { cue: Some(_), .. }) => None,
            What::Reminder(reminder) => {
                let due = kept_as(reminder.run_at.at);
                (due > until).then_some(due.max(kept_as(rested(rest)?)))
            }
        }
    }

    /// The newest time from `first` to `now`.
    fn newest(
        &self,
        planned: &Planned,
        first: Timestamp,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        match &planned.what {
            What::Routine(routine) => routine.rhythm.last(now, first, zone),
            What::Reminder(_) => Some(first),
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
            if count == COUNTED {
                last = self.newest(&plan.planned, first, until, zone).unwrap_or(time);
                break;
            }
            at = match &plan.planned.what {
                What::Routine(routine) => routine.rhythm.next(time, zone),
                What::Reminder(_) => None,
            };
        }
        let why = if kept { "a later time of it was kept instead" } else { "it was too late when i could" };
        (count > 0).then(|| Missed { first, last, count, why: why.to_owned() })
    }
}

/// The end of a pause: the minimum timestamp if not paused, `None` if indefinite.
pub(super) fn rested(rest: Rest) -> Option<Timestamp> {
    match rest {
        Rest::Never => Some(Timestamp::MIN),
        Rest::Until(moment) => Some(moment.at),
        Rest::ForNow => None,
    }
}

/// The initial watermark: a new routine has no past, a new reminder may be overdue.
fn first_seen(planned: &Planned, now: Timestamp) -> Timestamp {
    match planned.what {
        What::Routine(_) => now,
        What::Reminder(_) => Timestamp::MIN,
    }
}

/// Corrects the watermark of a routine that is further in the future than [`MAX_CLOCK_SETBACK`].
fn not_ahead(planned: &Planned, until: Timestamp, now: Timestamp) -> Timestamp {
    match planned.what {
        What::Routine(_) if until.duration_since(now) > SET_BACK => now,
        What::Routine(_) | What::Reminder(_) => until,
    }
}

/// The rule of a plan that fires once.
pub fn once(at: Timestamp) -> String {
    kept_as(at).to_string()
}

/// Rounds to the microsecond precision of the journal.
fn kept_as(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// The time rule of a plan.
fn rule(planned: &Planned, zone: &TimeZone) -> String {
    match &planned.what {
        What::Routine(routine) => match routine.manner.rest {
            Rest::Never => routine.rhythm.rule(zone),
            // The pause is part of the rule, so that times in it do not count as missed, even if it
            // ends early.
            Rest::ForNow => format!("{} at rest", routine.rhythm.rule(zone)),
            Rest::Until(moment) => format!("{} at rest until {moment}", routine.rhythm.rule(zone)),
        },
        What::Reminder(Reminder { cue: Some(cue), run_at, .. }) => format!("{cue} since {run_at}"),
        What::Reminder(reminder) => once(reminder.run_at.at),
    }
}

fn if_missed(planned: &Planned, at: Timestamp, zone: &TimeZone) -> IfMissed {
    let usual = || match &planned.what {
        What::Routine(routine) => {
            let period = routine.rhythm.period(at, zone);
            period.map_or(IfMissed::REMINDER, IfMissed::routine)
        }
        What::Reminder(_) => IfMissed::REMINDER,
    };
    planned.manner().if_missed.unwrap_or_else(usual)
}
