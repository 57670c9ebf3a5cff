//! Stories about one conversation: answers, tools, interruptions, failures and crashes.

use domain::conversation::{Block, Said};
use domain::failure::{Declined, Failure};
use domain::turn::Stop;
use expect_test::{Expect, expect};
use testkit::puppet::Line;
use testkit::story::{Trouble, compact, fork};

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

pub fn a_message_is_answered_and_the_next_one_continues(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning."), Line::says("Still here.")]);

    story.human("good morning").human("still there?");

    check(
        &story.told(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> still there?
            main> assistant: Still here.
        "#]],
    );
    assert_eq!(story.contexts()[1].said.len(), 3, "the second request holds what was said before");
}

/// MC-12, MC-14: each message reaches the model with its time.
pub fn the_model_is_told_the_time_of_every_message(told_by: Teller) {
    let mut story = story(told_by);
    story.human("good morning").clock("21:30").human("good night");

    let contexts = story.contexts();
    let heard: Vec<String> = contexts[1]
        .said
        .iter()
        .filter_map(|said| match &**said {
            Said::Human(heard) => Some(domain::context::heard(heard)),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
        })
        .collect();
    assert_eq!(
        heard,
        ["[2026-11-15 Sun 08:00 AM CET] good morning", "[2026-11-15 Sun 09:30 PM CET] good night"]
    );
}

pub fn a_tool_runs_between_two_replies(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::calls("inbox_add", r#"{"text":"milk"}"#), Line::says("Kept.")]);

    story.human("remember milk");

    check(
        &story.told(),
        &expect![[r#"
            human> remember milk
            main> calls inbox_add {"text":"milk"}
            main> inbox_add: kept as 1
            main> assistant: Kept.
        "#]],
    );
}

pub fn a_wrong_call_is_answered_in_words_the_model_can_act_on(told_by: Teller) {
    let mut story = story(told_by);
    story.model([
        Line::calls_all(&[("inbox_add", r#"{"txet":"milk"}"#), ("inbox_add", r#"{"text":" "}"#)]),
        Line::says("Sorry."),
    ]);

    story.human("do it");

    check(
        &story.told(),
        &expect![[r#"
            human> do it
            main> calls inbox_add {"txet":"milk"}
            main> calls inbox_add {"text":" "}
            main> inbox_add: Error: that input does not fit `inbox_add`: `text` is missing; it must be text. `txet` is not known; use `text`.
            main> inbox_add: Error: there is nothing in that to keep.
            main> assistant: Sorry.
        "#]],
    );
}

pub fn a_call_of_a_tool_that_nobody_has_is_answered_with_those_there_are(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::calls("rm_rf", "{}"), Line::says("Sorry.")]);

    story.human("do it");

    check(
        &story.told(),
        &expect![[r#"
            human> do it
            main> calls rm_rf {}
            main> rm_rf: Error: there is no tool called `rm_rf`. the tools are: inbox_add, inbox_list, inbox_remove, schedule, status, discord_embed, ping_user, follow_up_chain, enter_fork, report_updates, save_context, exit_fork, compact_session, Read, Write, Edit, Glob, Grep, Bash, WebFetch, WebSearch, Skill, Task, mcp. use one of those, or answer in words.
            main> assistant: Sorry.
        "#]],
    );
}

/// MC-6: a new message interrupts the answer, and the partial answer stays before it.
pub fn a_new_message_cuts_the_answer_off_and_the_tree_stays_in_order(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("Once upon a time there was"), Line::says("Fine.")]);

    story.human_begins("tell me a story").human("no, stop");

    check(
        &story.told(),
        &expect![[r#"
            human> tell me a story
            main> assistant: Once upon a time there was (cut)
            main> stopped
            human> no, stop
            main> assistant: Fine.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: tell me a story
            assistant: Once upon a time there was (cut)
            human: no, stop
            assistant: Fine.  <- main
        "#]],
    );
}

/// MC-6: queued messages are answered in order.
pub fn messages_that_wait_are_answered_in_order(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("One mo"), Line::says("To b."), Line::says("To c.")]);

    story.human_begins("a").human_adds_at_once(&["b", "c"]).settle();

    check(
        &story.told(),
        &expect![[r#"
            human> a
            main> assistant: One mo (cut)
            main> stopped
            human> b
            main> assistant: To b.
            human> c
            main> assistant: To c.
        "#]],
    );
}

pub fn the_human_can_stop_an_answer_and_there_may_be_none(told_by: Teller) {
    let mut story = story(told_by);
    story.human_stops();
    story.model([Line::holds("Well,")]);
    story.human_begins("hello").human_stops();

    check(
        &story.told(),
        &expect![[r#"
            refused> nothing is running.
            human> hello
            main> assistant: Well, (cut)
            main> stopped
        "#]],
    );
}

pub fn a_message_without_words_is_refused_and_costs_nothing(told_by: Teller) {
    let mut story = story(told_by);
    story.human(" \n\t ").human(&"x".repeat(100_001));
    story.human(" abcdefghijklmnop1#abcdefghijklmnop2\n").human("/login abcdefghijklmnop1").human("fine");

    check(
        &story.told(),
        &expect![[r#"
            refused> there are no words in that message.
            refused> that message has 100001 characters and the most i take at once is 100000. send it in parts.
            refused> that is a code to sign in with, and i keep none. paste it alone, not as a reply.
            refused> that is a code to sign in with, and i keep none. paste it alone, not as a reply.
            human> fine
            main> assistant: (the model has no more lines)
        "#]],
    );
    assert_eq!(story.contexts().len(), 1);
}

fn half(text: &str) -> Vec<Block> {
    vec![Block::Text(text.to_owned())]
}

/// E3, MC-9, MC-10, MC-11: none of these failures counts as an answer, each has its own message,
/// and the next message works.
pub fn a_model_that_does_not_answer_says_why_and_the_next_message_works(told_by: Teller) {
    let mut story = story(told_by);
    story.model([
        Line::of(Vec::new(), Stop::Said),
        Line::of(half("I would rather"), Stop::Refusal(Declined::Unstated)),
        Line::Fails("Half a".to_owned(), Failure::CutOff("the connection was lost".to_owned())),
        Line::fails(Failure::Busy(None)),
        Line::says("Back."),
        Line::says("Still here."),
    ]);

    story.human("1").human("2").human("3").human("4").human("5");

    check(
        &story.told(),
        &expect![[r#"
            human> 1
            main> failed: the model answered nothing. your message is kept; say it again, or in other words.
            human> 2
            main> assistant: I would rather (cut)
            main> failed: The model declined to answer. Your message is kept; say it in other words, or ask another model with `/model`.
            human> 3
            main> assistant: Half a (cut)
            main> failed: the model stopped in the middle (the connection was lost). what it said so far is kept; say `go on` to continue.
            human> 4
            notice> the model is overloaded right now. your message is kept, and answered when it is back; your reminders still work.
            main> assistant: Back.
            human> 5
            main> assistant: Still here.
        "#]],
    );
}

/// E3: an answer at the output limit counts as cut.
pub fn an_answer_that_grows_too_long_is_cut_and_says_so(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::of(half("A long"), Stop::Length), Line::says("story.")]);

    story.human("tell me").human("go on");

    check(
        &story.told(),
        &expect![[r#"
            human> tell me
            main> assistant: A long (cut)
            main> failed: the answer grew longer than the limit and was cut. say `go on` to hear the rest.
            human> go on
            main> assistant: story.
        "#]],
    );
}

/// E1: the notice states the wait that the vendor asked for.
pub fn a_model_that_asks_to_wait_says_how_long(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::fails(Failure::Busy(Some(7)))]);

    story.human_adds("hello?").hears("asks to wait");

    check(
        &story.told(),
        &expect![[r#"
            human> hello?
            notice> the model is overloaded right now, and asks to wait 7 s. your message is kept, and answered when it is back; your reminders still work.
        "#]],
    );
}

/// E4: a model that keeps calling tools is stopped.
pub fn a_model_that_runs_in_circles_is_stopped(told_by: Teller) {
    let mut story = story(told_by);
    story.model((0..60).map(|_| Line::calls("inbox_list", "{}")));

    story.human("go");

    let told = story.told();
    assert_eq!(told.matches("inbox_list: the inbox is empty.").count(), 50);
    assert!(told.ends_with(
        "main> calls inbox_list {}\nmain> inbox_list: this was not run.\nmain> failed: i stopped myself after 50 tool calls in one answer; that looked like running in circles.\n"
    ) || told.ends_with("main> failed: i stopped myself after 50 tool calls in one answer; that looked like running in circles.\n"), "{told}");
}

/// E4: of a reply with too many calls those within the limit run; the model reads about the others
/// and answers.
pub fn a_reply_with_too_many_calls_runs_those_that_the_limit_allows(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::calls_all(&[("inbox_list", "{}"); 100]), Line::says("That is what I have.")]);

    story.human("go");

    let told = story.told();
    assert_eq!(told.matches("inbox_list: the inbox is empty.").count(), 50);
    assert_eq!(told.matches("inbox_list: Error: not run. This answer has reached its limit").count(), 50);
    assert!(told.ends_with("main> assistant: That is what I have.\n"), "{told}");
}

pub fn a_crash_in_the_middle_of_an_answer_loses_nothing_and_the_answer_comes_after_it(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning."), Line::holds("Lisbon is"), Line::says("Lisbon is lovely.")]);

    story.human("good morning").human_begins("tell me about lisbon").crash().settle();

    check(
        &story.told(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> tell me about lisbon
            -- crash
            main> assistant: Lisbon is lovely.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
            human: tell me about lisbon
            assistant: Lisbon is lovely.  <- main
        "#]],
    );
}

/// A queued message survives a crash and is answered after the one before it.
pub fn a_message_that_waits_survives_a_crash(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("Hm"), Line::says("To a."), Line::says("To b.")]);

    story.human_begins("a").trouble(1, Trouble::DiesAfter).human_adds("b").crash().settle();

    check(
        &story.told(),
        &expect![[r#"
            human> a
            -- crash
            main> assistant: To a.
            human> b
            main> assistant: To b.
        "#]],
    );
}

/// After a crash the pending answer comes first: a new message waits for it and does not interrupt
/// it.
pub fn new_words_after_a_crash_wait_for_the_answer_that_is_owed(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("Lis"), Line::says("Lisbon is lovely."), Line::says("Tuesday.")]);

    story.human_begins("tell me about lisbon").crash().human_adds("and what day is it?").settle();

    check(
        &story.told(),
        &expect![[r#"
            human> tell me about lisbon
            -- crash
            main> assistant: Lisbon is lovely.
            human> and what day is it?
            main> assistant: Tuesday.
        "#]],
    );
}

/// A turn during which the program crashes three times is given up, so that the next message is
/// answered.
pub fn a_turn_that_the_program_dies_of_is_not_tried_for_ever(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::holds("a"), Line::holds("b"), Line::holds("c"), Line::says("Fine.")]);

    story.human_begins("poison").crash().speaks_again().crash().speaks_again().crash().settle();
    story.human("hello?");

    let told = story.told();
    assert!(
        told.contains("failed: i stopped 3 times while answering this, so i left it. say it again."),
        "{told}"
    );
    assert!(told.ends_with("human> hello?\nmain> assistant: Fine.\n"), "{told}");
}

pub fn a_conversation_with_a_fork_and_a_compaction_is_drawn(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning."), Line::says("Sure."), Line::says("Yes.")]);
    story.human("good morning").clock("09:00");
    story.change(|conversation, now| fork(conversation, "insurance", &now));
    story.human("plan the day").clock("12:30");
    story.change(|conversation, now| compact(conversation, "They said good morning and planned.", &now));
    story.human("and now?");

    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · compacte · 7 entries
            ┃ ◉  fork/insurance · open · session- · 0 entries
            ◆ │  compacted 2026-11-15 12:30 · 63cbe1e4 → compacte · 4 entries summed up
            ┣─╯  fork/insurance started 2026-11-15 09:00 · session-
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.  <- fork/insurance
            human: plan the day
            assistant: Sure.
            summary: They said good morning and planned.
            human: and now?
            assistant: Yes.  <- main
        "#]],
    );
    assert_eq!(
        story.contexts()[2].said.len(),
        2,
        "the model reads the summary in place of what it stands for"
    );
}
