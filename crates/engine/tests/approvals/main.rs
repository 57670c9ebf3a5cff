//! Stories about approvals: asked, answered, late, cancelled, and across a crash.

#![expect(clippy::expect_used, reason = "test helpers stop at once with the reason")]

mod answering;
mod cancelling;
mod late;
mod modes;
mod trouble;

use expect_test::Expect;
use testkit::oracle::examine;
use testkit::puppet::Line;
use testkit::story::Story;

const ONE: &str = r#"{"number":1}"#;
/// The reply to switching to the mode `default`.
const ASKING: &str = "told> from now on the mode is `default`";

/// Starts with two items in the inbox and the mode `default`.
fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.model([
        Line::calls_all(&[("inbox_add", r#"{"text":"milk"}"#), ("inbox_add", r#"{"text":"tea"}"#)]),
        Line::says("Kept."),
    ]);
    story.human("remember milk and tea").human_commands("/permissions default");
    story
}

/// The model asks to remove the first item, then continues with `lines`.
fn asked(lines: impl IntoIterator<Item = Line>) -> Story {
    let mut story = story();
    story.model([remove(ONE)]).model(lines);
    story.human_adds("drop the milk").hears("asks 1>");
    story
}

fn remove(input: &str) -> Line {
    Line::calls("inbox_remove", input)
}

/// Compares the transcript since the mode was set, and examines the data directory. Confirmations
/// of answers are left out, because their position depends on timing.
fn check(mut story: Story, expected: &Expect) {
    let told = story.told();
    let (_, since) = told.split_once(ASKING).expect("a mode");
    let heard = |line: &&str| !line.starts_with("told> allowed") && !line.starts_with("told> denied");
    let since: Vec<&str> = since.lines().skip(1).filter(heard).collect();
    expected.assert_eq(&(since.join("\n") + "\n"));
    assert_eq!(wrong(&mut story), [""; 0], "{told}");
}

fn wrong(story: &mut Story) -> Vec<String> {
    let root = story.die().paths();
    examine(root.root()).into_iter().filter(|wrong| !wrong.contains("has the mode")).collect()
}

/// Sets the mode in the settings file, for the next start.
fn prefer(story: &mut Story, mode: &str) {
    let settings = story.paths().state().join("config.json");
    std::fs::write(settings, format!("{{\"permission_mode\":\"{mode}\"}}")).expect("settings");
}
