//! A thousand random simulations per test, each compared with a small reference model.

#![expect(clippy::unwrap_used, reason = "a missing value stops the test at once")]

use std::collections::BTreeSet;

use domain::assistant::{Answer, Request, ScheduleCommand, UserMessage};
use domain::cost::CostSource;
use domain::failure::{Failure, SpendLimit};
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use domain::record::SurfaceName;
use domain::rng::Rng;
use domain::schedule::{
    Cron, FiringPolicy, ItemId, JobSpec, JobTarget, MissedPolicy, Moment, OverlapPolicy, PlannedJob, Prompt,
    Recurrence, Reminder, Routine,
};
use domain::turn::TurnEnding;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::simulation::{START, Simulation, TurnScript, below, finish_after, unrestricted_terms};

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

/// The times of a routine as sets for the reference model; the assistant reads the cron expression.
struct Times {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
}

impl Times {
    fn random(dice: &mut Rng) -> Self {
        let some = |dice: &mut Rng, most: u64, of: i8| -> BTreeSet<i8> {
            let count = 1 + below(dice, most);
            (0..count).map(|_| below(dice, of as u64) as i8).collect()
        };
        let every = |of: i8| (0..of).collect::<BTreeSet<i8>>();
        let minutes = if below(dice, 20) == 0 { every(60) } else { some(dice, 3, 60) };
        let hours = if below(dice, 3) == 0 { every(24) } else { some(dice, 3, 24) };
        let days = if below(dice, 2) == 0 { every(7) } else { some(dice, 3, 7) };
        Self { minutes, hours, days }
    }

    fn cron(&self) -> String {
        let list = |set: &BTreeSet<i8>| set.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
        format!("{} {} * * {}", list(&self.minutes), list(&self.hours), list(&self.days))
    }

    /// Returns all times after `from` up to and including `to`, by iterating over the days.
    fn between(&self, from: &Zoned, to: &Zoned) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let mut date = from.date();
        while date <= to.date() {
            let hours =
                self.hours.iter().filter(|_| self.days.contains(&date.weekday().to_sunday_zero_offset()));
            for (hour, minute) in hours.flat_map(|hour| self.minutes.iter().map(move |minute| (hour, minute)))
            {
                let time = date.at(*hour, *minute, 0, 0).to_zoned(from.time_zone().clone()).unwrap();
                found.extend((&time > from && &time <= to).then(|| time.timestamp()));
            }
            date = date.tomorrow().unwrap();
        }
        found
    }
}

fn routine(id: &str, cron: &str, manner: FiringPolicy) -> PlannedJob {
    let rhythm = Recurrence::new(Cron::parse(cron).unwrap());
    let mut routine = Routine::new(ItemId::parse(id).unwrap(), rhythm, Prompt::new("look"));
    (routine.firing_policy, routine.target) = (manner, JobTarget::Fork(unrestricted_terms()));
    PlannedJob { spec: JobSpec::Routine(routine), file: format!("routines/{id}.md") }
}

fn reminder(id: &str, at: Timestamp, charter: JobTarget) -> PlannedJob {
    let at = Moment::of(&at.to_zoned(START.parse::<Zoned>().unwrap().time_zone().clone()));
    let reminder =
        Reminder::new(ItemId::parse(id).unwrap(), at, charter, Prompt::new(&format!("words of {id}")));
    PlannedJob { spec: JobSpec::Reminder(reminder.unwrap()), file: format!("reminders/{id}.md") }
}

fn end_of(occurrence: &Occurrence) -> &OccurrenceEnd {
    match &occurrence.state {
        OccurrenceState::Ended(end) => end,
        stage @ (OccurrenceState::Running(_)
        | OccurrenceState::SentToMain(_)
        | OccurrenceState::Retrying(_)
        | OccurrenceState::Queued) => {
            panic!("{:?} stands at {stage:?}", occurrence.key)
        }
    }
}

