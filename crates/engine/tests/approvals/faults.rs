//! Crashes and failed writes at every step of an approval: the call runs at most once, and never
//! without a yes.

use domain::context::Context;
use domain::conversation::EntryContent;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

use super::{FIRST_ITEM, findings, remove};

const FAULTS: [JournalFault; 3] = [JournalFault::Fail, JournalFault::CrashBefore, JournalFault::CrashAfter];

/// Requests each removal that it is asked for or allowed, and accepts any result.
fn remove_whenever_asked(context: &Context) -> ModelOutcome {
    match context.entries.last().map(AsRef::as_ref) {
        Some(EntryContent::User(heard)) if heard.text.contains("remember") => {
            ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#)
        }
        Some(EntryContent::User(heard))
            if heard.text.contains("drop") || heard.preface.contains("[approval]") =>
        {
            remove(FIRST_ITEM)
        }
        Some(
            EntryContent::User(_)
            | EntryContent::Tools(_)
            | EntryContent::Assistant(..)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_),
        )
        | None => ModelOutcome::text("Well."),
    }
}

fn story() -> Story {
    let mut story =
        Story::with_model("2026-11-15T08:00[Europe/Madrid]", ScriptedModel::answering(remove_whenever_asked));
    story.user("remember milk").user_commands("/permissions default");
    story
}

/// Returns how often the call ran.
fn removals(story: &Story) -> usize {
    story.tree().matches("tools: removed 1: milk").count()
}

fn check(mut story: Story, most: usize, case: &str) {
    let told = story.transcript();
    assert!(removals(&story) <= most, "{case}\n{told}");
    assert_eq!(findings(&mut story), [""; 0], "{case}\n{told}");
}

fn cases() -> impl Iterator<Item = (usize, JournalFault, String)> {
    let all = (1..=6).flat_map(|nth| FAULTS.map(|trouble| (nth, trouble)));
    all.map(|(nth, trouble)| (nth, trouble, format!("{trouble:?} at writing {nth}")))
}

#[test]
fn fault_during_an_approval_runs_nothing_twice() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.user_sends("drop the milk").wait_for_line("asks 1>");
        story.inject_journal_fault(nth, trouble).user_commands("/allow 1").wait_for_answers();
        story.crash().wait_for_answers().user_commands("/allow 1").wait_for_answers();
        let told = story.transcript();
        assert!(
            told.contains("asks 1> allowed") || told.contains("already answered: allowed"),
            "{case}\n{told}"
        );
        check(story, 1, &case);
    }
}

#[test]
fn fault_before_or_after_an_approval_runs_nothing_twice() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.inject_journal_fault(nth, trouble).user("drop the milk").crash().wait_for_answers();
        story
            .user_commands("/permissions default")
            .inject_journal_fault(nth, trouble)
            .user_commands("/allow 1")
            .wait_for_answers();
        story.crash().wait_for_answers().user_commands("/allow 1").wait_for_answers();
        check(story, 1, &case);
    }
}

#[test]
fn fault_never_turns_a_denial_into_an_approval() {
    for (nth, trouble, case) in cases() {
        let mut story = story();
        story.user_sends("drop the milk").wait_for_line("asks 1>");
        story.inject_journal_fault(nth, trouble).user_commands("/deny 1").wait_for_answers();
        story.crash().wait_for_answers().user_commands("/deny 1").wait_for_answers();
        check(story, 0, &case);
    }
}
