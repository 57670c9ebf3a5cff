//! Events that cancel an approval: stopping, leaving the fork, clearing. Other work does not.

use expect_test::expect;
use testkit::scripted_model::ModelOutcome;

use super::{FIRST_ITEM, check, remove, story, story_with_open_approval};

/// PM-11, MC-8: a new message does not wait for an open card. The card stays open, and approving it
/// later grants the call.
#[test]
fn new_message_does_not_wait_for_an_open_card() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("What is it?"),
        remove(FIRST_ITEM),
        ModelOutcome::text("Gone."),
    ]);
    story.user("wait").user_commands("/allow 1").wait_for_line("Gone.").wait_for_answers();
    check(
        story,
        &expect![[r#"
            human> drop the milk
            main> calls inbox_remove {"number":1}
            asks 1> inbox_remove {"number":1}
            asks 1> inbox_remove {"number":1} (nobody waits)
            main> inbox_remove: Error: no answer yet, so `inbox_remove` was not run. the approval stays open for the human, and you will be told if they allow it. do not call it again before that. go on without it, and tell them.
            main> stopped
            human> wait
            main> assistant: What is it?
            human> /allow 1
            asks 1> allowed (terminal)
            main> calls inbox_remove {"number":1}
            main> inbox_remove: removed 1: milk
            main> assistant: Gone.
        "#]],
    );
}

/// A reminder rings on time while a card is open, and the card stays unchanged.
#[test]
fn reminder_rings_while_a_card_is_open() {
    let mut story = story();
    story.script([
        ModelOutcome::tool_call("schedule", r#"{"words":"tea in 2 min"}"#),
        ModelOutcome::text("Planned."),
    ]);
    story.user("tea in 2 minutes").script([remove(FIRST_ITEM), ModelOutcome::text("Gone.")]);
    story
        .user_sends("drop the milk")
        .wait_for_line("asks 1>")
        .advance_time("3m")
        .wait_for_line("notice> ⏰ tea");
    let told = story.transcript();
    assert!(!told.contains("nobody waits"), "{told}");
    assert_eq!(told.matches("⏰ tea").count(), 1, "{told}");
    story.user_commands("/allow 1").wait_for_line("Gone.");
    assert!(story.transcript().contains("removed 1: milk"), "{}", story.transcript());
}

/// The calls of one step share a card: one answer covers all of them, and each can be answered
/// alone.
#[test]
fn calls_of_one_step_share_a_card() {
    let both =
        || ModelOutcome::tool_calls(&[("inbox_remove", FIRST_ITEM), ("inbox_remove", r#"{"number":2}"#)]);
    let mut story = story();
    story.script([both(), ModelOutcome::text("Gone.")]);
    story
        .user_sends("drop both")
        .wait_for_line("asks 2>")
        .user_commands("/allow")
        .wait_for_line("Gone.")
        .wait_for_answers();
    let told = story.transcript();
    assert!(told.contains("removed 1: milk") && told.contains("removed 2: tea"), "{told}");
    let mut story = self::story();
    story.script([both(), ModelOutcome::text("One of them.")]);
    story
        .user_sends("drop both")
        .wait_for_line("asks 2>")
        .user_commands("/deny 2")
        .user_commands("/allow step 1");
    let told = story.wait_for_line("One of them.").transcript();
    assert!(told.contains("removed 1: milk") && !told.contains("removed 2: tea"), "{told}");
}

/// PM-16, MC-8: stopping cancels open approvals.
#[test]
fn stopping_cancels_open_approvals() {
    let mut story = story_with_open_approval([ModelOutcome::text("Yes?")]);
    story.user_stops().user("hello");
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

/// PM-16: leaving a fork cancels the approvals asked for in it.
#[test]
fn leaving_a_fork_cancels_its_approvals() {
    let mut story = story();
    story.script([ModelOutcome::text("I am here."), remove(FIRST_ITEM), ModelOutcome::text("Hi.")]);
    story
        .user_begins_command("/fork")
        .wait_for_line("I am here.")
        .user_sends("drop the milk")
        .wait_for_line("asks 1>");
    story.user_commands("/exit").wait_for_line("discarded").user("hello");
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

/// PM-14, PM-16, MC-21: `/clear` cancels open approvals and revokes standing ones.
#[test]
fn clear_cancels_and_revokes_all_approvals() {
    let mut story = story_with_open_approval([ModelOutcome::text("Gone."), remove(FIRST_ITEM)]);
    story.user_commands("/always 1").wait_for_answers().user("is it gone?");
    story.user_commands("/permissions default").script([remove(FIRST_ITEM)]);
    story.user_commands("/clear").user_sends("really?").wait_for_line("asks 2>").user_commands("/clear");
    story.user("hello").user_commands("/allow 2");
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
            human> is it gone?
            main> calls inbox_remove {"number":1}
            main> inbox_remove: Error: there is no 1 in the inbox. `inbox_list` tells the numbers.
            main> assistant: (the model has no more lines)
            human> /permissions default
            told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
            human> /clear
            main> cleared
            told> cleared: we start over with the next message. /undo brings the conversation back.
            human> really?
            main> calls inbox_remove {"number":1}
            asks 2> inbox_remove {"number":1}
            human> /clear
            asks 2> cancelled (house)
            main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
            main> stopped
            main> cleared
            told> cleared: we start over with the next message. /undo brings the conversation back.
            human> hello
            main> assistant: (the model has no more lines)
            human> /allow 2
            refused> that was cancelled at 08:00, because something else came first. it was not run.
        "#]],
    );
}

/// PM-14, MC-21: `/clear` also revokes a late approval.
#[test]
fn clear_revokes_a_late_approval() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("I will wait."),
        ModelOutcome::text("Later."),
        remove(FIRST_ITEM),
    ]);
    story
        .clock("08:10")
        .wait_for_answers()
        .user_commands("/allow 1")
        .wait_for_line("Later.")
        .user_commands("/clear");
    story.user_sends("drop the milk").wait_for_line("asks 2>").user_stops();
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
            main> assistant: Later.
            human> /clear
            main> cleared
            told> cleared: we start over with the next message. /undo brings the conversation back.
            human> drop the milk
            main> calls inbox_remove {"number":1}
            asks 2> inbox_remove {"number":1}
            asks 2> cancelled (house)
            main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
            main> stopped
        "#]],
    );
}

/// PM-16: saving a fork waits for the end of its answer, and cancels the approval that the answer
/// waits for.
#[test]
fn saving_a_fork_does_not_wait_for_an_approval() {
    let mut story = story();
    story.script([
        ModelOutcome::text("I am here."),
        remove(FIRST_ITEM),
        ModelOutcome::text("Not removed."),
        ModelOutcome::text("Hi."),
    ]);
    story
        .user_begins_command("/fork")
        .wait_for_line("I am here.")
        .user_sends("drop the milk")
        .wait_for_line("asks 1>");
    story.user_begins_command("/save").wait_for_line("saved:").user("hello");
    check(
        story,
        &expect![[r#"
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> drop the milk
        fork/3fdabe86> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /save
        asks 1> cancelled (house)
        fork/3fdabe86> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        fork/3fdabe86> assistant: Not removed.
        -- fork/3fdabe86 saved: it is the main conversation now. /undo takes that back.
        human> hello
        main> assistant: Hi.
    "#]],
    );
}
