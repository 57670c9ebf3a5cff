//! The agenda: what is planned, and what is due next.
//!
//! Of every plan it knows up to when all its times are accounted for. What is due follows from that and from the
//! clock alone, so a time that passed while nobody looked is found like any other. Copies share what did not change.

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

/// How late a time may be kept and still count as kept.
const ON_TIME: SignedDuration = SignedDuration::from_secs(60);
/// How far a clock may be set back without a plan being made anew: until it has caught up, nothing is due twice.
pub const SET_BACK: SignedDuration = SignedDuration::from_hours(25);
/// The most plans that are looked through for what comes next.
const NEAREST: usize = 100;
/// The most plans that were kept just now and are looked through.
const RECENT: usize = 20;
/// The most missed times of one plan that are counted one by one.
pub const COUNTED: u32 = 1_000;

/// What is planned, and what is due next.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    plans: RedBlackTreeMapSync<Source, Plan>,
    /// The next time of every plan.
    next: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// What was kept in the last minutes.
    fired: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// What is late and waits until it is its turn.
    late: RedBlackTreeSetSync<(Timestamp, Source)>,
    /// What waits for something else than the clock.
    cued: RedBlackTreeSetSync<Source>,
    /// Whether all routines rest.
    rest: Rest,
}

/// Something planned, and how far its times are accounted for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is.
    pub planned: Arc<Planned>,
    /// Up to when, and by which rule.
    pub accounted: Accounted,
    /// Its next time.
    pub next: Option<Timestamp>,
}

/// Up to when all times of a plan are accounted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounted {
    /// The rule that its times follow; by another rule nothing is accounted for.
    pub rule: String,
    /// The last time that is.
    pub until: Timestamp,
}

/// What is due of one plan.
#[derive(Clone, Debug)]
pub struct Due {
    /// The plan.
    pub planned: Arc<Planned>,
    /// The times that passed and are not kept any more.
    pub missed: Option<Missed>,
    /// The time that is kept now, or as soon as it is its turn.
    pub kept: Option<(Timestamp, Lateness)>,
}

/// Times that passed and are not kept any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// How many; [`COUNTED`] or more, if it is that.
    pub count: u32,
    /// Why.
    pub why: String,
}

/// Whether a time is kept when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lateness {
    /// It is.
    OnTime,
    /// It passed while nobody could keep it.
    Late,
}

impl Agenda {
    /// Plans `planned` from now on. What was `known` of it before counts if it follows the same rule. Gives what is
    /// accounted for now, if that is new.
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

    /// Nothing is planned under `source` any more.
    pub fn forget(&mut self, source: &Source) -> Option<Plan> {
        let plan = self.plans.get(source).cloned()?;
        self.leave(&plan, source);
        self.plans.remove_mut(source);
        Some(plan)
    }

    /// All times of `source` up to `until` are accounted for.
    pub fn account(&mut self, source: &Source, until: Timestamp, zone: &TimeZone) -> Option<Accounted> {
        let plan = self.plans.get(source).cloned()?;
        self.leave(&plan, source);
        let accounted = Accounted { until: until.max(plan.accounted.until), ..plan.accounted };
        let next = self.next_of(&plan.planned, accounted.until, zone);
        self.stand(source.clone(), Plan { planned: plan.planned, accounted: accounted.clone(), next });
        Some(accounted)
    }

    /// The plan whose time came first, and what is due of it: nothing, if no time has come.
    pub fn due(&self, now: Timestamp, zone: &TimeZone) -> Option<Due> {
        let (_, source) = self.next.first().filter(|(next, _)| *next <= now)?;
        self.due_of(source, now, zone)
    }

    /// What is late and has waited longest.
    pub fn late(&self) -> Option<&Source> {
        self.late.first().map(|(_, source)| source)
    }

