//! Approvals as stories: asked, answered, too late, cancelled, and over a crash.

#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

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
/// What the human hears who wants to be asked.
const ASKING: &str = "told> from now on the mode is `default`";

/// A morning on which two things are in the inbox, and the human wants to be asked.
fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.model([
        Line::calls_all(&[("inbox_add", r#"{"text":"milk"}"#), ("inbox_add", r#"{"text":"tea"}"#)]),
        Line::says("Kept."),
    ]);
    story.human("remember milk and tea").human_commands("/permissions default");
    story
}

/// The model wants to remove the first thing, and has asked for it; then it goes on with `lines`.
fn asked(lines: impl IntoIterator<Item = Line>) -> Story {
    let mut story = story();
    story.model([remove(ONE)]).model(lines);
    story.human_adds("drop the milk").hears("asks 1>");
    story
}

fn remove(input: &str) -> Line {
    Line::calls("inbox_remove", input)
}

/// What was told since the human set the mode, and what the directory says. When somebody who answers hears that it
/// was heard, the turn may have gone on already, so that has no place among the rest.
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

/// The mode from the next start on.
fn prefer(story: &mut Story, mode: &str) {
    let settings = story.paths().state().join("config.json");
    std::fs::write(settings, format!("{{\"permission_mode\":\"{mode}\"}}")).expect("settings");
}
