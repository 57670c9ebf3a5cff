//! Stories about interactive forks: entering, use, and crashes.

use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-8, IF-9, TL-14, TL-15: the model enters and leaves a fork by itself.
pub fn model_enters_and_leaves_a_fork(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_call("enter_fork", r#"{"topic":"taxes"}"#),
        ModelOutcome::text("Let us look at your taxes."),
        ModelOutcome::tool_call("exit_fork", "{}"),
        ModelOutcome::text("Nothing to keep."),
        ModelOutcome::text("Hi."),
    ]);
    story.user("help me with my taxes").wait_for_line("Let us look").wait_for_answers();
    story.user("forget it").wait_for_line("discarded").user("hello");
    check(
        &story.transcript(),
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
pub fn history_lists_a_fork_once(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here.", "Yes."].map(ModelOutcome::text));
    story
        .user("good morning")
        .user_begins_command("/fork")
        .wait_for_line("I am here.")
        .wait_for_answers()
        .user("well?");
    let state = story.paths().state();
    let file = |name: &str| std::fs::read_to_string(state.join(name)).unwrap_or_default();
    let before = file("sessions.json");
    story.user_begins_command("/save").wait_for_line("saved");
    let after = file("sessions.json");
    let history = file("session_history.jsonl");
    let forked: Vec<&str> = history.lines().filter(|line| line.contains("interactive_fork")).collect();
    assert_eq!(forked.len(), 1, "{history}");
    assert!(forked[0].contains(before.trim()) && forked[0].contains(after.trim()), "{}", forked[0]);
    assert_ne!(before, after);
    assert!(history.lines().last().is_some_and(|line| line.contains("swapped")), "{history}");
}

/// IF-1, IF-3, IF-7, IF-24: forks are not nested, and only an open fork can be left.
pub fn forks_are_never_nested_and_only_left_once(model: ModelKind) {
    let mut story = story(model);
    story.script(["I am here."].map(ModelOutcome::text));
    story.user_commands("/save").user_commands("/report all is well").user_commands("/exit");
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story
        .user_commands("/fork more")
        .user_begins_command("/exit")
        .wait_for_line("discarded")
        .user_commands("/exit");
    check(
        &story.transcript(),
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
pub fn messages_before_a_fork_command_are_answered_where_they_were_sent(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::hang("One day"),
        ModelOutcome::text("Second."),
        ModelOutcome::text("I am here."),
    ]);
    story.script([ModelOutcome::hang("Once"), ModelOutcome::text("Fourth."), ModelOutcome::text("Main.")]);
    story.user_begins("first").user_sends("second").user_begins_command("/fork tea");
    story.wait_for_line("I am here.").wait_for_answers().user_begins("third");
    story.user_sends("fourth").user_begins_command("/save").wait_for_line("saved").user("fifth");
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
pub fn new_message_interrupts_the_answer_in_a_fork(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("I am here."),
        ModelOutcome::hang("It is a long"),
        ModelOutcome::text("Short."),
    ]);
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user_begins("explain").user("shorter").wait_for_answers();
    check(
        &story.transcript(),
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
pub fn clear_in_a_fork_discards_the_fork_and_main(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here."].map(ModelOutcome::text));
    story.script([ModelOutcome::hang("It is a long"), ModelOutcome::text("Hello.")]);
    story.user("good morning").user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user_begins("explain").user_commands("/clear").user("hi").crash().wait_for_answers();
    check(
        &story.transcript(),
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
pub fn fork_survives_a_crash(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here."].map(ModelOutcome::text));
    story.script([
        ModelOutcome::hang("It costs"),
        ModelOutcome::text("It costs 80."),
        ModelOutcome::text("Bye."),
    ]);
    story
        .user("good morning")
        .user_begins_command("/fork flights")
        .wait_for_line("I am here.")
        .wait_for_answers();
    story.user_begins("how much?").crash().wait_for_answers();
    story.user_begins_command("/report 80").wait_for_line("summary queued").user("thanks");
    check(
        &story.transcript(),
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
