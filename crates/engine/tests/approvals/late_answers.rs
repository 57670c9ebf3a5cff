//! An approval that is answered after its turn ended, never, or after a crash.

use expect_test::expect;
use testkit::scripted_model::ModelOutcome;

use super::{FIRST_ITEM, check, remove, set_startup_mode, story, story_with_open_approval};

/// PM-8, PM-10: the turn continues without an answer, the approval stays open, and a late yes
/// covers one exact call.
#[test]
fn late_approval_allows_exactly_that_call_once() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("I will wait."),
        remove(r#"{ "number": 1 }"#),
        ModelOutcome::text("Gone."),
        remove(FIRST_ITEM),
    ]);
    story.clock("08:10").wait_for_answers().clock("11:00").user_commands("/allow 1").wait_for_line("Gone.");
    story.user_sends("once more").wait_for_line("asks 2>").user_stops();
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
fn late_approval_covers_no_other_call() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("I will wait."),
        ModelOutcome::text("Not now."),
        remove(r#"{"number":2}"#),
    ]);
    story.clock("08:10").wait_for_answers().user_commands("/allow 1").wait_for_line("Not now.");
    story.user_sends("the tea").wait_for_line("asks 2>").user_commands("/deny 2").wait_for_answers();
    story.clock("08:09").clock("08:11").script([remove(FIRST_ITEM)]);
    story.user_sends("now the milk").wait_for_line("asks 3>").user_stops();
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
fn unanswered_approval_expires_after_a_day() {
    let mut story = story_with_open_approval([ModelOutcome::text("I will wait.")]);
    story
        .clock("08:10")
        .wait_for_answers()
        .clock("07:59")
        .clock("08:01")
        .wait_for_line("expired")
        .user_commands("/allow 1");
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
fn approval_survives_a_crash() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("Still open."),
        remove(FIRST_ITEM),
        ModelOutcome::text("Gone."),
    ]);
    story
        .crash()
        .wait_for_line("Still open.")
        .user_commands("/allow 1")
        .wait_for_line("Gone.")
        .user_commands("/allow 1");
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
fn late_approval_reaches_its_fork_or_main() {
    let mut story = story();
    story.script([ModelOutcome::text("I am here."), remove(FIRST_ITEM), ModelOutcome::text("First waits.")]);
    story.script([remove(r#"{"number":2}"#), ModelOutcome::text("Second waits.")]);
    story
        .user_begins_command("/fork")
        .wait_for_line("I am here.")
        .user_sends("drop the milk")
        .wait_for_line("First waits.");
    story.user_sends("and the tea").wait_for_line("Second waits.");
    story
        .script([remove(FIRST_ITEM), ModelOutcome::text("First gone.")])
        .user_commands("/allow 1")
        .wait_for_line("First gone.");
    story.script([remove(r#"{"number":2}"#), ModelOutcome::text("Second gone.")]).user_commands("/exit");
    story.user_commands("/allow 2").wait_for_line("Second gone.");
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
fn resumed_answer_stops_waiting_for_an_approval_on_a_new_message() {
    let mut story = story();
    story.script([
        ModelOutcome::hang("Let me"),
        remove(FIRST_ITEM),
        ModelOutcome::text("Not now, then."),
        ModelOutcome::text("Yes."),
    ]);
    set_startup_mode(&mut story, "default");
    story.user_begins("drop the milk").crash().wait_for_line("asks 1>");
    story.user("are you there?");
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
