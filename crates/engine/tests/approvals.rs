//! Requests for the human's yes as stories: asked, answered, too late, cancelled, and over a crash.

#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

mod approving;

use domain::tool::{Class, ToolSpec};
use expect_test::{Expect, expect};
use testkit::oracle::examine;
use testkit::puppet::Line;
use testkit::story::Story;

const ONE: &str = r#"{"number":1}"#;

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

/// What was told since the mode was set, and what the directory says.
fn check(mut story: Story, expected: &Expect) {
    let told = story.told();
    let (_, since) = told.split_once("`state/`").unwrap_or(("", &told));
    let (_, since) = since.split_once("told> ").unwrap_or(("", since));
    let (_, since) = since.split_once('\n').unwrap_or(("", since));
    expected.assert_eq(since);
    assert_eq!(wrong(&mut story), [""; 0], "{told}");
}

fn wrong(story: &mut Story) -> Vec<String> {
    let root = story.die().paths();
    examine(root.root()).into_iter().filter(|wrong| !wrong.contains("has the mode")).collect()
}

/// PM-7, PM-9: the human is shown the whole call, says yes, and it runs.
#[test]
fn a_call_that_is_allowed_runs() {
    let mut story = asked([Line::says("Gone."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/allow 1").settle().human("what is left?");
    check(story, &expect![[r#""#]]);
}

/// PM-9: a no is told to the model, and nothing happens.
#[test]
fn a_call_that_is_denied_does_not_run() {
    let mut story =
        asked([Line::says("As you like."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/deny").settle().human("what is left?");
    check(story, &expect![[r#""#]]);
}

/// PM-7, PM-9, PM-14: what is always allowed is not asked for again, on main and in a fork, until a restart.
#[test]
fn a_tool_that_is_always_allowed_is_not_asked_for_again() {
    let mut story = asked([
        Line::says("Gone."),
        Line::says("I am here."),
        remove(r#"{"number":2}"#),
        Line::says("Both."),
    ]);
    story.human_commands("/always 1").settle().human_begins_command("/fork").hears("I am here.");
    story.human("the tea too").human_commands("/exit");
    story.crash().human_commands("/permissions default").model([remove(r#"{"number":3}"#)]);
    story.human_adds("and number three").hears("asks 2>").human_stops();
    check(story, &expect![[r#""#]]);
}

/// PM-8, PM-10: the turn goes on without an answer, the request stays, and a late yes is for one exact call.
#[test]
fn a_late_yes_lets_exactly_that_call_run_once() {
    let mut story =
        asked([Line::says("I will wait."), remove(r#"{ "number": 1 }"#), Line::says("Gone."), remove(ONE)]);
    story.clock("08:10").settle().clock("11:00").human_commands("/allow 1").hears("Gone.");
    story.human_adds("once more").hears("asks 2>").human_stops();
    check(story, &expect![[r#""#]]);
}

/// PM-10: a yes is not for other arguments, and ends after a day.
#[test]
fn a_late_yes_is_for_nothing_else() {
    let mut story = asked([Line::says("I will wait."), Line::says("Not now."), remove(r#"{"number":2}"#)]);
    story.clock("08:10").settle().human_commands("/allow 1").hears("Not now.");
    story.human_adds("the tea").hears("asks 2>").human_commands("/deny 2").settle();
    story.clock("08:09").clock("08:11").model([remove(ONE)]);
    story.human_adds("now the milk").hears("asks 3>").human_stops();
    check(story, &expect![[r#""#]]);
}

/// PM-10: what nobody answers for a day expires, and says so.
#[test]
fn a_request_expires_after_a_day() {
    let mut story = asked([Line::says("I will wait.")]);
    story.clock("08:10").settle().clock("07:59").clock("08:01").hears("expired").human_commands("/allow 1");
    check(story, &expect![[r#""#]]);
}

/// PM-11, PM-16, MC-8: words of the human come first; what was asked is cancelled and known not to have run.
#[test]
fn a_new_message_cancels_what_is_asked() {
    let mut story = asked([Line::says("What is it?")]);
    story.human("wait").human_commands("/allow 1");
    check(story, &expect![[r#""#]]);
}

/// PM-16, MC-8: so does stopping.
#[test]
fn stopping_cancels_what_is_asked() {
    let mut story = asked([Line::says("Yes?")]);
    story.human_stops().human("hello");
    check(story, &expect![[r#""#]]);
}

/// PM-16: so does leaving the fork in which it was asked.
#[test]
fn leaving_a_fork_cancels_what_is_asked_there() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("Hi.")]);
    story.human_begins_command("/fork").hears("I am here.").human_adds("drop the milk").hears("asks 1>");
    story.human_commands("/exit").hears("discarded").human("hello");
    check(story, &expect![[r#""#]]);
}

/// PM-14, PM-16, MC-21: starting over cancels what is asked, and takes back what was allowed.
#[test]
fn starting_over_cancels_everything() {
    let mut story = asked([Line::says("Gone."), remove(r#"{"number":2}"#)]);
    story.human_commands("/always 1").settle().human("the tea too");
    story.human_commands("/permissions default").model([remove(r#"{"number":3}"#)]);
    story.human_commands("/clear").human_adds("number three").hears("asks 2>").human_commands("/clear");
    story.human("hello").human_commands("/allow 2");
    check(story, &expect![[r#""#]]);
}

/// PM-14, MC-21: a late yes does not outlive the conversation either.
#[test]
fn starting_over_takes_a_late_yes_back() {
    let mut story = asked([Line::says("I will wait."), Line::says("Later."), remove(ONE)]);
    story.clock("08:10").settle().human_commands("/allow 1").hears("Later.").human_commands("/clear");
    story.human_adds("drop the milk").hears("asks 2>").human_stops();
    check(story, &expect![[r#""#]]);
}

/// A crash while the human is asked: the request is still there, the model knows that nothing ran, and a yes counts.
#[test]
fn a_request_survives_a_crash() {
    let mut story = asked([Line::says("Still open."), remove(ONE), Line::says("Gone.")]);
    story.crash().hears("Still open.").human_commands("/allow 1").hears("Gone.").human_commands("/allow 1");
    check(story, &expect![[r#""#]]);
}

/// The first answer counts; whoever answers again, late, or something that was never asked, hears so.
#[test]
fn a_second_answer_hears_what_the_first_one_was() {
    let mut story = asked([Line::says("Gone.")]);
    for wrong in ["/allow 7", "/allow milk", "/deny 0"] {
        story.human_commands(wrong);
    }
    story.human_commands("/allow 1").settle().clock("10:42");
    story.human_commands("/deny 1").human_commands("/always").crash().human_commands("/deny 1");
    check(story, &expect![[r#""#]]);
}

/// PM-13: while one call waits, the others of the same reply run, and whoever asks is answered.
#[test]
fn nobody_else_waits_for_an_answer() {
    let mut story = story();
    story.model([Line::calls_all(&[
        ("inbox_remove", ONE),
        ("inbox_add", r#"{"text":"salt"}"#),
        ("inbox_remove", r#"{"number":2}"#),
    ])]);
    story.model([Line::says("Done.")]).human_adds("tidy up").hears("asks 2>");
    story
        .human_commands("/status")
        .human_commands("/allow")
        .human_commands("/deny 2")
        .human_commands("/allow 1")
        .settle();
    check(story, &expect![[r#""#]]);
}

/// PM-1, PM-3, SL-11, MC-28: the mode is told, chosen by its exact name, and in a fork holds for the fork alone.
#[test]
fn a_mode_is_chosen_where_the_human_is() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("Gone."), remove(r#"{"number":2}"#)]);
    story
        .human_commands("/permissions")
        .human_commands("/permissions DEFAULT")
        .human_begins_command("/fork")
        .hears("I am here.");
    story.human_commands("/permissions bypassPermissions").human("drop the milk").human_commands("/exit");
    story.human_adds("and the tea").hears("asks 1>").human_stops();
    check(story, &expect![[r#""#]]);
}

/// PM-1, PM-2, PM-5: who does not want to be asked is not, and the model hears what would help.
#[test]
fn who_does_not_want_to_be_asked_is_not() {
    let mut story = story();
    story.model([remove(ONE), Line::says("I may not.")]);
    story.human_commands("/permissions dontAsk").human("drop the milk");
    check(story, &expect![[r#""#]]);
}

/// PM-4, MC-29, RC-7: the mode at the start is the one in the settings, and a change is not kept.
#[test]
fn the_mode_at_the_start_is_the_one_in_the_settings() {
    let mut story = story();
    let settings = story.die().paths().state().join("config.json");
    std::fs::write(settings, r#"{"permission_mode":"acceptEdits"}"#).expect("settings");
    story
        .crash()
        .human_commands("/permissions")
        .human_commands("/permissions dontAsk")
        .crash()
        .human_commands("/permissions");
    check(story, &expect![[r#""#]]);
}

/// PM-5, PM-6, TP-17: nobody writes into `state/`, whatever the mode, and edits are accepted only elsewhere.
#[test]
fn the_folder_of_the_program_stays_closed() {
    let mut story = story();
    story.lend(&[ToolSpec {
        name: "Write",
        description: "Writes a file.",
        schema: "{}",
        class: Class::Edits,
    }]);
    for mode in ["dontAsk", "default", "acceptEdits", "bypassPermissions"] {
        story.model([
            Line::calls_all(&[("Write", r#"{"file_path":"state/config.json"}"#), ("Write", "{}")]),
            Line::says("I may not."),
        ]);
        story.human_commands(&format!("/permissions {mode}")).human("change the settings");
    }
    story.model([Line::calls("Write", r#"{"file_path":"notes/day.md"}"#), Line::says("Written.")]);
    story.human_commands("/permissions acceptEdits").human("write it down");
    check(story, &expect![[r#""#]]);
}
