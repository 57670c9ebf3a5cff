//! Answers to an approval while its turn waits: yes, no, always, a second answer, and a wrong
//! number.

use domain::conversation::EntryContent;
use domain::tool::Outcome;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;

use super::{FIRST_ITEM, check, remove, story, story_with_open_approval};

/// PM-7, PM-9: the user sees the whole call and approves it, and it runs.
#[test]
fn allowed_call_runs() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("Gone."),
        ModelOutcome::tool_call("inbox_list", "{}"),
        ModelOutcome::text("There."),
    ]);
    story.user_commands("/allow 1").wait_for_answers().user("what is left?");
    assert!(story.transcript().contains("told> allowed, this once."), "{}", story.transcript());
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        human> what is left?
        main> calls inbox_list {}
        main> inbox_list: 2. tea
        main> assistant: There.
    "#]],
    );
}

/// PM-9: the model is notified of a denial, and the call does not run.
#[test]
fn denied_call_does_not_run() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("As you like."),
        ModelOutcome::tool_call("inbox_list", "{}"),
        ModelOutcome::text("There."),
    ]);
    story.user_commands("/deny").wait_for_answers().user("what is left?");
    assert!(story.transcript().contains("told> denied."), "{}", story.transcript());
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /deny
        asks 1> denied (terminal)
        main> inbox_remove: Error: the human denied this. `inbox_remove` was not run. do not try it again unless they ask for it.
        main> assistant: As you like.
        human> what is left?
        main> calls inbox_list {}
        main> inbox_list: 1. milk
        2. tea
        main> assistant: There.
    "#]],
    );
}

