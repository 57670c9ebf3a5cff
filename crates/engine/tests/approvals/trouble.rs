//! Crashes and failed writes at every step of an approval: the call runs at most once, and never
//! without a yes.

use domain::context::Context;
use domain::conversation::Said;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

use super::{ONE, remove, wrong};

const TROUBLES: [Trouble; 3] = [Trouble::Fails, Trouble::DiesBefore, Trouble::DiesAfter];

/// Requests each removal that it is asked for or allowed, and accepts any result.
fn eager(context: &Context) -> Line {
    match context.said.last().map(AsRef::as_ref) {
        Some(Said::Human(heard)) if heard.text.contains("remember") => {
            Line::calls("inbox_add", r#"{"text":"milk"}"#)
        }
        Some(Said::Human(heard)) if heard.text.contains("drop") || heard.preface.contains("[approval]") => {
            remove(ONE)
        }
        Some(
            Said::Human(_) | Said::Tools(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_),
        )
        | None => Line::says("Well."),
    }
}

fn story() -> Story {
    let mut story = Story::played_by("2026-11-15T08:00[Europe/Madrid]", Puppet::answering(eager));
    story.human("remember milk").human_commands("/permissions default");
    story
}

/// Returns how often the call ran.
fn removals(story: &Story) -> usize {
    story.tree().matches("tools: removed 1: milk").count()
}

fn check(mut story: Story, most: usize, case: &str) {
    let told = story.told();
    assert!(removals(&story) <= most, "{case}\n{told}");
    assert_eq!(wrong(&mut story), [""; 0], "{case}\n{told}");
}

fn cases() -> impl Iterator<Item = (usize, Trouble, String)> {
    let all = (1..=6).flat_map(|nth| TROUBLES.map(|trouble| (nth, trouble)));
    all.map(|(nth, trouble)| (nth, trouble, format!("{trouble:?} at writing {nth}")))
}

#[test]
fn trouble_while_the_human_is_asked_or_answers_lets_nothing_run_twice() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.human_adds("drop the milk").hears("asks 1>");
        story.trouble(nth, trouble).human_commands("/allow 1").settle();
        story.crash().settle().human_commands("/allow 1").settle();
        let told = story.told();
        assert!(
            told.contains("asks 1> allowed") || told.contains("already answered: allowed"),
            "{case}\n{told}"
        );
        check(story, 1, &case);
    }
}

#[test]
fn trouble_before_an_approval_and_after_its_time_lets_nothing_run_twice() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.trouble(nth, trouble).human("drop the milk").crash().settle();
        story
            .human_commands("/permissions default")
            .trouble(nth, trouble)
            .human_commands("/allow 1")
            .settle();
        story.crash().settle().human_commands("/allow 1").settle();
        check(story, 1, &case);
    }
}

#[test]
fn trouble_never_makes_a_yes_of_a_no() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.human_adds("drop the milk").hears("asks 1>");
        story.trouble(nth, trouble).human_commands("/deny 1").settle();
        story.crash().settle().human_commands("/deny 1").settle();
        check(story, 0, &case);
    }
}
