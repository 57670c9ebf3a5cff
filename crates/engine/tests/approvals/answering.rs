//! Answers to an approval while its turn waits: yes, no, always, a second answer, and a wrong
//! number.

use domain::conversation::Said;
use domain::tool::Outcome;
use expect_test::expect;
use testkit::puppet::Line;

use super::{ONE, asked, check, remove, story};

/// PM-7, PM-9: the user sees the whole call and approves it, and it runs.
#[test]
fn a_call_that_is_allowed_runs() {
    let mut story = asked([Line::says("Gone."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/allow 1").settle().human("what is left?");
    assert!(story.told().contains("told> allowed, this once."), "{}", story.told());
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
fn a_call_that_is_denied_does_not_run() {
    let mut story =
        asked([Line::says("As you like."), Line::calls("inbox_list", "{}"), Line::says("There.")]);
    story.human_commands("/deny").settle().human("what is left?");
    assert!(story.told().contains("told> denied."), "{}", story.told());
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
fn what_is_always_allowed_is_not_asked_for_again() {
    let mut story = asked([Line::says("Gone."), Line::says("I am here."), remove(ONE), Line::says("It is.")]);
    story.human_commands("/always 1").settle().human_begins_command("/fork").hears("I am here.");
    story.human("is it gone?").human_commands("/exit");
    story.crash().human_commands("/permissions default").model([remove(ONE), remove(r#"{"number":2}"#)]);
    story.human_adds("and the tea").hears("asks 2>").human_stops();
    story.human_commands("/permissions").human_commands("/revoke 1");
    story.human_commands("/revoke").crash().human_commands("/permissions default").model([remove(ONE)]);
    story.human_adds("again").hears("asks 3>").human_stops();
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
fn what_is_always_allowed_ends_after_thirty_days() {
    let mut story = asked([Line::says("Gone.")]);
    story.human_commands("/always 1").settle().clock("07:59");
    for _ in 1..30 {
        story.clock("07:58").clock("07:59");
    }
    story.model([remove(ONE), Line::says("It is.")]).human("is it gone?");
    story.human_commands("/revoke 7").human_commands("/revoke milk").clock("08:01");
    story
        .human_commands("/revoke")
        .model([remove(ONE)])
        .human_adds("and now?")
        .hears("asks 2>")
        .human_stops();
    let told = story.told();
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
    assert_eq!(super::wrong(&mut story), [""; 0], "{told}");
}

/// The first answer counts. A second, late or unknown answer is refused with the reason.
#[test]
fn a_second_answer_hears_what_the_first_one_was() {
    let mut story = asked([Line::says("Gone.")]);
    for wrong in ["/allow 7", "/allow milk", "/deny 0"] {
        story.human_commands(wrong);
    }
    story.human_commands("/allow 1").settle().clock("10:42");
    story.human_commands("/deny 1").human_commands("/always").crash().human_commands("/deny 1");
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
fn nobody_else_waits_for_an_answer() {
    let mut story = story();
    story.model([Line::calls_all(&[
        ("inbox_remove", ONE),
        ("inbox_add", r#"{"text":"salt"}"#),
        ("inbox_remove", r#"{"number":2}"#),
    ])]);
    story.model([Line::says("Done.")]).human_adds("tidy up").hears("asks 2>");
    story.human_commands("/status").human_commands("/deny 2").human_commands("/allow 1").settle();
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
fn a_denied_call_stays_denied() {
    let mut story = asked([Line::says("As you like."), Line::says("No.")]);
    story.human_commands("/deny 1").settle().crash().human("did you remove it?");
    let contexts = story.contexts();
    let said = contexts.last().map(|context| context.said.clone()).unwrap_or_default();
    let outcomes = said.iter().filter_map(|said| match said.as_ref() {
        Said::Tools(results) => results.last().map(|result| result.outcome.clone()),
        Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_) => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Done, Outcome::Denied]);
}