    /// What is due of `source`: nothing, if its time has not come.
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
            // However long it rested, it is the one that was due then.
            What::Reminder(reminder) => (kept_as(reminder.run_at.at), kept_as(reminder.run_at.at)),
        };
        let missed = self.missed(plan, first, newest, lateness.is_some(), zone);
        let kept = lateness.map(|lateness| (newest, lateness));
        Some(Due { planned: Arc::clone(&plan.planned), missed, kept })
    }

    /// What is due of `source` waits until it is its turn.
    pub fn hold(&mut self, source: &Source) {
        let Some(next) = self.plans.get(source).and_then(|plan| plan.next) else { return };
        self.next.remove_mut(&(next, source.clone()));
        self.late.insert_mut((next, source.clone()));
    }

    /// A time of `source` is kept now.
    pub fn fired(&mut self, source: &Source, now: Timestamp) {
        while let Some(old) = self.fired.first().filter(|(at, _)| now.duration_since(*at) > GRACE).cloned() {
            self.fired.remove_mut(&old);
        }
        self.fired.insert_mut((now, source.clone()));
    }

    /// FS-3: what runs in the background around `now`, for the run of `running`, which was due at `due`.
    pub fn around(&self, running: &Source, due: Timestamp, now: Timestamp) -> Vec<Upcoming> {
        let far = now.checked_add(FAR).unwrap_or(Timestamp::MAX);
        let soon = self.next.iter().take_while(|(at, _)| *at <= far).take(NEAREST).map(|(_, source)| source);
        let recent: BTreeMap<&Source, Timestamp> =
            self.fired.iter().rev().take(RECENT).map(|(at, source)| (source, *at)).collect();
        let sources: BTreeSet<&Source> = soon.chain(recent.keys().copied()).chain([running]).collect();
        let candidate = |source: &Source| {
            let plan = self.plans.get(source)?;
            let (recent, role) = match source == running {
                // A run that was begun by hand can be due a little later, or long after now.
                true => (Some(due.max(now - GRACE).min(now)), Role::Running),
                false => (recent.get(source).copied(), Role::Other),
            };
            let aside = plan.planned.charter().standing() == Standing::Background;
            aside.then(|| Candidate { planned: &plan.planned, recent, next: plan.next, role })
        };
        forward(sources.into_iter().filter_map(candidate), now)
    }

    /// When the next time comes.
    pub fn wakes(&self) -> Option<Timestamp> {
        self.next.first().map(|(next, _)| *next)
    }

    /// The plan under `source`.
    pub fn get(&self, source: &Source) -> Option<&Plan> {
        self.plans.get(source)
    }

    /// Everything planned.
    pub fn plans(&self) -> impl Iterator<Item = (&Source, &Plan)> {
        self.plans.iter()
    }

    /// What comes next, soonest first.
    pub fn soonest(&self) -> impl Iterator<Item = (Timestamp, &Plan)> {
        self.next.iter().filter_map(|(next, source)| Some((*next, self.plans.get(source)?)))
    }

    /// Whether all routines rest.
    pub fn rest(&self) -> Rest {
        self.rest
    }

    /// All routines rest, or not any more.
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

    /// What still waits for something else than the clock, and does not rest.
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

    /// The first time after `until` at which it does not rest.
    fn next_of(&self, planned: &Planned, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let rest = planned.manner().rest;
        match &planned.what {
            What::Routine(routine) => {
                let rested = rested(rest)?.max(rested(self.rest)?);
                // The moment at which a rest ends is free again.
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

    /// The times from `first` on that are not kept: all but the newest, or with it.
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

/// The earliest time that a rest leaves: nothing, if it leaves none.
pub(super) fn rested(rest: Rest) -> Option<Timestamp> {
    match rest {
        Rest::Never => Some(Timestamp::MIN),
        Rest::Until(moment) => Some(moment.at),
        Rest::ForNow => None,
    }
}

/// A routine has no past when it is first seen; a reminder may be overdue.
fn first_seen(planned: &Planned, now: Timestamp) -> Timestamp {
    match planned.what {
        What::Routine(_) => now,
        What::Reminder(_) => Timestamp::MIN,
    }
}

/// A clock that was set back a little catches up; one that was set back far was wrong before.
fn not_ahead(planned: &Planned, until: Timestamp, now: Timestamp) -> Timestamp {
    match planned.what {
        What::Routine(_) if until.duration_since(now) > SET_BACK => now,
        What::Routine(_) | What::Reminder(_) => until,
    }
}

/// The rule of what happens once.
pub fn once(at: Timestamp) -> String {
    kept_as(at).to_string()
}

/// A time as finely as the journal keeps it.
fn kept_as(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// What its times follow.
fn rule(planned: &Planned, zone: &TimeZone) -> String {
    match &planned.what {
        What::Routine(routine) => match routine.manner.rest {
            Rest::Never => routine.rhythm.rule(zone),
            // What passes while it rests is none of its times, also when it is called back early.
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
