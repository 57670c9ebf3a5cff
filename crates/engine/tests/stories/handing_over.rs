//! Random sequences of messages, forks and updates with crashes at any write: each update is read
//! in exactly one turn of main, and the tree stays consistent.

use domain::dice::Dice;
use testkit::oracle::examine;
use testkit::puppet::Puppet;
use testkit::story::{Story, Trouble};

use crate::MORNING;

/// A10: each update is part of exactly one committed turn of main, for a crash at any write.
#[test]
fn a_hundred_lives_hand_every_report_over_once() {
    (0..100).for_each(live);
}

/// A10: the same invariant for 2,000 more seeds.
#[test]
#[ignore = "long: 2,000 lives take minutes"]
fn two_thousand_lives_hand_every_report_over_once() {
    (1_000..3_000).for_each(live);
}

/// Runs the random sequence of `seed`.
fn live(seed: u64) {
    let mut story = Story::played_by(MORNING, Puppet::random(seed));
    let mut dice = Dice::new(seed ^ 0xA10);
    // A life may end while the user is asked, and then not every call is decided.
    story.human_commands("/config permission_mode dontAsk");
    for number in 1..=10 {
        let nth = usize::try_from(dice.roll() % 4).unwrap_or_default() + 1;
        let dies = match dice.roll() % 5 {
            0 => Some(Trouble::DiesBefore),
            1 => Some(Trouble::DiesAfter),
            _ => None,
        };
        if let Some(trouble) = dies {
            story.trouble(nth, trouble);
        }
        step(&mut story, number, dice.roll());
        story.rest();
        if dies.is_some() {
            story.crash().rest();
        }
    }
    let told = story.told();
    let wrong: Vec<String> = examine(story.die().paths().root())
        .into_iter()
        .filter(|wrong| !wrong.contains("has the mode"))
        .collect();
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{told}");
}

fn step(story: &mut Story, number: u64, roll: u64) {
    match roll % 14 {
        0..4 => drop(story.leaves_for_main("routine:mail", &format!("update {number}"))),
        4 => drop(story.human_begins_command(&format!("/fork topic {number}"))),
        5 => drop(story.human_begins_command(&format!("/report summary {number}"))),
        6 => drop(story.human_begins_command("/report")),
        7 => drop(story.human_begins_command("/save")),
        8 => drop(story.human_begins_command("/exit")),
        9 => drop(story.human_begins_command(["/clear", "/undo"][usize::from(roll.is_multiple_of(3))])),
        _ => drop(story.human_adds(&format!("message {number}"))),
    }
}
