//! A thousand random simulations per test, each compared with a small reference model.

#![expect(clippy::unwrap_used, reason = "a missing value stops the test at once")]

use std::collections::BTreeSet;

use domain::assistant::{Answer, Planning, Request, Saying};
use domain::cost::Source;
use domain::dice::Dice;
use domain::failure::{Failure, SpendLimit};
use domain::occurrence::{End, Occurrence, Stage};
use domain::record::SurfaceName;
use domain::schedule::{
    Charter, Cron, IfMissed, ItemId, Manner, Moment, Overlap, Planned, Prompt, Reminder, Rhythm, Routine,
    What,
};
use domain::turn::Ending;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

use crate::life::{Life, Play, START, below, freely, takes};

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
    fn random(dice: &mut Dice) -> Self {
        let some = |dice: &mut Dice, most: u64, of: i8| -> BTreeSet<i8> {
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

fn routine(id: &str, cron: &str, manner: Manner) -> Planned {
    let rhythm = Rhythm::new(Cron::parse(cron).unwrap());
    let mut routine = Routine::new(ItemId::parse(id).unwrap(), rhythm, Prompt::new("look"));
    (routine.manner, routine.charter) = (manner, Charter::Fork(freely()));
    Planned { what: What::Routine(routine), file: format!("routines/{id}.md") }
}

fn reminder(id: &str, at: Timestamp, charter: Charter) -> Planned {
    let at = Moment::of(&at.to_zoned(START.parse::<Zoned>().unwrap().time_zone().clone()));
    let reminder =
        Reminder::new(ItemId::parse(id).unwrap(), at, charter, Prompt::new(&format!("words of {id}")));
    Planned { what: What::Reminder(reminder.unwrap()), file: format!("reminders/{id}.md") }
}

fn ended(occurrence: &Occurrence) -> &End {
    match &occurrence.stage {
        Stage::Ended(end) => end,
        stage @ (Stage::Running(_) | Stage::Asked(_) | Stage::Again(_) | Stage::Queued) => {
            panic!("{:?} stands at {stage:?}", occurrence.key)
        }
    }
}

/// Returns the done occurrences, and the missed ones with their last time and count.
fn became(life: &Life) -> (Vec<Timestamp>, Vec<(Timestamp, Timestamp, u32)>) {
    let mut done = Vec::new();
    let mut missed = Vec::new();
    for occurrence in life.log.occurrences.values() {
        match ended(occurrence) {
            End::Done(_) => done.push(occurrence.key.due),
            End::Missed { last, count, .. } => missed.push((occurrence.key.due, *last, *count)),
            end @ (End::Failed(_) | End::Skipped(_) | End::Cancelled(_)) => panic!("{end:?}"),
        }
    }
    (done, missed)
}

/// A3, SC-13: for random times and downtimes each occurrence is run or accounted for.
#[test]
fn every_time_of_a_routine_is_kept_or_accounted_for() {
    for seed in 0..1_000 {
        let mut dice = Dice::new(seed);
        let times = Times::random(&mut dice);
        let if_missed =
            [None, Some(IfMissed::Once), Some(IfMissed::Skip), Some(IfMissed::Within(minutes(90)))];
        let if_missed = if_missed[below(&mut dice, 4) as usize];
        let manner = Manner { if_missed, ..Manner::default() };
        let plan = routine("r", &times.cron(), manner);
        let mut life = Life::new(START, seed, vec![plan], takes(SignedDuration::from_secs(1)));
        let start = life.now.clone();
        life.lives(minutes(below(&mut dice, 600) as i64));
        let down = life.now.clone();
        let away = [1, 5, 60, 600, 1_440, 10_080, 43_200][below(&mut dice, 7) as usize];
        life.now = &down + minutes(1 + below(&mut dice, away) as i64);
        let up = life.now.clone();
        match below(&mut dice, 2) {
            0 => life.wake(),
            _ => life.lives(SignedDuration::ZERO),
        }
        life.lives(minutes(120));
        let (done, missed) = became(&life);

        let mut kept = times.between(&start, &down);
        let passed = times.between(&down, &up);
        let mut gone = None;
        if let Some(newest) = passed.last() {
            let late = up.timestamp().duration_since(*newest);
            let zoned = newest.to_zoned(up.time_zone().clone());
            let next = times.between(&zoned, &(&zoned + 9.days()));
            let usual =
                IfMissed::Within((next[0].duration_since(*newest) / 2).min(SignedDuration::from_hours(6)));
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
fn every_reminder_is_heard_or_told_of() {
    for seed in 0..1_000 {
        let mut dice = Dice::new(seed);
        let due = START.parse::<Zoned>().unwrap().timestamp() + minutes(below(&mut dice, 20_000) as i64);
        let charter = if below(&mut dice, 2) == 0 { Charter::main() } else { Charter::Fork(freely()) };
        let mut life =
            Life::new(START, seed, vec![reminder("a1", due, charter)], takes(SignedDuration::from_secs(1)));
        life.lives(minutes(below(&mut dice, 100) as i64));
        life.now = &life.now + minutes(1 + below(&mut dice, 43_200) as i64);
        let up = life.now.timestamp();
        let open = life.log.occurrences.is_empty();
        life.wake();
        life.lives(minutes(30 * 24 * 60));
        let week = SignedDuration::from_hours(7 * 24);
        let heard = !open || up.duration_since(due) <= week;
        let (done, missed) = became(&life);
        assert_eq!((done.len(), missed.len()), if heard { (1, 0) } else { (0, 1) }, "{seed}");
        let told = life.seen.iter().filter(|text| text.contains("while i was away")).count();
        assert_eq!(told, usize::from(!heard), "{seed}");
        assert!(life.log.files.is_empty(), "{seed}");
    }
}

/// Times during a pause of all routines are not missed, also when the pause ends early.
#[test]
fn what_passed_while_all_rested_is_not_missed() {
    let plan = routine("r", "0 * * * *", Manner::default());
    let mut life = Life::new(START, 1, vec![plan], takes(SignedDuration::from_secs(1)));
    life.lives(minutes(90));
    for words in ["pause everything", "resume"] {
        let told = life.asks(Request::Plan(Planning::Words(words.to_owned())));
        assert!(matches!(told, Answer::Told(_)), "{told:?}");
        life.lives(minutes(600));
    }
    life.wake();
    life.lives(minutes(1));
    let (done, missed) = became(&life);
    assert_eq!((done.len(), missed), (1 + 10, Vec::new()));
    assert_eq!(life.seen, Vec::<String>::new());
}

/// A4: after a long downtime overdue jobs start in the order of their due times, at most two at a
/// time and five seconds apart; none is lost, and the user is answered at once.
#[test]
fn two_hundred_late_ones_come_one_after_the_other() {
    for seed in 0..10 {
        let mut dice = Dice::new(seed);
        let start = START.parse::<Zoned>().unwrap().timestamp();
        let plans: Vec<Planned> = (0..200)
            .map(|nth| {
                let due = start - minutes(2 + below(&mut dice, 5_000) as i64);
                reminder(&format!("r{nth:03}"), due, Charter::Fork(freely()))
            })
            .collect();
        let play: Play =
            Box::new(|dice| (SignedDuration::from_secs(1 + below(dice, 20) as i64), Ending::Finished));
        let mut life = Life::new(START, seed, plans, play);
        let mut spoken = false;
        for _ in 0..4_000 {
            life.lives(SignedDuration::from_secs(1));
            let going =
                life.log.occurrences.values().filter(|one| matches!(one.stage, Stage::Running(_))).count();
            assert!(going <= 2, "{seed}: {going} at a time");
            if life.begun.len() == 50 && !spoken {
                spoken = true;
                let asked = life.asks(Request::Say(Saying::words(SurfaceName::Page, "hello")));
                assert!(matches!(asked, Answer::Heard(_)));
                let main = life
                    .running
                    .values()
                    .any(|(start, _, _)| start.branch == domain::conversation::Branch::Main);
                assert!(main, "{seed}: the human waits");
            }
        }
        assert_eq!(became(&life).0.len(), 200, "{seed}");
        let due: Vec<Timestamp> = life.begun.iter().map(|(_, key)| key.due).collect();
        assert!(due.is_sorted(), "{seed}");
        let close = life
            .begun
            .windows(2)
            .find(|two| two[1].0.duration_since(two[0].0) < SignedDuration::from_secs(5));
        assert_eq!(close, None, "{seed}");
    }
}

/// A7, SC-12: a slow job never runs twice at a time; each of its occurrences is done, or skipped
/// for that reason.
#[test]
fn no_job_ever_runs_twice_at_a_time() {
    for seed in 0..1_000 {
        let mut dice = Dice::new(seed);
        let every = 1 + below(&mut dice, 9);
        let queue = below(&mut dice, 2) == 0;
        let overlap = if queue { Overlap::Queue } else { Overlap::Skip };
        let plan = routine("r", &format!("*/{every} * * * *"), Manner { overlap, ..Manner::default() });
        let play: Play = Box::new(|dice| {
            let ending = match below(dice, 5) {
                0 => Ending::Failed(Failure::Broken("500".to_owned())),
                _ => Ending::Finished,
            };
            (SignedDuration::from_secs(1 + below(dice, 1_200) as i64), ending)
        });
        let mut life = Life::new(START, seed, vec![plan], play);
        let start = life.now.timestamp();
        for _ in 0..15 {
            life.lives(SignedDuration::from_secs(1 + below(&mut dice, 400) as i64));
            let stands = |stage: fn(&Stage) -> bool| {
                life.log.occurrences.values().filter(|one| stage(&one.stage)).count()
            };
            let going = stands(|stage| matches!(stage, Stage::Running(_) | Stage::Again(_)));
            let queued = stands(|stage| *stage == Stage::Queued);
            assert!(going <= 1 && queued <= usize::from(queue), "{seed}: {going} and {queued}");
            assert!(queued == 0 || going == 1, "{seed}: one waits for nothing");
            assert!(life.running.len() <= 1, "{seed}");
            if below(&mut dice, 10) == 0 {
                life.wake();
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
fn whatever_fails_ends_where_one_can_see_it() {
    for seed in 0..1_000 {
        let mut dice = Dice::new(seed);
        let start = START.parse::<Zoned>().unwrap().timestamp();
        let charter = if below(&mut dice, 2) == 0 { Charter::main() } else { Charter::Fork(freely()) };
        let plans =
            vec![reminder("a1", start + minutes(1), charter), routine("r", "2 0 2 11 *", Manner::default())];
        let play: Play = Box::new(|dice| {
            let failure = match below(dice, 6) {
                0 => return (SignedDuration::from_secs(3), Ending::Finished),
                1 => Failure::Broken("500".to_owned()),
                2 => Failure::Stopped("it broke".to_owned()),
                3 => Failure::SpendLimit(SpendLimit::Account("no money".to_owned())),
                4 => return (SignedDuration::from_hours(9), Ending::Finished),
                _ => Failure::CutOff("half".to_owned()),
            };
            (SignedDuration::from_secs(3), Ending::Failed(failure))
        });
        let mut life = Life::new(START, seed, plans, play);
        for _ in 0..20 {
            life.lives(minutes(1 + below(&mut dice, 12) as i64));
            if below(&mut dice, 8) == 0 {
                life.wake();
            }
        }
        life.lives(SignedDuration::from_hours(3));
        assert_eq!(life.log.occurrences.len(), 2, "{seed}");
        for occurrence in life.log.occurrences.values() {
            assert!(occurrence.tries <= 3, "{seed}: {occurrence:?}");
            let failed = matches!(ended(occurrence), End::Failed(_));
            let name = format!("{} could not be finished", occurrence.name);
            let told = life.seen.iter().filter(|text| text.contains(&name)).count();
            assert_eq!(told, usize::from(failed), "{seed}: {occurrence:?} {:?}", life.seen);
            let is_reminder = matches!(occurrence.key.source, Source::Reminder(_));
            let aloud = life.seen.iter().any(|text| text == "⏰ words of a1");
            assert!(!(is_reminder && failed) || aloud, "{seed}: {:?}", life.seen);
        }
        assert_eq!(life.log.files.len(), 1, "{seed}");
    }
}
