//! Stories about approvals, for every model.

use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{Teller, story};

fn asked(told_by: Teller, last: &str) -> Story {
    let mut story = story(told_by);
    story.model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#),
        Line::says("Kept."),
        Line::calls("inbox_remove", r#"{"number":1}"#),
        Line::says(last),
    ]);
    story.human("remember milk").human_commands("/permissions default");
    story.human_adds("drop it").hears("asks 1>");
    story
}

fn told(story: &Story) -> String {
    let told = story.told();
    let since = told.lines().skip_while(|line| !line.contains("drop it"));
    // The position of the replies depends on timing.
    let lines: Vec<&str> = since.filter(|line| !line.starts_with("told> ")).collect();
    lines.join("\n")
}

/// PM-7, PM-9, PM-13: calls of every model need an approval.
pub fn a_call_waits_for_the_humans_yes_whoever_makes_it(told_by: Teller) {
    let mut story = asked(told_by, "Gone.");
    story.human_commands("/allow 1").settle();
    expect![[r#"
        human> drop it
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone."#]]
    .assert_eq(&told(&story));
}

/// PM-11, PM-16: an interrupted model reads that nothing was run.
pub fn new_words_go_past_a_call_that_waits_whoever_makes_it(told_by: Teller) {
    let mut story = asked(told_by, "Not yet.");
    story.human("is it gone?");
    expect![[r#"
        human> drop it
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> stopped
        human> is it gone?
        main> assistant: Not yet."#]]
    .assert_eq(&told(&story));
}
