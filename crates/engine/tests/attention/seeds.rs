//! Random days with reminders, pings, focus sessions and crashes: the attention rules hold for
//! every seed.

use domain::rng::Rng;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use testkit::story::{JournalFault, Story};

use crate::{count, mail_routine, pinging_model, story_at};

fn below(dice: &mut Rng, most: u64) -> u64 {
    dice.next_u64() % most
}

/// A reminder at a random time of the next day, with a unique text.
fn reminder(nth: u64, dice: &mut Rng) -> String {
    let hour = below(dice, 24);
    let minute = below(dice, 12) * 5;
    format!("---\nid: r{nth}\nrun-at: 2026-11-17T{hour:02}:{minute:02}:00+01:00\n---\nthing number {nth}x\n")
}

/// Returns whether `now` is between 22:00 and 8:00.
fn is_night(now: Timestamp) -> bool {
    let hour = now.to_zoned(TimeZone::get("Europe/Madrid").unwrap()).hour();
    !(8..22).contains(&hour)
}

/// Causes a random event. Returns the end of the focus if one was started.
fn cause_random_event(story: &mut Story, dice: &mut Rng) -> Option<Timestamp> {
    let troubles = [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail];
    match below(dice, 12) {
        0 => drop(story.crash()),
        1 => {
            let trouble = troubles[usize::try_from(below(dice, 3)).unwrap()];
            story.inject_journal_fault(1 + usize::try_from(below(dice, 3)).unwrap(), trouble);
        }
        2 => {
            let until = story.now() + SignedDuration::from_mins(25);
            let before = count(story, "told> 25 min");
            story.user_commands("/focus 25");
            return (count(story, "told> 25 min") > before).then_some(until);
        }
        _ => {}
    }
    None
}

/// No ping rings at night or during a focus, each deferred ping is shown exactly once, and no
/// reminder is repeated more than twice.
#[test]
fn attention_rules_hold_on_random_days() {
    for seed in 0..6 {
        let mut dice = Rng::new(seed);
        let mut story = story_at("16T20:00", pinging_model());
        story.user_commands("/ping-budget 20 10").write_file("routines/mail.md", &mail_routine("0,30 *"));
        for nth in 0..8 {
            story.write_file(&format!("reminders/r{nth}.md"), &reminder(nth, &mut dice));
        }
        let mut focused: Option<Timestamp> = None;
        for _ in 0..200 {
            focused = cause_random_event(&mut story, &mut dice).or(focused);
            let before = story.now();
            let rang = count(&story, "to the human>");
            story.machine_sleeps(&format!("{}m", 1 + below(&mut dice, 18))).advance_time("10s");
            let is_spared = |at: Timestamp| is_night(at) || focused.is_some_and(|until| at < until);
            if is_spared(before) && is_spared(story.now()) {
                assert_eq!(count(&story, "to the human>"), rang, "{seed}: {}", story.transcript());
            }
        }
        story
            .crash()
            .remove_file("routines/mail.md")
            .advance_time("20s")
            .machine_sleeps("26h")
            .advance_time("2m");
        let tree = story.tree();
        let mut told = 0;
        for ping in 1..200 {
            let listed = format!("my mail: ping {ping} (");
            // A digest during a turn is shown, but is not an entry of its own.
            let said = tree.matches(&listed).count();
            let shown = count(&story, &listed);
            let rang = count(&story, &format!("to the human> ping {ping}\n"));
            assert!(said <= 1 && shown <= 1 && said.max(shown) + rang <= 1, "{seed}: ping {ping}");
            told += said.max(shown);
        }
        let held = tree.matches("Your words are kept").count();
        assert!(held > 5 && told >= held, "{seed}: {held} {told}\n{}", story.transcript());
        for nth in 0..8 {
            let follow_ups = tree.matches(&format!("\"thing number {nth}x\"")).count();
            let listed = tree.matches(&format!("- thing number {nth}x")).count();
            assert!(follow_ups <= 1 && listed <= 1, "{seed}: {nth}: {tree}");
        }
    }
}
