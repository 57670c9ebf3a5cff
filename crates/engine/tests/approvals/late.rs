//! A request that is answered too late for its turn, never, or after a crash.

use expect_test::expect;
use testkit::puppet::Line;

use super::{ONE, asked, check, remove};

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
