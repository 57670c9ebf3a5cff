//! Random sequences of messages, forks and updates with crashes at any write: each update is read
//! in exactly one turn of main, and the tree stays consistent.

use domain::rng::Rng;
use testkit::oracle::find_violations;
use testkit::scripted_model::ScriptedModel;
use testkit::story::{JournalFault, Story};

use crate::MORNING;

/// A10: each update is part of exactly one committed turn of main, for a crash at any write.
#[test]
fn updates_are_delivered_once_in_a_hundred_random_runs() {
    (0..100).for_each(run_random);
}

/// A10: the same invariant for 2,000 more seeds.
#[test]
#[ignore = "long: 2,000 lives take minutes"]
fn updates_are_delivered_once_in_two_thousand_random_runs() {
    (1_000..3_000).for_each(run_random);
}

/// Runs the random sequence of `seed`.
fn run_random(seed: u64) {
    let mut story = Story::with_model(MORNING, ScriptedModel::random(seed));
    let mut dice = Rng::new(seed ^ 0xA10);
    // A crash may happen while the user is asked, and then not every call is decided.
    story.user_commands("/config permission_mode dontAsk");
    for number in 1..=10 {
        let nth = usize::try_from(dice.next_u64() % 4).unwrap_or_default() + 1;
        let crash = match dice.next_u64() % 5 {
            0 => Some(JournalFault::CrashBefore),
            1 => Some(JournalFault::CrashAfter),
            _ => None,
        };
        if let Some(trouble) = crash {
            story.inject_journal_fault(nth, trouble);
        }
        random_step(&mut story, number, dice.next_u64());
        story.wait_until_idle();
        if crash.is_some() {
            story.crash().wait_until_idle();
        }
    }
    let told = story.transcript();
    let wrong: Vec<String> = find_violations(story.stop().paths().root())
        .into_iter()
        .filter(|wrong| !wrong.contains("has the mode"))
        .collect();
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{told}");
}

fn random_step(story: &mut Story, number: u64, roll: u64) {
    match roll % 14 {
        0..4 => drop(story.leave_update("routine:mail", &format!("update {number}"))),
        4 => drop(story.user_begins_command(&format!("/fork topic {number}"))),
        5 => drop(story.user_begins_command(&format!("/report summary {number}"))),
        6 => drop(story.user_begins_command("/report")),
        7 => drop(story.user_begins_command("/save")),
        8 => drop(story.user_begins_command("/exit")),
        9 => drop(story.user_begins_command(["/clear", "/undo"][usize::from(roll.is_multiple_of(3))])),
        _ => drop(story.user_sends(&format!("message {number}"))),
    }
}