/// I5, PM-7, PM-9, PM-14: a standing approval covers exactly its call, on main and in a fork, also
/// after a restart, until the user revokes it. It is listed, and every other call needs an
/// approval.
#[test]
fn standing_approval_covers_exactly_its_call_until_revoked() {
    let mut story = story_with_open_approval([
        ModelOutcome::text("Gone."),
        ModelOutcome::text("I am here."),
        remove(FIRST_ITEM),
        ModelOutcome::text("It is."),
    ]);
    story
        .user_commands("/always 1")
        .wait_for_answers()
        .user_begins_command("/fork")
        .wait_for_line("I am here.");
    story.user("is it gone?").user_commands("/exit");
    story
        .crash()
        .user_commands("/permissions default")
        .script([remove(FIRST_ITEM), remove(r#"{"number":2}"#)]);
    story.user_sends("and the tea").wait_for_line("asks 2>").user_stops();
    story.user_commands("/permissions").user_commands("/revoke 1");
    story.user_commands("/revoke").crash().user_commands("/permissions default").script([remove(FIRST_ITEM)]);
    story.user_sends("again").wait_for_line("asks 3>").user_stops();
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
            human> /fork
            -- fork/77cbc4a1 begins
            fork/77cbc4a1> assistant: I am here.
            human> is it gone?
            fork/77cbc4a1> calls inbox_remove {"number":1}
            fork/77cbc4a1> inbox_remove: Error: there is no 1 in the inbox. `inbox_list` tells the numbers.
            fork/77cbc4a1> assistant: It is.
            human> /exit
            -- fork/77cbc4a1 discarded.
            -- crash
            human> /permissions default
            told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
            human> and the tea
            main> calls inbox_remove {"number":1}
            main> inbox_remove: Error: there is no 1 in the inbox. `inbox_list` tells the numbers.
            main> calls inbox_remove {"number":2}
            asks 2> inbox_remove {"number":2}
            asks 2> cancelled (house)
            main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
            main> stopped
            human> /permissions
            told> the mode is `default`: i ask you before i do something that can't be taken back. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.

            always allowed, where no words from outside are:
            1: exactly inbox_remove: `{"number":1}`, until 15 dec 2026
            `/revoke` and a number takes one back.
            human> /revoke 1
            told> from now on i ask again: exactly inbox_remove: `{"number":1}`.
            human> /revoke
            told> nothing is always allowed.
            -- crash
            human> /permissions default
            told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
            human> again
            main> calls inbox_remove {"number":1}
            asks 3> inbox_remove {"number":1}
            asks 3> cancelled (house)
            main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
            main> stopped
        "#]],
    );
}

/// I5: a standing approval ends by itself after 30 days.
#[test]
fn standing_approval_ends_after_thirty_days() {
    let mut story = story_with_open_approval([ModelOutcome::text("Gone.")]);
    story.user_commands("/always 1").wait_for_answers().clock("07:59");
    for _ in 1..30 {
        story.clock("07:58").clock("07:59");
    }
    story.script([remove(FIRST_ITEM), ModelOutcome::text("It is.")]).user("is it gone?");
    story.user_commands("/revoke 7").user_commands("/revoke milk").clock("08:01");
    story
        .user_commands("/revoke")
        .script([remove(FIRST_ITEM)])
        .user_sends("and now?")
        .wait_for_line("asks 2>")
        .user_stops();
    let told = story.transcript();
    let since = told.rsplit_once("human> is it gone?").expect("a question").1;
    expect![[r#"

        main> calls inbox_remove {"number":1}
        main> inbox_remove: Error: there is no 1 in the inbox. `inbox_list` tells the numbers.
        main> assistant: It is.
        human> /revoke 7
        refused> there is no number 7 among them. always allowed, where no words from outside are:
        1: exactly inbox_remove: `{"number":1}`, until 15 dec 2026
        `/revoke` and a number takes one back.
        human> /revoke milk
        refused> `milk` is no number. always allowed, where no words from outside are:
        1: exactly inbox_remove: `{"number":1}`, until 15 dec 2026
        `/revoke` and a number takes one back.
        -- 08:01
        human> /revoke
        told> nothing is always allowed.
        human> and now?
        main> calls inbox_remove {"number":1}
        asks 2> inbox_remove {"number":1}
        asks 2> cancelled (house)
        main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
        main> stopped
    "#]].assert_eq(since);
    assert_eq!(super::findings(&mut story), [""; 0], "{told}");
}

/// The first answer counts. A second, late or unknown answer is refused with the reason.
#[test]
fn second_answer_is_refused_and_shows_the_first() {
    let mut story = story_with_open_approval([ModelOutcome::text("Gone.")]);
    for wrong in ["/allow 7", "/allow milk", "/deny 0"] {
        story.user_commands(wrong);
    }
    story.user_commands("/allow 1").wait_for_answers().clock("10:42");
    story.user_commands("/deny 1").user_commands("/always").crash().user_commands("/deny 1");
    check(
        story,
        &expect![[r#"
        human> drop the milk
        main> calls inbox_remove {"number":1}
        asks 1> inbox_remove {"number":1}
        human> /allow 7
        refused> there is no approval 7. these wait for your yes or no: 1.
        human> /allow milk
        refused> `milk` is no number. say it with the number on the card, such as `/allow 3`.
        human> /deny 0
        refused> there is no approval 0. these wait for your yes or no: 1.
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> assistant: Gone.
        -- 10:42
        human> /deny 1
        refused> that was already answered: allowed at 08:00, on the terminal.
        human> /always
        refused> nothing waits for your yes or no.
        -- crash
        human> /deny 1
        refused> that was already answered: allowed at 08:00, on the terminal.
    "#]],
    );
}

/// PM-13: while one call waits, the other calls of the reply run, and other requests are answered.
#[test]
fn other_calls_and_requests_do_not_wait_for_an_approval() {
    let mut story = story();
    story.script([ModelOutcome::tool_calls(&[
        ("inbox_remove", FIRST_ITEM),
        ("inbox_add", r#"{"text":"salt"}"#),
        ("inbox_remove", r#"{"number":2}"#),
    ])]);
    story.script([ModelOutcome::text("Done.")]).user_sends("tidy up").wait_for_line("asks 2>");
    story.user_commands("/status").user_commands("/deny 2").user_commands("/allow 1").wait_for_answers();
    check(
        story,
        &expect![[r#"
        human> tidy up
        main> calls inbox_remove {"number":1}
        main> calls inbox_add {"text":"salt"}
        main> calls inbox_remove {"number":2}
        asks 1> inbox_remove {"number":1}
        asks 2> inbox_remove {"number":2}
        human> /status
        told> inbox: 3. messages waiting: 0. approvals waiting: 2.
        human> /deny 2
        asks 2> denied (terminal)
        human> /allow 1
        asks 1> allowed (terminal)
        main> inbox_remove: removed 1: milk
        main> inbox_add: kept as 3
        main> inbox_remove: Error: the human denied this. `inbox_remove` was not run. do not try it again unless they ask for it.
        main> assistant: Done.
    "#]],
    );
}

/// PM-15, ST-6: the result of a call records its denial, also after a restart.
#[test]
fn denial_survives_a_restart() {
    let mut story = story_with_open_approval([ModelOutcome::text("As you like."), ModelOutcome::text("No.")]);
    story.user_commands("/deny 1").wait_for_answers().crash().user("did you remove it?");
    let contexts = story.contexts();
    let said = contexts.last().map(|context| context.entries.clone()).unwrap_or_default();
    let outcomes = said.iter().filter_map(|said| match said.as_ref() {
        EntryContent::Tools(results) => results.last().map(|result| result.outcome.clone()),
        EntryContent::User(_)
        | EntryContent::Assistant(..)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Done, Outcome::Denied]);
}
