//! Requests for the human's yes as stories: asked, answered, too late, cancelled, and over a crash.

#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

mod approving;

use domain::tool::{Class, ToolSpec};
use expect_test::{Expect, expect};
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

/// PM-7, PM-9: the human is shown the whole call, says yes, and it runs.
#[test]
fn a_call_that_is_allowed_runs() {
    let mut story = asked([Line::says("Gone."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/allow 1").settle().human("what is left?");
    assert!(story.told().contains("told> allowed, this once."), "{}", story.told());
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        human> what is left?
        main> calls inbox_list {}
        main> inbox_list: 2. tea
        main> assistant: There.
    "#]],
    );
}

/// PM-9: a no is told to the model, and nothing happens.
#[test]
fn a_call_that_is_denied_does_not_run() {
    let mut story =
        asked([Line::says("As you like."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/deny").settle().human("what is left?");
    assert!(story.told().contains("told> denied."), "{}", story.told());
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /deny
        asks 1> denied (terminal)
        main> inbox_remove: Error: the human denied this. `inbox_remove` was not run. do not try it again unless they ask for it.
        main> assistant: As you like.
        human> what is left?
        main> calls inbox_list {}
        main> inbox_list: 1. milk
        2. tea
        main> assistant: There.
    "#]],
    );
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
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /always 1
        asks 1> always allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        human> /fork
        -- fork/77cbc4a1 begins
        fork/77cbc4a1> assistant: I am here.
        human> the tea too
        fork/77cbc4a1> calls inbox_remove {"number":2}
        fork/77cbc4a1> inbox_remove: removed 2: tea
        fork/77cbc4a1> assistant: Both.
        human> /exit
        -- fork/77cbc4a1 discarded.
        -- crash
        human> /permissions default
        told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
        human> and number three
        main> calls inbox_remove {"number":3}
        asks 2> inbox_remove {"number":3}
        asks 2> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]],
    );
}

/// PM-8, PM-10: the turn goes on without an answer, the request stays, and a late yes is for one exact call.
#[test]
fn a_late_yes_lets_exactly_that_call_run_once() {
    let mut story =
        asked([Line::says("I will wait."), remove(r#"{ "number": 1 }"#), Line::says("Gone."), remove(ONE)]);
    story.clock("08:10").settle().clock("11:00").human_commands("/allow 1").hears("Gone.");
    story.human_adds("once more").hears("asks 2>").human_stops();
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        -- 08:10
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. request 1 stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> assistant: I will wait.
        -- 11:00
        human> /allow 1
        asks 1> allowed (terminal)
        main> calls inbox_remove { "number": 1 }
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        human> once more
        main> calls inbox_remove {"number":1}
        asks 2> inbox_remove {"number":1}
        asks 2> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]],
    );
}

/// PM-10: a yes is not for other arguments, and ends after a day.
#[test]
fn a_late_yes_is_for_nothing_else() {
    let mut story = asked([Line::says("I will wait."), Line::says("Not now."), remove(r#"{"number":2}"#)]);
    story.clock("08:10").settle().human_commands("/allow 1").hears("Not now.");
    story.human_adds("the tea").hears("asks 2>").human_commands("/deny 2").settle();
    story.clock("08:09").clock("08:11").model([remove(ONE)]);
    story.human_adds("now the milk").hears("asks 3>").human_stops();
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        -- 08:10
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. request 1 stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> assistant: I will wait.
        human> /allow 1
        asks 1> allowed (terminal)
        main> assistant: Not now.
        human> the tea
        main> calls inbox_remove {"number":2}
        asks 2> inbox_remove {"number":2}
        human> /deny 2
        asks 2> denied (terminal)
        main> inbox_remove: Error: the human denied this. `inbox_remove` was not run. do not try it again unless they ask for it.
        main> assistant: (the model has no more lines)
        -- 08:09
        -- 08:11
        human> now the milk
        main> calls inbox_remove {"number":1}
        asks 3> inbox_remove {"number":1}
        asks 3> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]],
    );
}

/// PM-10: what nobody answers for a day expires, and says so.
#[test]
fn a_request_expires_after_a_day() {
    let mut story = asked([Line::says("I will wait.")]);
    story.clock("08:10").settle().clock("07:59").clock("08:01").hears("expired").human_commands("/allow 1");
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        -- 08:10
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. request 1 stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> assistant: I will wait.
        -- 07:59
        -- 08:01
        asks 1> expired (house)
        human> /allow 1
        refused> that expired at 08:01: nobody had answered for a day. it was not run.
    "#]],
    );
}