/// Returns the done occurrences, and the missed ones with their last time and count.
fn outcomes(life: &Simulation) -> (Vec<Timestamp>, Vec<(Timestamp, Timestamp, u32)>) {
    let mut done = Vec::new();
    let mut missed = Vec::new();
    for occurrence in life.log.occurrences.values() {
        match end_of(occurrence) {
            OccurrenceEnd::Done(_) => done.push(occurrence.key.due),
            OccurrenceEnd::Missed { last, count, .. } => missed.push((occurrence.key.due, *last, *count)),
            end @ (OccurrenceEnd::Failed(_) | OccurrenceEnd::Skipped(_) | OccurrenceEnd::Cancelled(_)) => {
                panic!("{end:?}")
            }
        }
    }
    (done, missed)
}

/// A3, SC-13: for random times and downtimes each occurrence is run or accounted for.
#[test]
fn every_occurrence_is_run_or_accounted_for() {
    for seed in 0..1_000 {
        let mut dice = Rng::new(seed);
        let times = Times::random(&mut dice);
        let if_missed = [
            None,
            Some(MissedPolicy::Once),
            Some(MissedPolicy::Skip),
            Some(MissedPolicy::Within(minutes(90))),
        ];
        let if_missed = if_missed[below(&mut dice, 4) as usize];
        let manner = FiringPolicy { if_missed, ..FiringPolicy::default() };
        let plan = routine("r", &times.cron(), manner);
        let mut life = Simulation::new(START, seed, vec![plan], finish_after(SignedDuration::from_secs(1)));
        let start = life.now.clone();
        life.simulate(minutes(below(&mut dice, 600) as i64));
        let down = life.now.clone();
        let away = [1, 5, 60, 600, 1_440, 10_080, 43_200][below(&mut dice, 7) as usize];
        life.now = &down + minutes(1 + below(&mut dice, away) as i64);
        let up = life.now.clone();
        match below(&mut dice, 2) {
            0 => life.restart(),
            _ => life.simulate(SignedDuration::ZERO),
        }
        life.simulate(minutes(120));
        let (done, missed) = outcomes(&life);

        let mut kept = times.between(&start, &down);
        let passed = times.between(&down, &up);
        let mut gone = None;
        if let Some(newest) = passed.last() {
            let late = up.timestamp().duration_since(*newest);
            let zoned = newest.to_zoned(up.time_zone().clone());
            let next = times.between(&zoned, &(&zoned + 9.days()));
            let usual = MissedPolicy::Within(
                (next[0].duration_since(*newest) / 2).min(SignedDuration::from_hours(6)),
            );
            let is_kept = late <= minutes(1) || if_missed.unwrap_or(usual).allows(late);
            let lost = &passed[..passed.len() - usize::from(is_kept)];
            gone = lost.first().map(|first| (*first, *lost.last().unwrap(), lost.len().min(1_000) as u32));
            kept.extend(is_kept.then_some(*newest));
            let told = life.seen.iter().filter(|text| text.contains("while i was away")).count();
            assert_eq!(told, usize::from(!is_kept), "{seed}");
        }
        kept.extend(times.between(&up, &life.now));
        assert_eq!(done, kept, "{seed}: {}", times.cron());
        assert_eq!(missed, gone.into_iter().collect::<Vec<_>>(), "{seed}: {}", times.cron());
    }
}

/// A3, SC-17, SC-18: a reminder rings once if it is at most a week late; otherwise it is moved to
/// the inbox and reported.
#[test]
fn every_reminder_rings_or_is_reported() {
    for seed in 0..1_000 {
        let mut dice = Rng::new(seed);
        let due = START.parse::<Zoned>().unwrap().timestamp() + minutes(below(&mut dice, 20_000) as i64);
        let charter =
            if below(&mut dice, 2) == 0 { JobTarget::main() } else { JobTarget::Fork(unrestricted_terms()) };
        let mut life = Simulation::new(
            START,
            seed,
            vec![reminder("a1", due, charter)],
            finish_after(SignedDuration::from_secs(1)),
        );
        life.simulate(minutes(below(&mut dice, 100) as i64));
        life.now = &life.now + minutes(1 + below(&mut dice, 43_200) as i64);
        let up = life.now.timestamp();
        let open = life.log.occurrences.is_empty();
        life.restart();
        life.simulate(minutes(30 * 24 * 60));
        let week = SignedDuration::from_hours(7 * 24);
        let heard = !open || up.duration_since(due) <= week;
        let (done, missed) = outcomes(&life);
        assert_eq!((done.len(), missed.len()), if heard { (1, 0) } else { (0, 1) }, "{seed}");
        let told = life.seen.iter().filter(|text| text.contains("while i was away")).count();
        assert_eq!(told, usize::from(!heard), "{seed}");
        assert!(life.log.files.is_empty(), "{seed}");
    }
}

