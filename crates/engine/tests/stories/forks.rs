//! Stories about interactive forks: entering, use, and crashes.

use expect_test::{Expect, expect};
use testkit::puppet::Line;

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-8, IF-9, TL-14, TL-15: the model enters and leaves a fork by itself.
pub fn the_model_enters_and_leaves(told_by: Teller) {
    let mut story = story(told_by);
    story.model([
        Line::calls("enter_fork", r#"{"topic":"taxes"}"#),
        Line::says("Let us look at your taxes."),
        Line::calls("exit_fork", "{}"),
        Line::says("Nothing to keep."),
        Line::says("Hi."),
    ]);
    story.human("help me with my taxes").hears("Let us look").settle();
    story.human("forget it").hears("discarded").human("hello");
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
          human: [fork-started]
          assistant: Let us look at your taxes.
          human: forget it
          assistant: calls exit_fork
          tools: the fork will be discarded after your response.
          assistant: Nothing to keep.  (fork/3fdabe86 dropped)
          human: hello
          assistant: Hi.  <- main
    "#]],
    );
}

/// SE-8, SE-10, IF-16, IF-18: the session history lists a fork once; main's session file changes
/// only if the fork is saved.
pub fn the_history_knows_a_fork_once(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Morning.", "I am here.", "Yes."].map(Line::says));
    story.human("good morning").human_begins_command("/fork").hears("I am here.").settle().human("well?");
    let state = story.paths().state();
    let file = |name: &str| std::fs::read_to_string(state.join(name)).unwrap_or_default();
    let before = file("sessions.json");
    story.human_begins_command("/save").hears("saved");
    let after = file("sessions.json");
    let history = file("session_history.jsonl");
    let forked: Vec<&str> = history.lines().filter(|line| line.contains("interactive_fork")).collect();
    assert_eq!(forked.len(), 1, "{history}");
    assert!(forked[0].contains(before.trim()) && forked[0].contains(after.trim()), "{}", forked[0]);
    assert_ne!(before, after);
    assert!(history.lines().last().is_some_and(|line| line.contains("swapped")), "{history}");
}

/// IF-1, IF-3, IF-7, IF-24: forks are not nested, and only an open fork can be left.
pub fn forks_are_never_nested_and_only_left_once(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["I am here."].map(Line::says));
    story.human_commands("/save").human_commands("/report all is well").human_commands("/exit");
    story.human_begins_command("/fork").hears("I am here.").settle();
    story
        .human_commands("/fork more")
        .human_begins_command("/exit")
        .hears("discarded")
        .human_commands("/exit");
    check(
        &story.told(),
        &expect![[r#"
        human> /save
        refused> we are not in a side conversation. /fork starts one.
        human> /report all is well
        refused> we are not in a side conversation. /fork starts one.
        human> /exit
        refused> we are not in a side conversation. /fork starts one.
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        human> /fork more
        refused> we are in a side conversation already. end it first: /save, /report or /exit.
        human> /exit
        -- fork/73d33b66 discarded.
        human> /exit
        refused> we are not in a side conversation. /fork starts one.
    "#]],
    );
}

/// MC-16, IF-7: messages before a fork command are answered where they were sent, in order.
pub fn words_before_a_fork_are_heard_on_main_and_words_before_its_end_in_it(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("One day"), Line::says("Second."), Line::says("I am here.")]);
    story.model([Line::holds("Once"), Line::says("Fourth."), Line::says("Main.")]);
    story.human_begins("first").human_adds("second").human_begins_command("/fork tea");
    story.hears("I am here.").settle().human_begins("third");
    story.human_adds("fourth").human_begins_command("/save").hears("saved").human("fifth");
    check(
        &story.tree(),
        &expect![[r#"
            human: first
            assistant: One day (cut)
            human: second
            assistant: Second.
            human: [fork-started]
            assistant: I am here.
            human: third
            assistant: Once (cut)
            human: fourth
            assistant: Fourth.  (fork/77cbc4a1 promoted)
            human: fifth
            assistant: Main.  <- main
        "#]],
    );
}

/// MC-6, IF-2: a new message interrupts the answer in a fork.
pub fn new_words_cut_the_answer_off_in_a_fork(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("I am here."), Line::holds("It is a long"), Line::says("Short.")]);
    story.human_begins_command("/fork").hears("I am here.").settle();
    story.human_begins("explain").human("shorter").settle();
    check(
        &story.told(),
        &expect![[r#"
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        human> explain
        fork/73d33b66> assistant: It is a long (cut)
        fork/73d33b66> stopped
        human> shorter
        fork/73d33b66> assistant: Short.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: [fork-started]
        assistant: I am here.
        human: explain
        assistant: It is a long (cut)
        human: shorter
        assistant: Short.  <- fork/73d33b66
    "#]],
    );
}

/// MC-21, MC-22, MC-23, IF-35, SE-5, SE-7: `/clear` in a fork ends the fork and main, also during
/// an answer, and the next message starts a new conversation.
pub fn clear_in_a_fork_drops_both(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Morning.", "I am here."].map(Line::says));
    story.model([Line::holds("It is a long"), Line::says("Hello.")]);
    story.human("good morning").human_begins_command("/fork").hears("I am here.").settle();
    story.human_begins("explain").human_commands("/clear").human("hi").crash().settle();
    check(
        &story.told(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> explain
        human> /clear
        fork/3fdabe86> stopped
        -- fork/3fdabe86 discarded: we started over.
        main> cleared
        told> cleared: both the side conversation and the conversation were dropped. /undo brings the conversation back.
        human> hi
        main> assistant: Hello.
        -- crash
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: good morning
              assistant: Morning.  (main cleared)
              human: [fork-started]
              assistant: I am here.
              human: explain  (fork/3fdabe86 dropped)
              human: hi
              assistant: Hello.  <- main
        "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 225ec07a · 2 entries
            ○    created 2026-11-15 08:00 · 225ec07a
            ╳    cleared 2026-11-15 08:00 · 63cbe1e4 · 2 entries
            ┃ ✕  fork/3fdabe86 dropped 2026-11-15 08:00 · 3 entries
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// A13: a fork is still open after a crash, and its pending answer is given.
pub fn a_fork_survives_a_crash(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Morning.", "I am here."].map(Line::says));
    story.model([Line::holds("It costs"), Line::says("It costs 80."), Line::says("Bye.")]);
    story.human("good morning").human_begins_command("/fork flights").hears("I am here.").settle();
    story.human_begins("how much?").crash().settle();
    story.human_begins_command("/report 80").hears("summary queued").human("thanks");
    check(
        &story.told(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> /fork flights
            -- fork/3fdabe86 begins about flights
            fork/3fdabe86> assistant: I am here.
            human> how much?
            -- crash
            -- fork/3fdabe86 begins about flights
            fork/3fdabe86> assistant: It costs 80.
            human> /report 80
            -- fork/3fdabe86 summary queued: 80
            notice> catching up: 1 update from the background.
            human> thanks
            main> assistant: Bye.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: good morning
        assistant: Morning.
          human: [fork-started]
          assistant: I am here.
          human: how much?
          assistant: It costs 80.  (fork/3fdabe86 reported)
          human: (reads 1 update) thanks
          assistant: Bye.  <- main
    "#]],
    );
}