/// PM-11, PM-16, MC-8: words of the human come first; what was asked is cancelled and known not to have run.
#[test]
fn a_new_message_cancels_what_is_asked() {
    let mut story = asked([Line::says("What is it?")]);
    story.human("wait").human_commands("/allow 1");
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        asks 1> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
        human> wait
        main> assistant: What is it?
        human> /allow 1
        refused> that was cancelled at 08:00, because something else came first. it was not run.
    "#]],
    );
}

/// PM-16, MC-8: so does stopping.
#[test]
fn stopping_cancels_what_is_asked() {
    let mut story = asked([Line::says("Yes?")]);
    story.human_stops().human("hello");
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        asks 1> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
        human> hello
        main> assistant: Yes?
    "#]],
    );
}

/// PM-16: so does leaving the fork in which it was asked.
#[test]
fn leaving_a_fork_cancels_what_is_asked_there() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("Hi.")]);
    story.human_begins_command("/fork").hears("I am here.").human_adds("drop the milk").hears("asks 1>");
    story.human_commands("/exit").hears("discarded").human("hello");
    check(
        story,
        &expect![[r#"
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> drop the milk
        fork/3fdabe86> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /exit
        asks 1> cancelled (house)
        fork/3fdabe86> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        fork/3fdabe86> stopped
        -- fork/3fdabe86 discarded.
        human> hello
        main> assistant: Hi.
    "#]],
    );
}

/// PM-14, PM-16, MC-21: starting over cancels what is asked, and takes back what was allowed.
#[test]
fn starting_over_cancels_everything() {
    let mut story = asked([Line::says("Gone."), remove(r#"{"number":2}"#)]);
    story.human_commands("/always 1").settle().human("the tea too");
    story.human_commands("/permissions default").model([remove(r#"{"number":3}"#)]);
    story.human_commands("/clear").human_adds("number three").hears("asks 2>").human_commands("/clear");
    story.human("hello").human_commands("/allow 2");
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /always 1
        asks 1> always allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        human> the tea too
        main> calls inbox_remove {"number":2}
        main> inbox_remove: removed 2: tea
        main> assistant: (the model has no more lines)
        human> /permissions default
        told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
        human> /clear
        told> cleared: we start over with the next message.
        human> number three
        main> calls inbox_remove {"number":3}
        asks 2> inbox_remove {"number":3}
        human> /clear
        asks 2> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
        told> cleared: we start over with the next message.
        human> hello
        main> assistant: (the model has no more lines)
        human> /allow 2
        refused> that was cancelled at 08:00, because something else came first. it was not run.
    "#]],
    );
}

/// PM-14, MC-21: a late yes does not outlive the conversation either.
#[test]
fn starting_over_takes_a_late_yes_back() {
    let mut story = asked([Line::says("I will wait."), Line::says("Later."), remove(ONE)]);
    story.clock("08:10").settle().human_commands("/allow 1").hears("Later.").human_commands("/clear");
    story.human_adds("drop the milk").hears("asks 2>").human_stops();
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        -- 08:10
        asks 1> inbox_remove {"number":1} (nobody waits)
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. request 1 stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> assistant: I will wait.
        human> /allow 1
        asks 1> allowed (terminal)
        main> assistant: Later.
        human> /clear
        told> cleared: we start over with the next message.
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 2> inbox_remove {"number":1}
        asks 2> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]],
    );
}

/// A crash while the human is asked: the request is still there, the model knows that nothing ran, and a yes counts.
#[test]
fn a_request_survives_a_crash() {
    let mut story = asked([Line::says("Still open."), remove(ONE), Line::says("Gone.")]);
    story.crash().hears("Still open.").human_commands("/allow 1").hears("Gone.").human_commands("/allow 1");
    check(
        story,
        &expect![[r#"
            human> drop the milk
            main> calls inbox_remove {"number":1}
            asks 1> inbox_remove {"number":1}
            -- crash
            asks 1> inbox_remove {"number":1} (nobody waits)
            main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. request 1 stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
            main> assistant: Still open.
            human> /allow 1
            asks 1> allowed (terminal)
            main> calls inbox_remove {"number":1}
            main> inbox_remove: removed 1: milk
            main> assistant: Gone.
            human> /allow 1
            refused> that was already answered: allowed at 08:00, on the terminal.
        "#]],
    );
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
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 7
        refused> there is no request 7. these wait for your yes or no: 1.
        human> /allow milk
        refused> `milk` is no number. say it with the number on the card, such as `/allow 3`.
        human> /deny 0
        refused> there is no request 0. these wait for your yes or no: 1.
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        -- 10:42
        human> /deny 1
        refused> that was already answered: allowed at 08:00, on the terminal.
        human> /always
        refused> nothing waits for your yes or no.
        -- crash
        human> /deny 1
        refused> that was already answered: allowed at 08:00, on the terminal.
    "#]],
    );
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
    check(
        story,
        &expect![[r#"
        human> tidy up
        main> calls inbox_remove {"number":1}
        main> calls inbox_add {"text":"salt"}
        main> calls inbox_remove {"number":2}
        asks 1> inbox_remove {"number":1}
        asks 2> inbox_remove {"number":2}
        human> /status
        told> inbox: 3. messages waiting: 0. requests for your yes: 2.
        human> /allow
        refused> say which one, such as `/allow 3`. these wait for your yes or no: 1, 2.
        human> /deny 2
        asks 2> denied (terminal)
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> inbox_add: kept as 3
        main> inbox_remove: Error: the human denied this. `inbox_remove` was not run. do not try it again unless they ask for it.
        main> assistant: Done.
    "#]],
    );
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
    check(
        story,
        &expect![[r#"
        human> /permissions
        told> the mode is `default`: i ask you before i do something that can't be taken back. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
        human> /permissions DEFAULT
        refused> `DEFAULT` is no mode. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> /permissions bypassPermissions
        told> in this side conversation the mode is `bypassPermissions`: i ask for nothing; only `state/` stays protected, and nothing changes in the background.
        human> drop the milk
        fork/3fdabe86> calls inbox_remove {"number":1}
        fork/3fdabe86> inbox_remove: removed 1: milk
        fork/3fdabe86> assistant: Gone.
        human> /exit
        -- fork/3fdabe86 discarded.
        human> and the tea
        main> calls inbox_remove {"number":2}
        asks 1> inbox_remove {"number":2}
        asks 1> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]],
    );
}

/// PM-1, PM-2, PM-5: who does not want to be asked is not, and the model hears what would help.
#[test]
fn who_does_not_want_to_be_asked_is_not() {
    let mut story = story();
    story.model([remove(ONE), Line::says("I may not.")]);
    story.human_commands("/permissions dontAsk").human("drop the milk");
    check(
        story,
        &expect![[r#"
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        human> drop the milk
        main> calls inbox_remove {"number":1}
        main> inbox_remove: Error: `inbox_remove` requires permission, and the human does not want to be asked now. it was not run. tell them what you wanted to do: with `/permissions default` they are asked, and you can try again.
        main> assistant: I may not.
    "#]],
    );
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
    check(
        story,
        &expect![[r#"
        -- crash
        human> /permissions
        told> the mode is `acceptEdits`: i edit files without asking, and ask for the rest. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        -- crash
        human> /permissions
        told> the mode is `acceptEdits`: i edit files without asking, and ask for the rest. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
    "#]],
    );
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
    check(
        story,
        &expect![[r#"
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions default
        told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions acceptEdits
        told> from now on the mode is `acceptEdits`: i edit files without asking, and ask for the rest.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions bypassPermissions
        told> from now on the mode is `bypassPermissions`: i ask for nothing; only `state/` stays protected, and nothing changes in the background.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions acceptEdits
        told> from now on the mode is `acceptEdits`: i edit files without asking, and ask for the rest.
        human> write it down
        main> calls Write {"file_path":"notes/day.md"}
        main> Write: did {"file_path":"notes/day.md"}
        main> assistant: Written.
    "#]],
    );
}
