//! Buttons with faults: however often a button is pressed and whatever happens, its message is sent
//! once.

use domain::conversation::EntryContent;
use domain::rng::Rng;
use jiff::SignedDuration;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story, forked_job};

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
    Under(usize, JournalFault),
}

fn random_case(dice: &mut Rng) -> Case {
    let mut pick = |below: u64| usize::try_from((dice.next_u64() >> 33) % below).unwrap_or(0);
    let trouble = [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail][pick(3)];
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
fn story_with_embeds() -> Story {
    let model = ScriptedModel::answering(|context| match context.entries.last().map(|said| &**said) {
        Some(EntryContent::User(heard)) if heard.text == "show me" => {
            ModelOutcome::tool_call("discord_embed", &embed("main"))
        }
        Some(EntryContent::User(heard)) if heard.text == "talk" => ModelOutcome::hang("Well,"),
        Some(EntryContent::User(heard)) if heard.preface.contains("[routine-bg:mail]") => {
            ModelOutcome::tool_call("discord_embed", &embed("run"))
        }
        _ => ModelOutcome::text("Done."),
    });
    let mut story = Story::with_model("2026-11-15T08:00[Europe/Madrid]", model);
    story.user("show me").run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."));
    story
}

fn press(story: &mut Story, case: Case, on: u64, label: &str) {
    match case {
        Case::Double => drop(story.user_presses(on, label).user_presses(on, label)),
        Case::AfterRestart => drop(story.crash().user_presses(on, label)),
        Case::AroundRestart => drop(story.user_presses(on, label).crash().user_presses(on, label)),
        Case::WhileBusy => {
            story.user_begins("talk").user_presses(on, label).user_presses(on, label);
        }
        Case::Under(nth, trouble) => {
            story.inject_journal_fault(nth, trouble).user_presses(on, label);
            story.advance_silently(SignedDuration::from_secs(10));
            story.crash().wait_until_idle();
            story.user_begins_command("/exit").wait_until_idle();
            story.user_presses(on, label);
        }
    }
    story.wait_until_idle();
    // A button of a run opens a fork, and the next one can only be pressed on main.
    story.user_begins_command("/exit").wait_until_idle();
    story.user_presses(on, label).wait_until_idle();
}

/// A12: in 500 cases with double presses, restarts, running turns and faults each button sends its
/// message exactly once, and is used up only when that is on disk.
#[test]
fn button_asks_exactly_once_despite_faults() {
    for seed in 0..50 {
        let mut story = story_with_embeds();
        let mut dice = Rng::new(seed);
        let mut cases = Vec::new();
        for number in 0..BUTTONS {
            for (on, name) in EMBEDS {
                let case = random_case(&mut dice);
                press(&mut story, case, on, &format!("{number:02}"));
                cases.push((format!("human: [button] do {name} {number:02}"), case));
            }
        }
        let tree = story.tree();
        for (asked, case) in cases {
            assert_eq!(
                tree.matches(&asked).count(),
                1,
                "seed {seed}, {asked}, {case:?}\n{}",
                story.transcript()
            );
        }
        story.stop();
        assert_eq!(find_violations(story.paths().root()), [""; 0], "seed {seed}");
    }
}
