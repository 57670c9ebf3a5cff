//! Buttons with faults: however often a button is pressed and whatever happens, its message is sent
//! once.

use domain::conversation::Said;
use domain::dice::Dice;
use jiff::SignedDuration;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble, forked};

/// The number of buttons of each of the two embeds.
const BUTTONS: u64 = 5;
/// The entries that show the embeds, with the names used in their buttons.
const EMBEDS: [(u64, &str); 2] = [(3, "main"), (7, "run")];

/// The events around a press.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// Pressed twice in a row.
    Double,
    /// Pressed after a restart.
    AfterRestart,
    /// Pressed before and after a restart.
    AroundRestart,
    /// Pressed twice during a turn.
    WhileBusy,
    /// A fault at the n-th write from the press on, and another press after a restart.
    Under(usize, Trouble),
}

fn case(dice: &mut Dice) -> Case {
    let mut pick = |below: u64| usize::try_from((dice.roll() >> 33) % below).unwrap_or(0);
    let trouble = [Trouble::DiesBefore, Trouble::DiesAfter, Trouble::Fails][pick(3)];
    match pick(8) {
        0 => Case::Double,
        1 => Case::AfterRestart,
        2 => Case::AroundRestart,
        3 => Case::WhileBusy,
        _ => Case::Under(1 + pick(3), trouble),
    }
}

/// An embed whose buttons send `do main 00`, `do main 01` and so on.
fn embed(name: &str) -> String {
    let button = |number| format!(r#"{{"label":"{number:02}","action":"agent:do {name} {number:02}"}}"#);
    let buttons: Vec<String> = (0..BUTTONS).map(button).collect();
    format!(r#"{{"title":"{name}","buttons":[{}]}}"#, buttons.join(","))
}

/// Starts a story in which main and a run have shown one embed each.
fn shown() -> Story {
    let puppet = Puppet::answering(|context| match context.said.last().map(|said| &**said) {
        Some(Said::Human(heard)) if heard.text == "show me" => Line::calls("discord_embed", &embed("main")),
        Some(Said::Human(heard)) if heard.text == "talk" => Line::holds("Well,"),
        Some(Said::Human(heard)) if heard.preface.contains("[routine-bg:mail]") => {
            Line::calls("discord_embed", &embed("run"))
        }
        _ => Line::says("Done."),
    });
    let mut story = Story::played_by("2026-11-15T08:00[Europe/Madrid]", puppet);
    story.human("show me").background(forked("routine:mail", "[routine-bg:mail] Triage my mail."));
    story
}

fn press(story: &mut Story, case: Case, on: u64, label: &str) {
    match case {
        Case::Double => drop(story.human_presses(on, label).human_presses(on, label)),
        Case::AfterRestart => drop(story.crash().human_presses(on, label)),
        Case::AroundRestart => drop(story.human_presses(on, label).crash().human_presses(on, label)),
        Case::WhileBusy => {
            story.human_begins("talk").human_presses(on, label).human_presses(on, label);
        }
        Case::Under(nth, trouble) => {
            story.trouble(nth, trouble).human_presses(on, label);
            story.passes_quietly(SignedDuration::from_secs(10));
            story.crash().rest();
            story.human_begins_command("/exit").rest();
            story.human_presses(on, label);
        }
    }
    story.rest();
    // A button of a run opens a fork, and the next one can only be pressed on main.
    story.human_begins_command("/exit").rest();
    story.human_presses(on, label).rest();
}

/// A12: in 500 cases with double presses, restarts, running turns and faults each button sends its
/// message exactly once, and is used up only when that is on disk.
#[test]
fn a_button_asks_exactly_once_whatever_happens() {
    for seed in 0..50 {
        let mut story = shown();
        let mut dice = Dice::new(seed);
        let mut cases = Vec::new();
        for number in 0..BUTTONS {
            for (on, name) in EMBEDS {
                let case = case(&mut dice);
                press(&mut story, case, on, &format!("{number:02}"));
                cases.push((format!("human: [button] do {name} {number:02}"), case));
            }
        }
        let tree = story.tree();
        for (asked, case) in cases {
            assert_eq!(tree.matches(&asked).count(), 1, "seed {seed}, {asked}, {case:?}\n{}", story.told());
        }
        story.die();
        assert_eq!(examine(story.paths().root()), [""; 0], "seed {seed}");
    }
}
