//! Stories about idle forks, and forks with failures.

use domain::failure::Failure;
use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-26, IF-27, IF-28, IF-29, IF-30, IF-31, IF-32: an idle fork shows a notice, a message keeps it
/// open, and after twenty idle minutes it ends. No model is called for that, and a restart changes
/// nothing.
pub fn idle_fork_shows_a_notice_and_ends(model: ModelKind) {
    let mut story = story(model);
    story.script(["I am here.", "Go on.", "Hi."].map(ModelOutcome::text));
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.clock("08:11").wait_for_last_line("quiet for 10 minutes").user("wait a little");
    story.clock("08:20").crash().clock("08:22").wait_for_last_line("quiet for 10 minutes");
    story.crash().clock("08:33").wait_for_line("discarded").user("hello");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /fork
        -- fork/73d33b66 begins
        fork/73d33b66> assistant: I am here.
        -- 08:11
        notice> this side conversation has been quiet for 10 minutes. say something to keep it, or leave it: /save, /report or /exit. in 10 minutes it ends by itself.
        human> wait a little
        fork/73d33b66> assistant: Go on.
        -- 08:20
        -- crash
        -- 08:22
        -- fork/73d33b66 begins
        notice> this side conversation has been quiet for 10 minutes. say something to keep it, or leave it: /save, /report or /exit. in 10 minutes it ends by itself.
        -- crash
        -- 08:33
        -- fork/73d33b66 begins
        -- fork/73d33b66 discarded: nobody had spoken for a while.
        human> hello
        main> assistant: Hi.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: [fork-started]
              assistant: I am here.
              human: wait a little
              assistant: Go on.  (fork/73d33b66 lapsed)
              human: hello
              assistant: Hi.  <- main
        "#]],
    );
    assert_eq!(story.contexts().len(), 3, "nobody was asked whether it is idle");
}

/// IF-11, TL-13: the model can set the idle timeout of a fork.
pub fn model_sets_the_idle_timeout(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_call("enter_fork", r#"{"idle_timeout":30}"#),
        ModelOutcome::text("I am here."),
    ]);
    story.user("let us talk").wait_for_line("I am here.").wait_for_answers();
    story.clock("08:29").wait_for_answers().clock("08:31").wait_for_last_line("quiet for 30 minutes");
    story.clock("09:02").wait_for_line("discarded");
    check(
        &story.transcript(),
        &expect![[r#"
        human> let us talk
        main> calls enter_fork {"idle_timeout":30}
        main> enter_fork: Entering fork: this turn is being interrupted, and goes on there.
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        -- 08:29
        -- 08:31
        notice> this side conversation has been quiet for 30 minutes. say something to keep it, or leave it: /save, /report or /exit. in 30 minutes it ends by itself.
        -- 09:02
        -- fork/3fdabe86 discarded: nobody had spoken for a while.
    "#]],
    );
}

/// IF-9, IF-10: a requested fork opens after the running answer, also after a crash before that.
pub fn requested_fork_opens_after_a_crash(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::hang("Well"),
        ModelOutcome::text("Well, well."),
        ModelOutcome::text("I am here."),
    ]);
    story
        .user_begins("good morning")
        .user_begins_command("/fork tea")
        .crash()
        .wait_for_line("I am here.")
        .wait_for_answers();
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            human> /fork tea
            -- crash
            main> assistant: Well, well.
            -- fork/893eb7db begins about tea
            fork/893eb7db> assistant: I am here.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Well, well.  <- main
            human: [fork-started]
            assistant: I am here.  <- fork/893eb7db
        "#]],
    );
}

/// CP-6, IF-17: a fork that exceeds the context window is compacted, and continues under a new
/// session.
pub fn full_fork_is_compacted_and_main_is_not(model: ModelKind) {
    let mut story = story(model);
    let full = Failure::ContextFull("prompt is too long".to_owned());
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::text("I am here."),
        ModelOutcome::fail(full),
    ]);
    story.script([
        ModelOutcome::text("[2026-11-15 08:00] We talked of tea."),
        ModelOutcome::text("Green."),
        ModelOutcome::text("Bye."),
    ]);
    story
        .user("good morning")
        .user_begins_command("/fork tea")
        .wait_for_line("I am here.")
        .wait_for_answers();
    story
        .user("which tea?")
        .user_begins_command("/report green tea")
        .wait_for_line("summary queued")
        .user("bye");
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> /fork tea
            -- fork/3fdabe86 begins about tea
            fork/3fdabe86> assistant: I am here.
            human> which tea?
            fork/3fdabe86> compacting 15 tokens
            fork/3fdabe86> summary: [2026-11-15 08:00] We talked of tea.
            fork/3fdabe86> compacted: 3 turns · < 1m · 0k tokens compacted
            fork/3fdabe86> assistant: Green.
            human> /report green tea
            -- fork/3fdabe86 summary queued: green tea
            notice> catching up: 1 update from the background.
            human> bye
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
          human: which tea?
          summary: [2026-11-15 08:00] We talked of tea.
          human: 
          assistant: Green.  (fork/3fdabe86 reported)
          human: (reads 1 update) bye
          assistant: Bye.  <- main
    "#]],
    );
}

/// E5, IF-19: a fork can be left while its turn waits for a key.
pub fn fork_that_waits_for_a_key_can_be_left(model: ModelKind) {
    let mut story = story(model);
    let refused = || ModelOutcome::fail(Failure::BadKey("invalid x-api-key".to_owned()));
    story.script([ModelOutcome::text("I am here."), refused(), ModelOutcome::text("Hi.")]);
    story.user_begins_command("/fork tea").wait_for_line("I am here.").wait_for_answers();
    story.user_sends("which tea?").wait_for_line("notice>");
    story.user_commands("/report").user_begins_command("/exit").wait_for_line("discarded").user("hello");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /fork tea
        -- fork/73d33b66 begins about tea
        fork/73d33b66> assistant: I am here.
        human> which tea?
        notice> The model refused the key (invalid x-api-key). Your messages are kept and answered in order once it accepts a key. `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a message.
        human> /report
        refused> the model refuses the key, so it can't sum this up. use your own words: /report WORDS
        human> /exit
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
              human: which tea?  (fork/73d33b66 dropped)
              human: hello
              assistant: Hi.  <- main
        "#]],
    );
}
