//! Stories about idle forks, and forks with failures.

use domain::failure::Failure;
use expect_test::{Expect, expect};
use testkit::puppet::Line;

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// IF-26, IF-27, IF-28, IF-29, IF-30, IF-31, IF-32: an idle fork shows a notice, a message keeps it
/// open, and after twenty idle minutes it ends. No model is called for that, and a restart changes
/// nothing.
pub fn a_quiet_fork_is_asked_about_and_ends_by_itself(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["I am here.", "Go on.", "Hi."].map(Line::says));
    story.human_begins_command("/fork").hears("I am here.").settle();
    story.clock("08:11").hears_last("quiet for 10 minutes").human("wait a little");
    story.clock("08:20").crash().clock("08:22").hears_last("quiet for 10 minutes");
    story.crash().clock("08:33").hears("discarded").human("hello");
    check(
        &story.told(),
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
pub fn the_model_says_how_long_a_fork_may_be_quiet(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::calls("enter_fork", r#"{"idle_timeout":30}"#), Line::says("I am here.")]);
    story.human("let us talk").hears("I am here.").settle();
    story.clock("08:29").settle().clock("08:31").hears_last("quiet for 30 minutes");
    story.clock("09:02").hears("discarded");
    check(
        &story.told(),
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
pub fn a_fork_that_was_asked_for_begins_after_a_crash(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("Well"), Line::says("Well, well."), Line::says("I am here.")]);
    story.human_begins("good morning").human_begins_command("/fork tea").crash().hears("I am here.").settle();
    check(
        &story.told(),
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
pub fn a_full_fork_is_compacted_and_main_is_not(told_by: Teller) {
    let mut story = story(told_by);
    let full = Failure::Full("prompt is too long".to_owned());
    story.model([Line::says("Morning."), Line::says("I am here."), Line::fails(full)]);
    story.model([
        Line::says("[2026-11-15 08:00] We talked of tea."),
        Line::says("Green."),
        Line::says("Bye."),
    ]);
    story.human("good morning").human_begins_command("/fork tea").hears("I am here.").settle();
    story.human("which tea?").human_begins_command("/report green tea").hears("summary queued").human("bye");
    check(
        &story.told(),
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
pub fn a_fork_that_waits_for_a_key_can_be_left(told_by: Teller) {
    let mut story = story(told_by);
    let refused = || Line::fails(Failure::BadKey("invalid x-api-key".to_owned()));
    story.model([Line::says("I am here."), refused(), Line::says("Hi.")]);
    story.human_begins_command("/fork tea").hears("I am here.").settle();
    story.human_adds("which tea?").hears("notice>");
    story.human_commands("/report").human_begins_command("/exit").hears("discarded").human("hello");
    check(
        &story.told(),
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
