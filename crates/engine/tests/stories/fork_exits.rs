//! Stories about the exits of a fork, and what each returns to main.

use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-7, IF-12, IF-20, PU-4, SE-9: `/report` with the user's own text; main reads it once.
pub fn report_reaches_main_once(model: ModelKind) {
    let mut story = story(model);
    let lines = ["Morning.", "I am here.", "Cheap.", "Lisbon.", "Yes."];
    story.script(lines.map(ModelOutcome::text));
    story
        .user("good morning")
        .user_begins_command("/fork flights")
        .wait_for_line("I am here.")
        .wait_for_answers();
    story
        .user("how much is it?")
        .user_begins_command("/report the flight costs 80")
        .wait_for_line("summary queued");

    story.user("what did you find?").user("anything else?");

    check(
        &story.transcript(),
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
            notice> catching up: 1 update from the background.
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
          human: [fork-started]
          assistant: I am here.
          human: how much is it?
          assistant: Cheap.  (fork/3fdabe86 reported)
          human: (reads 1 update) what did you find?
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

/// IF-25: `/report` without a text asks the model to write the report.
pub fn model_writes_the_report_on_request(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("I am here."),
        ModelOutcome::text("Cheap."),
        ModelOutcome::tool_call("report_updates", r#"{"message":"flights cost 80"}"#),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Ok."),
    ]);
    story
        .user_begins_command("/fork flights")
        .wait_for_line("I am here.")
        .wait_for_answers()
        .user("how much is it?");

    story.user_begins_command("/report").wait_for_line("summary queued").user("so?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> /fork flights
            -- fork/73d33b66 begins about flights
            fork/73d33b66> assistant: I am here.
            human> how much is it?
            fork/73d33b66> assistant: Cheap.
            human> /report
            fork/73d33b66> calls report_updates {"message":"flights cost 80"}
            fork/73d33b66> report_updates: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
            fork/73d33b66> assistant: Done.
            -- fork/73d33b66 summary queued: flights cost 80
            notice> catching up: 1 update from the background.
            human> so?
            main> assistant: Ok.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: [fork-started]
              assistant: I am here.
              human: how much is it?
              assistant: Cheap.
              human: [system]
              assistant: calls report_updates
              tools: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
              assistant: Done.  (fork/73d33b66 reported)
              human: (reads 1 update) so?
              assistant: Ok.  <- main
        "#]],
    );
}

/// IF-25: if the model reports nothing, the fork stays open.
pub fn missing_report_leaves_the_fork_open(model: ModelKind) {
    let mut story = story(model);
    story.script(["I am here.", "There is nothing to say.", "Still here."].map(ModelOutcome::text));
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();

    story.user_begins_command("/report").wait_for_line("nothing was reported").user("well?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> /fork
            -- fork/73d33b66 begins
            fork/73d33b66> assistant: I am here.
            human> /report
            fork/73d33b66> assistant: There is nothing to say.
            notice> nothing was reported, so we are still in the side conversation. leave it with your own words (/report WORDS), or with /save or /exit.
            human> well?
            fork/73d33b66> assistant: Still here.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
        human: [fork-started]
        assistant: I am here.
        human: [system]
        assistant: There is nothing to say.
        human: well?
        assistant: Still here.  <- fork/73d33b66
    "#]],
    );
}

/// IF-20, IF-24, MC-25, SE-4, SE-9: a saved fork becomes main.
pub fn saved_fork_becomes_main(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here.", "Noted.", "80."].map(ModelOutcome::text));
    story.user("good morning").user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user("it costs 80").user_begins_command("/save").wait_for_line("saved:").user("what does it cost?");
    check(
        &story.transcript(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> it costs 80
        fork/3fdabe86> assistant: Noted.
        human> /save
        -- fork/3fdabe86 saved: it is the main conversation now. /undo takes that back.
        human> what does it cost?
        main> assistant: 80.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
            human: [fork-started]
            assistant: I am here.
            human: it costs 80
            assistant: Noted.  (fork/3fdabe86 promoted)
            human: what does it cost?
            assistant: 80.  <- main
        "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 953aeb70 · 8 entries
            ┃◀╮  fork/3fdabe86 saved 2026-11-15 08:00 · 4 entries · main 63cbe1e4 → 953aeb70
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// IF-20, IF-25: `/exit` keeps nothing, and does not wait for a running answer.
pub fn fork_can_be_left_during_an_answer(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("I am here."),
        ModelOutcome::hang("It all began"),
        ModelOutcome::text("Hi."),
    ]);
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();

    story
        .user_begins("tell me a story")
        .user_begins_command("/exit")
        .wait_for_line("discarded")
        .user("hello");

    check(
        &story.transcript(),
        &expect![[r#"
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        human> tell me a story
        human> /exit
        fork/73d33b66> assistant: It all began (cut)
        fork/73d33b66> stopped
        -- fork/73d33b66 discarded.
        human> hello
        main> assistant: Hi.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: [fork-started]
              assistant: I am here.
              human: tell me a story
              assistant: It all began (cut)  (fork/73d33b66 dropped)
              human: hello
              assistant: Hi.  <- main
        "#]],
    );
}

/// IF-21, TL-10: the model saves the fork.
pub fn model_saves_the_fork(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("I am here."),
        ModelOutcome::tool_call("save_context", "{}"),
        ModelOutcome::text("Kept."),
        ModelOutcome::text("Yes."),
    ]);
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user("remember that i like tea").wait_for_line("saved").user("tea?");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        human> remember that i like tea
        fork/73d33b66> calls save_context {}
        fork/73d33b66> save_context: the fork will be promoted to the main conversation after your response.
        fork/73d33b66> assistant: Kept.
        -- fork/73d33b66 saved: it is the main conversation now. /undo takes that back.
        human> tea?
        main> assistant: Yes.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: [fork-started]
            assistant: I am here.
            human: remember that i like tea
            assistant: calls save_context
            tools: the fork will be promoted to the main conversation after your response.
            assistant: Kept.  (fork/73d33b66 promoted)
            human: tea?
            assistant: Yes.  <- main
        "#]],
    );
}

/// IF-21, IF-23, TL-12: the last exit tool counts, but an earlier report stays.
pub fn last_exit_tool_of_the_model_counts(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("I am here."),
        ModelOutcome::tool_call("report_updates", r#"{"message":"likes tea"}"#),
        ModelOutcome::tool_call("exit_fork", "{}"),
        ModelOutcome::text("Bye."),
        ModelOutcome::text("Tea it is."),
    ]);
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user("i like tea").wait_for_line("discarded").user("what do i like?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> /fork
            -- fork/73d33b66 begins
            fork/73d33b66> assistant: I am here.
            human> i like tea
            fork/73d33b66> calls report_updates {"message":"likes tea"}
            fork/73d33b66> report_updates: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
            fork/73d33b66> calls exit_fork {}
            fork/73d33b66> exit_fork: the fork will be discarded after your response.
            fork/73d33b66> assistant: Bye.
            -- fork/73d33b66 discarded.
            notice> catching up: 1 update from the background.
            human> what do i like?
            main> assistant: Tea it is.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: [fork-started]
              assistant: I am here.
              human: i like tea
              assistant: calls report_updates
              tools: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
              assistant: calls exit_fork
              tools: the fork will be discarded after your response.
              assistant: Bye.  (fork/73d33b66 dropped)
              human: (reads 1 update) what do i like?
              assistant: Tea it is.  <- main
        "#]],
    );
}