/// Times during a pause of all routines are not missed, also when the pause ends early.
#[test]
fn times_during_a_pause_are_not_missed() {
    let plan = routine("r", "0 * * * *", FiringPolicy::default());
    let mut life = Simulation::new(START, 1, vec![plan], finish_after(SignedDuration::from_secs(1)));
    life.simulate(minutes(90));
    for words in ["pause everything", "resume"] {
        let told = life.ask(Request::Schedule(ScheduleCommand::PlanText(words.to_owned())));
        assert!(matches!(told, Answer::Text(_)), "{told:?}");
        life.simulate(minutes(600));
    }
    life.restart();
    life.simulate(minutes(1));
    let (done, missed) = outcomes(&life);
    assert_eq!((done.len(), missed), (1 + 10, Vec::new()));
    assert_eq!(life.seen, Vec::<String>::new());
}

/// A4: after a long downtime overdue jobs start in the order of their due times, at most two at a
/// time and five seconds apart; none is lost, and the user is answered at once.
#[test]
fn overdue_jobs_start_in_order_and_rate_limited() {
    for seed in 0..10 {
        let mut dice = Rng::new(seed);
        let start = START.parse::<Zoned>().unwrap().timestamp();
        let plans: Vec<PlannedJob> = (0..200)
            .map(|nth| {
                let due = start - minutes(2 + below(&mut dice, 5_000) as i64);
                reminder(&format!("r{nth:03}"), due, JobTarget::Fork(unrestricted_terms()))
            })
            .collect();
        let play: TurnScript =
            Box::new(|dice| (SignedDuration::from_secs(1 + below(dice, 20) as i64), TurnEnding::Finished));
        let mut life = Simulation::new(START, seed, plans, play);
        let mut spoken = false;
        for _ in 0..4_000 {
            life.simulate(SignedDuration::from_secs(1));
            let going = life
                .log
                .occurrences
                .values()
                .filter(|one| matches!(one.state, OccurrenceState::Running(_)))
                .count();
            assert!(going <= 2, "{seed}: {going} at a time");
            if life.started.len() == 50 && !spoken {
                spoken = true;
                let asked = life.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, "hello")));
                assert!(matches!(asked, Answer::MessageQueued(_)));
                let main = life
                    .running
                    .values()
                    .any(|(start, _, _)| start.branch == domain::conversation::Branch::Main);
                assert!(main, "{seed}: the human waits");
            }
        }
        assert_eq!(outcomes(&life).0.len(), 200, "{seed}");
        let due: Vec<Timestamp> = life.started.iter().map(|(_, key)| key.due).collect();
        assert!(due.is_sorted(), "{seed}");
        let close = life
            .started
            .windows(2)
            .find(|two| two[1].0.duration_since(two[0].0) < SignedDuration::from_secs(5));
        assert_eq!(close, None, "{seed}");
    }
}

