//! Stories about one conversation: answers, tools, interruptions, failures and crashes.

use domain::conversation::{Block, EntryContent};
use domain::failure::{DeclineReason, Failure};
use domain::turn::StopReason;
use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;
use testkit::story::{JournalFault, compact_main, fork_main};

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

pub fn message_is_answered_and_the_next_one_continues(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Morning."), ModelOutcome::text("Still here.")]);

    story.user("good morning").user("still there?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> still there?
            main> assistant: Still here.
        "#]],
    );
    assert_eq!(story.contexts()[1].entries.len(), 3, "the second request holds what was said before");
}

/// MC-12, MC-14: each message reaches the model with its time.
pub fn model_reads_the_time_of_every_message(model: ModelKind) {
    let mut story = story(model);
    story.user("good morning").clock("21:30").user("good night");

    let contexts = story.contexts();
    let heard: Vec<String> = contexts[1]
        .entries
        .iter()
        .filter_map(|said| match &**said {
            EntryContent::User(heard) => Some(domain::context::user_text(heard)),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => None,
        })
        .collect();
    assert_eq!(
        heard,
        ["[2026-11-15 Sun 08:00 AM CET] good morning", "[2026-11-15 Sun 09:30 PM CET] good night"]
    );
}

pub fn tool_runs_between_two_replies(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#), ModelOutcome::text("Kept.")]);

    story.user("remember milk");

    check(
        &story.transcript(),
        &expect![[r#"
            human> remember milk
            main> calls inbox_add {"text":"milk"}
            main> inbox_add: kept as 1
            main> assistant: Kept.
        "#]],
    );
}

pub fn invalid_call_gets_an_actionable_error(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_calls(&[("inbox_add", r#"{"txet":"milk"}"#), ("inbox_add", r#"{"text":" "}"#)]),
        ModelOutcome::text("Sorry."),
    ]);

    story.user("do it");

    check(
        &story.transcript(),
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

pub fn call_of_an_unknown_tool_lists_the_known_ones(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::tool_call("rm_rf", "{}"), ModelOutcome::text("Sorry.")]);

    story.user("do it");

    check(
        &story.transcript(),
        &expect![[r#"
            human> do it
            main> calls rm_rf {}
            main> rm_rf: Error: there is no tool called `rm_rf`. the tools are: inbox_add, inbox_list, inbox_remove, schedule, status, discord_embed, ping_user, follow_up_chain, enter_fork, report_updates, save_context, exit_fork, compact_session, Read, Write, Edit, Glob, Grep, Bash, WebFetch, WebSearch, Skill, Task, mcp. use one of those, or answer in words.
            main> assistant: Sorry.
        "#]],
    );
}

/// MC-6: a new message interrupts the answer, and the partial answer stays before it.
pub fn new_message_interrupts_and_the_tree_stays_in_order(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::hang("Once upon a time there was"), ModelOutcome::text("Fine.")]);

    story.user_begins("tell me a story").user("no, stop");

    check(
        &story.transcript(),
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
pub fn queued_messages_are_answered_in_order(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::hang("One mo"), ModelOutcome::text("To b."), ModelOutcome::text("To c.")]);

    story.user_begins("a").user_sends_at_once(&["b", "c"]).wait_for_answers();

    check(
        &story.transcript(),
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

pub fn user_can_stop_an_answer_if_there_is_one(model: ModelKind) {
    let mut story = story(model);
    story.user_stops();
    story.script([ModelOutcome::hang("Well,")]);
    story.user_begins("hello").user_stops();

    check(
        &story.transcript(),
        &expect![[r#"
            refused> nothing is running.
            human> hello
            main> assistant: Well, (cut)
            main> stopped
        "#]],
    );
}

pub fn invalid_message_is_refused_without_a_model_call(model: ModelKind) {
    let mut story = story(model);
    story.user(" \n\t ").user(&"x".repeat(100_001));
    story.user(" abcdefghijklmnop1#abcdefghijklmnop2\n").user("/login abcdefghijklmnop1").user("fine");

    check(
        &story.transcript(),
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

fn partial_text(text: &str) -> Vec<Block> {
    vec![Block::Text(text.to_owned())]
}

/// E3, MC-9, MC-10, MC-11: none of these failures counts as an answer, each has its own message,
/// and the next message works.
pub fn failure_of_the_model_is_explained_and_the_next_message_works(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::blocks(Vec::new(), StopReason::Finished),
        ModelOutcome::blocks(partial_text("I would rather"), StopReason::Refusal(DeclineReason::Unstated)),
        ModelOutcome::Fail("Half a".to_owned(), Failure::CutOff("the connection was lost".to_owned())),
        ModelOutcome::fail(Failure::Overloaded(None)),
        ModelOutcome::text("Back."),
        ModelOutcome::text("Still here."),
    ]);

    story.user("1").user("2").user("3").user("4").user("5");

    check(
        &story.transcript(),
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
pub fn answer_at_the_output_limit_is_cut(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::blocks(partial_text("A long"), StopReason::Length),
        ModelOutcome::text("story."),
    ]);

    story.user("tell me").user("go on");

    check(
        &story.transcript(),
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
pub fn notice_states_the_requested_wait(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::fail(Failure::Overloaded(Some(7)))]);

    story.user_sends("hello?").wait_for_line("asks to wait");

    check(
        &story.transcript(),
        &expect![[r#"
            human> hello?
            notice> the model is overloaded right now, and asks to wait 7 s. your message is kept, and answered when it is back; your reminders still work.
        "#]],
    );
}

/// E4: a model that keeps calling tools is stopped.
pub fn endless_tool_calls_are_stopped(model: ModelKind) {
    let mut story = story(model);
    story.script((0..60).map(|_| ModelOutcome::tool_call("inbox_list", "{}")));

    story.user("go");

    let told = story.transcript();
    assert_eq!(told.matches("inbox_list: the inbox is empty.").count(), 50);
    assert!(told.ends_with(
        "main> calls inbox_list {}\nmain> inbox_list: this was not run.\nmain> failed: i stopped myself after 50 tool calls in one answer; that looked like running in circles.\n"
    ) || told.ends_with("main> failed: i stopped myself after 50 tool calls in one answer; that looked like running in circles.\n"), "{told}");
}

/// E4: of a reply with too many calls those within the limit run; the model reads about the others
/// and answers.
pub fn reply_with_too_many_calls_runs_those_within_the_limit(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_calls(&[("inbox_list", "{}"); 100]),
        ModelOutcome::text("That is what I have."),
    ]);

    story.user("go");

    let told = story.transcript();
    assert_eq!(told.matches("inbox_list: the inbox is empty.").count(), 50);
    assert_eq!(told.matches("inbox_list: Error: not run. This answer has reached its limit").count(), 50);
    assert!(told.ends_with("main> assistant: That is what I have.\n"), "{told}");
}

pub fn crash_during_an_answer_loses_nothing(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::hang("Lisbon is"),
        ModelOutcome::text("Lisbon is lovely."),
    ]);

    story.user("good morning").user_begins("tell me about lisbon").crash().wait_for_answers();

    check(
        &story.transcript(),
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
pub fn queued_message_survives_a_crash(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::hang("Hm"), ModelOutcome::text("To a."), ModelOutcome::text("To b.")]);

    story
        .user_begins("a")
        .inject_journal_fault(1, JournalFault::CrashAfter)
        .user_sends("b")
        .crash()
        .wait_for_answers();

    check(
        &story.transcript(),
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
pub fn new_message_after_a_crash_waits_for_the_pending_answer(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::hang("Lis"),
        ModelOutcome::text("Lisbon is lovely."),
        ModelOutcome::text("Tuesday."),
    ]);

    story.user_begins("tell me about lisbon").crash().user_sends("and what day is it?").wait_for_answers();

    check(
        &story.transcript(),
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
pub fn turn_that_crashes_the_program_is_given_up(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::hang("a"),
        ModelOutcome::hang("b"),
        ModelOutcome::hang("c"),
        ModelOutcome::text("Fine."),
    ]);

    story
        .user_begins("poison")
        .crash()
        .wait_for_model_text()
        .crash()
        .wait_for_model_text()
        .crash()
        .wait_for_answers();
    story.user("hello?");

    let told = story.transcript();
    assert!(
        told.contains("failed: i stopped 3 times while answering this, so i left it. say it again."),
        "{told}"
    );
    assert!(told.ends_with("human> hello?\nmain> assistant: Fine.\n"), "{told}");
}

pub fn session_graph_shows_a_fork_and_a_compaction(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Morning."), ModelOutcome::text("Sure."), ModelOutcome::text("Yes.")]);
    story.user("good morning").clock("09:00");
    story.change(|conversation, now| fork_main(conversation, "insurance", &now));
    story.user("plan the day").clock("12:30");
    story.change(|conversation, now| compact_main(conversation, "They said good morning and planned.", &now));
    story.user("and now?");

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
        story.contexts()[2].entries.len(),
        2,
        "the model reads the summary in place of what it stands for"
    );
}
