//! Side conversations as stories: how one begins, the three ways out, and what comes back.

use expect_test::{Expect, expect};
use testkit::puppet::Line;
use testkit::story::Story;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-7, IF-12, IF-20: by command, and left with the human's own words; main reads them once.
#[test]
fn a_report_comes_back_to_main_once() {
    let mut story = story();
    story.model([
        Line::says("Morning."),
        Line::says("I am here."),
        Line::says("Cheap."),
        Line::says("Lisbon."),
        Line::says("Yes."),
    ]);
    story.human("good morning").human_begins_command("/fork flights").hears("I am here.");
    story
        .human("how much is it?")
        .human_begins_command("/report the flight costs 80")
        .hears("summary queued");

    story.human("what did you find?").human("anything else?");

    check(
        &story.told(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> /fork flights
        -- fork/3fdabe86 begins about flights
        fork/3fdabe86> assistant: I am here.
        human> how much is it?
        fork/3fdabe86> assistant: Cheap.
        human> /report the flight costs 80
        -- fork/3fdabe86 summary queued: the flight costs 80
        human> what did you find?
        main> assistant: Lisbon.
        human> anything else?
        main> assistant: Yes.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: good morning
        assistant: Morning.
          human: 
          assistant: I am here.
          human: how much is it?
          assistant: Cheap.
          human: what did you find?
          assistant: Lisbon.
          human: anything else?
          assistant: Yes.  <- main
    "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 63cbe1e4 · 6 entries
            ┃◁╮  fork/3fdabe86 reported 2026-11-15 08:00 · flights · 4 entries
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · flights · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// IF-20, MC-25: a saved fork is the main conversation.
#[test]
fn a_saved_fork_becomes_main() {
    let mut story = story();
    story.model([Line::says("Morning."), Line::says("I am here."), Line::says("Noted."), Line::says("80.")]);
    story.human("good morning").human_begins_command("/fork").hears("I am here.");
    story.human("it costs 80").human_begins_command("/save").hears("saved:").human("what does it cost?");
    check(
        &story.told(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> it costs 80
        fork/3fdabe86> assistant: Noted.
        human> /save
        -- fork/3fdabe86 saved: it is the main conversation now.
        human> what does it cost?
        main> assistant: 80.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: good morning
        assistant: Morning.
        human: 
        assistant: I am here.
        human: it costs 80
        assistant: Noted.
        human: what does it cost?
        assistant: 80.  <- main
    "#]],
    );
}

/// IF-8, IF-9, TL-14, TL-15: the model steps aside and leaves by itself.
#[test]
fn the_model_enters_and_leaves() {
    let mut story = story();
    story.model([
        Line::calls("enter_fork", r#"{"topic":"taxes"}"#),
        Line::says("Let us look at your taxes."),
        Line::calls("exit_fork", "{}"),
        Line::says("Nothing to keep."),
        Line::says("Hi."),
    ]);
    story
        .human("help me with my taxes")
        .hears("Let us look")
        .human("forget it")
        .hears("discarded")
        .human("hello");
    check(
        &story.told(),
        &expect![[r#"
        human> help me with my taxes
        main> calls enter_fork {"topic":"taxes"}
        main> enter_fork: Entering fork: this turn is being interrupted, and goes on there.
        -- fork/3fdabe86 begins about taxes
        fork/3fdabe86> assistant: Let us look at your taxes.
        human> forget it
        fork/3fdabe86> calls exit_fork {}
        fork/3fdabe86> exit_fork: the fork will be discarded after your response.
        fork/3fdabe86> assistant: Nothing to keep.
        -- fork/3fdabe86 discarded.
        human> hello
        main> assistant: Hi.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: help me with my taxes
        assistant: calls enter_fork
        tools: Entering fork: this turn is being interrupted, and goes on there.
          human: 
          assistant: Let us look at your taxes.
          human: forget it
          assistant: calls exit_fork
          tools: the fork will be discarded after your response.
          assistant: Nothing to keep.
          human: hello
          assistant: Hi.  <- main
    "#]],
    );
}

/// IF-28, IF-31: a quiet fork is asked about and ends, without a call of the model; also across a restart.
#[test]
fn a_quiet_fork_ends_by_itself() {
    let mut story = story();
    story.model([Line::says("I am here."), Line::says("Hi.")]);
    story
        .human_begins_command("/fork")
        .hears("I am here.")
        .crash()
        .clock("08:11")
        .hears("quiet for 10 minutes");
    story.clock("08:22").hears("discarded").human("hello");
    check(
        &story.told(),
        &expect![[r#"
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        -- crash
        -- 08:11
        -- fork/73d33b66 begins
        notice> this side conversation has been quiet for 10 minutes. say something to keep it, or leave it: /save, /report or /exit. in 10 minutes it ends by itself.
        -- 08:22
        -- fork/73d33b66 discarded: nobody had spoken for a while.
        human> hello
        main> assistant: Hi.
    "#]],
    );
    assert_eq!(story.contexts().len(), 2, "nobody was asked whether it is idle");
}
