//! Stories about approvals, for every model.

use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{ModelKind, story};

fn story_with_open_approval(model: ModelKind, last: &str) -> Story {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
        ModelOutcome::text("Kept."),
        ModelOutcome::tool_call("inbox_remove", r#"{"number":1}"#),
        ModelOutcome::text(last),
    ]);
    story.user("remember milk").user_commands("/permissions default");
    story.user_sends("drop it").wait_for_line("asks 1>");
    story
}

fn transcript(story: &Story) -> String {
    let told = story.transcript();
    let since = told.lines().skip_while(|line| !line.contains("drop it"));
    // The position of the replies depends on timing.
    let lines: Vec<&str> = since.filter(|line| !line.starts_with("told> ")).collect();
    lines.join("\n")
}

/// PM-7, PM-9, PM-13: calls of every model need an approval.
pub fn call_waits_for_an_approval(model: ModelKind) {
    let mut story = story_with_open_approval(model, "Gone.");
    story.user_commands("/allow 1").wait_for_answers();
    expect![[r#"
        human> drop it
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone."#]]
    .assert_eq(&transcript(&story));
}

/// PM-11, PM-16: an interrupted model reads that nothing was run.
pub fn new_message_does_not_wait_for_an_approval(model: ModelKind) {
    let mut story = story_with_open_approval(model, "Not yet.");
    story.user("is it gone?");
    expect![[r#"
        human> drop it
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> stopped
        human> is it gone?
        main> assistant: Not yet."#]]
    .assert_eq(&transcript(&story));
}
