//! An approval that is answered after its turn ended, never, or after a crash.

use expect_test::expect;
use testkit::puppet::Line;

use super::{ONE, asked, check, prefer, remove, story};

/// PM-8, PM-10: the turn continues without an answer, the approval stays open, and a late yes
/// covers one exact call.
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
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
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

/// PM-10: a late yes does not cover other arguments, and ends after a day.
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
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
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

/// PM-10: an approval without an answer expires after a day, and says so.
#[test]
fn an_approval_expires_after_a_day() {
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
        main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        main> assistant: I will wait.
        -- 07:59
        -- 08:01
        asks 1> expired (house)
        human> /allow 1
        refused> that expired at 08:01: nobody had answered for a day. it was not run.
    "#]],
    );
}

/// An approval survives a crash: the model knows that nothing ran, and a yes still counts.
#[test]
fn an_approval_survives_a_crash() {
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
            main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
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

/// A late yes starts a turn in the fork that asked, or on main if the fork is gone.
#[test]
fn a_late_yes_is_heard_where_it_was_asked_or_on_main() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("First waits.")]);
    story.model([remove(r#"{"number":2}"#), Line::says("Second waits.")]);
    story.human_begins_command("/fork").hears("I am here.").human_adds("drop the milk").hears("First waits.");
    story.human_adds("and the tea").hears("Second waits.");
    story.model([remove(ONE), Line::says("First gone.")]).human_commands("/allow 1").hears("First gone.");
    story.model([remove(r#"{"number":2}"#), Line::says("Second gone.")]).human_commands("/exit");
    story.human_commands("/allow 2").hears("Second gone.");
    check(
        story,
        &expect![[r#"
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> drop the milk
        fork/3fdabe86> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1} (nobody waits)
        fork/3fdabe86> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        fork/3fdabe86> assistant: First waits.
        human> and the tea
        fork/3fdabe86> calls inbox_remove {"number":2}
        asks 2> inbox_remove {"number":2}
        asks 2> inbox_remove {"number":2} (nobody waits)
        fork/3fdabe86> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
        fork/3fdabe86> assistant: Second waits.
        human> /allow 1
        asks 1> allowed (terminal)
        fork/3fdabe86> calls inbox_remove {"number":1}
        fork/3fdabe86> inbox_remove: removed 1: milk
        fork/3fdabe86> assistant: First gone.
        human> /exit
        -- fork/3fdabe86 discarded.
        human> /allow 2
        asks 2> allowed (terminal)
        main> calls inbox_remove {"number":2}
        main> inbox_remove: removed 2: tea
        main> assistant: Second gone.
    "#]],
    );
}

/// MC-6, PM-16: an answer resumed after a crash is not cut off by a new message, but stops waiting
/// for an approval.
#[test]
fn an_owed_answer_does_not_wait_for_a_yes_when_the_human_speaks() {
    let mut story = story();
    story.model([Line::holds("Let me"), remove(ONE), Line::says("Not now, then."), Line::says("Yes.")]);
    prefer(&mut story, "default");
    story.human_begins("drop the milk").crash().hears("asks 1>");
    story.human("are you there?");
    check(
        story,
        &expect![[r#"
            human> drop the milk
            -- crash
            main> calls inbox_remove {"number":1}
            asks 1> inbox_remove {"number":1}
            asks 1> inbox_remove {"number":1} (nobody waits)
            main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
            main> assistant: Not now, then.
            human> are you there?
            main> assistant: Yes.
        "#]],
    );
}
