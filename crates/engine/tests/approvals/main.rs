//! Stories about approvals: asked, answered, late, cancelled, and across a crash.

#![expect(clippy::expect_used, reason = "test helpers stop at once with the reason")]

mod answers;
mod cancellation;
mod faults;
mod late_answers;
mod modes;

use expect_test::Expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

const FIRST_ITEM: &str = r#"{"number":1}"#;
/// The reply to switching to the mode `default`.
const MODE_SET: &str = "told> from now on the mode is `default`";

/// Starts with two items in the inbox and the mode `default`.
fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.script([
        ModelOutcome::tool_calls(&[("inbox_add", r#"{"text":"milk"}"#), ("inbox_add", r#"{"text":"tea"}"#)]),
        ModelOutcome::text("Kept."),
    ]);
    story.user("remember milk and tea").user_commands("/permissions default");
    story
}

/// The model asks to remove the first item, then continues with `lines`.
fn story_with_open_approval(lines: impl IntoIterator<Item = ModelOutcome>) -> Story {
    let mut story = story();
    story.script([remove(FIRST_ITEM)]).script(lines);
    story.user_sends("drop the milk").wait_for_line("asks 1>");
    story
}

fn remove(input: &str) -> ModelOutcome {
    ModelOutcome::tool_call("inbox_remove", input)
}

/// Compares the transcript since the mode was set, and examines the data directory. Confirmations
/// of answers are left out, because their position depends on timing.
fn check(mut story: Story, expected: &Expect) {
    let told = story.transcript();
    let (_, since) = told.split_once(MODE_SET).expect("a mode");
    let heard = |line: &&str| !line.starts_with("told> allowed") && !line.starts_with("told> denied");
    let since: Vec<&str> = since.lines().skip(1).filter(heard).collect();
    expected.assert_eq(&(since.join("\n") + "\n"));
    assert_eq!(findings(&mut story), [""; 0], "{told}");
}

fn findings(story: &mut Story) -> Vec<String> {
    let root = story.stop().paths();
    find_violations(root.root()).into_iter().filter(|wrong| !wrong.contains("has the mode")).collect()
}

/// Sets the mode in the settings file, for the next start.
fn set_startup_mode(story: &mut Story, mode: &str) {
    let settings = story.paths().state().join("config.json");
    std::fs::write(settings, format!("{{\"permission_mode\":\"{mode}\"}}")).expect("settings");
}