/// A7, SC-12: a slow job never runs twice at a time; each of its occurrences is done, or skipped
/// for that reason.
#[test]
fn job_never_runs_twice_at_a_time() {
    for seed in 0..1_000 {
        let mut dice = Rng::new(seed);
        let every = 1 + below(&mut dice, 9);
        let queue = below(&mut dice, 2) == 0;
        let overlap = if queue { OverlapPolicy::Queue } else { OverlapPolicy::Skip };
        let plan =
            routine("r", &format!("*/{every} * * * *"), FiringPolicy { overlap, ..FiringPolicy::default() });
        let play: TurnScript = Box::new(|dice| {
            let ending = match below(dice, 5) {
                0 => TurnEnding::Failed(Failure::VendorError("500".to_owned())),
                _ => TurnEnding::Finished,
            };
            (SignedDuration::from_secs(1 + below(dice, 1_200) as i64), ending)
        });
        let mut life = Simulation::new(START, seed, vec![plan], play);
        let start = life.now.timestamp();
        for _ in 0..15 {
            life.simulate(SignedDuration::from_secs(1 + below(&mut dice, 400) as i64));
            let stands = |stage: fn(&OccurrenceState) -> bool| {
                life.log.occurrences.values().filter(|one| stage(&one.state)).count()
            };
            let going =
                stands(|stage| matches!(stage, OccurrenceState::Running(_) | OccurrenceState::Retrying(_)));
            let queued = stands(|stage| *stage == OccurrenceState::Queued);
            assert!(going <= 1 && queued <= usize::from(queue), "{seed}: {going} and {queued}");
            assert!(queued == 0 || going == 1, "{seed}: one waits for nothing");
            assert!(life.running.len() <= 1, "{seed}");
            if below(&mut dice, 10) == 0 {
                life.restart();
            }
        }
        let due = (start.as_second() / 60 + 1..=life.now.timestamp().as_second() / 60)
            .filter(|minute| minute % 60 % every as i64 == 0);
        let all: BTreeSet<i64> = life.log.occurrences.keys().map(|key| key.due.as_second() / 60).collect();
        assert_eq!(all, due.collect(), "{seed}");
    }
}

/// A8, SC-19: every failure has a visible outcome: at most three tries, one notice, and the text of
/// a reminder is delivered. Every write also checks that its file is removed only after the end.
#[test]
fn every_failure_has_a_visible_outcome() {
    for seed in 0..1_000 {
        let mut dice = Rng::new(seed);
        let start = START.parse::<Zoned>().unwrap().timestamp();
        let charter =
            if below(&mut dice, 2) == 0 { JobTarget::main() } else { JobTarget::Fork(unrestricted_terms()) };
        let plans = vec![
            reminder("a1", start + minutes(1), charter),
            routine("r", "2 0 2 11 *", FiringPolicy::default()),
        ];
        let play: TurnScript = Box::new(|dice| {
            let failure = match below(dice, 6) {
                0 => return (SignedDuration::from_secs(3), TurnEnding::Finished),
                1 => Failure::VendorError("500".to_owned()),
                2 => Failure::Stopped("it broke".to_owned()),
                3 => Failure::SpendLimit(SpendLimit::Account("no money".to_owned())),
                4 => return (SignedDuration::from_hours(9), TurnEnding::Finished),
                _ => Failure::CutOff("half".to_owned()),
            };
            (SignedDuration::from_secs(3), TurnEnding::Failed(failure))
        });
        let mut life = Simulation::new(START, seed, plans, play);
        for _ in 0..20 {
            life.simulate(minutes(1 + below(&mut dice, 12) as i64));
            if below(&mut dice, 8) == 0 {
                life.restart();
            }
        }
        life.simulate(SignedDuration::from_hours(3));
        assert_eq!(life.log.occurrences.len(), 2, "{seed}");
        for occurrence in life.log.occurrences.values() {
            assert!(occurrence.tries <= 3, "{seed}: {occurrence:?}");
            let failed = matches!(end_of(occurrence), OccurrenceEnd::Failed(_));
            let name = format!("{} could not be finished", occurrence.name);
            let told = life.seen.iter().filter(|text| text.contains(&name)).count();
            assert_eq!(told, usize::from(failed), "{seed}: {occurrence:?} {:?}", life.seen);
            let is_reminder = matches!(occurrence.key.source, CostSource::Reminder(_));
            let aloud = life.seen.iter().any(|text| text == "⏰ words of a1");
            assert!(!(is_reminder && failed) || aloud, "{seed}: {:?}", life.seen);
        }
        assert_eq!(life.log.files.len(), 1, "{seed}");
    }
}
