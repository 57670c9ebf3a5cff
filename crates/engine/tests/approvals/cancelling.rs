//! Events that cancel an approval: stopping, leaving the fork, clearing. Other work does not.

use expect_test::expect;
use testkit::puppet::Line;

use super::{ONE, asked, check, remove, story};

/// PM-11, MC-8: a new message does not wait for an open card. The card stays open, and approving it
/// later grants the call.
#[test]
fn a_new_message_goes_past_an_open_card() {
    let mut story = asked([Line::says("What is it?"), remove(ONE), Line::says("Gone.")]);
    story.human("wait").human_commands("/allow 1").hears("Gone.").settle();
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
fn a_reminder_rings_past_an_open_card() {
    let mut story = story();
    story.model([Line::calls("schedule", r#"{"words":"tea in 2 min"}"#), Line::says("Planned.")]);
    story.human("tea in 2 minutes").model([remove(ONE), Line::says("Gone.")]);
    story.human_adds("drop the milk").hears("asks 1>").passes("3m").hears("notice> ⏰ tea");
    let told = story.told();
    assert!(!told.contains("nobody waits"), "{told}");
    assert_eq!(told.matches("⏰ tea").count(), 1, "{told}");
    story.human_commands("/allow 1").hears("Gone.");
    assert!(story.told().contains("removed 1: milk"), "{}", story.told());
}

/// The calls of one step share a card: one answer covers all of them, and each can be answered
/// alone.
#[test]
fn the_calls_of_one_step_share_a_card() {
    let both = || Line::calls_all(&[("inbox_remove", ONE), ("inbox_remove", r#"{"number":2}"#)]);
    let mut story = story();
    story.model([both(), Line::says("Gone.")]);
    story.human_adds("drop both").hears("asks 2>").human_commands("/allow").hears("Gone.").settle();
    let told = story.told();
    assert!(told.contains("removed 1: milk") && told.contains("removed 2: tea"), "{told}");
    let mut story = self::story();
    story.model([both(), Line::says("One of them.")]);
    story.human_adds("drop both").hears("asks 2>").human_commands("/deny 2").human_commands("/allow step 1");
    let told = story.hears("One of them.").told();
    assert!(told.contains("removed 1: milk") && !told.contains("removed 2: tea"), "{told}");
}

/// PM-16, MC-8: stopping cancels open approvals.
#[test]
fn stopping_cancels_what_is_asked() {
    let mut story = asked([Line::says("Yes?")]);
    story.human_stops().human("hello");
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
fn leaving_a_fork_cancels_what_is_asked_there() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("Hi.")]);
    story.human_begins_command("/fork").hears("I am here.").human_adds("drop the milk").hears("asks 1>");
    story.human_commands("/exit").hears("discarded").human("hello");
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
fn starting_over_cancels_everything() {
    let mut story = asked([Line::says("Gone."), remove(ONE)]);
    story.human_commands("/always 1").settle().human("is it gone?");
    story.human_commands("/permissions default").model([remove(ONE)]);
    story.human_commands("/clear").human_adds("really?").hears("asks 2>").human_commands("/clear");
    story.human("hello").human_commands("/allow 2");
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
fn starting_over_takes_a_late_yes_back() {
    let mut story = asked([Line::says("I will wait."), Line::says("Later."), remove(ONE)]);
    story.clock("08:10").settle().human_commands("/allow 1").hears("Later.").human_commands("/clear");
    story.human_adds("drop the milk").hears("asks 2>").human_stops();
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
fn leaving_a_fork_with_it_does_not_wait_for_a_yes() {
    let mut story = story();
    story.model([Line::says("I am here."), remove(ONE), Line::says("Not removed."), Line::says("Hi.")]);
    story.human_begins_command("/fork").hears("I am here.").human_adds("drop the milk").hears("asks 1>");
    story.human_begins_command("/save").hears("saved:").human("hello");
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
