//! Stories about retries of a model that fails for a while.

use domain::conversation::Text;
use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{ModelKind, story};

fn story_with_retries(model: ModelKind) -> Story {
    let mut story = story(model);
    story.with_retries();
    story
}

fn cut_off(words: &str) -> ModelOutcome {
    ModelOutcome::Fail(words.to_owned(), Failure::CutOff("the connection was lost".to_owned()))
}

/// E1, E2: a broken answer is continued, and the user sees one continuous text.
pub fn broken_answer_is_continued(model: ModelKind) {
    let mut story = story_with_retries(model);
    story.script([
        ModelOutcome::fail(Failure::Overloaded(None)),
        cut_off("Lisbon is "),
        cut_off("lovely in "),
        ModelOutcome::text("march."),
        ModelOutcome::text("Any time."),
    ]);

    story.user("lisbon?").user("thanks");

    expect![[r#"
        human> lisbon?
        main> assistant: Lisbon is lovely in march.
        human> thanks
        main> assistant: Any time.
    "#]]
    .assert_eq(&story.transcript());
    let contexts = story.contexts();
    let last = |n: usize| contexts[n].entries.iter().nth_back(1).map(|said| said.text());
    assert_eq!(last(3).as_deref(), Some("Lisbon is lovely in "), "the fourth call continues what was heard");
    assert_eq!(contexts[4].entries.len(), 3, "and nothing of the repair stays in the conversation");
}

/// E2: a tool that ran before the break is not run again.
pub fn break_after_a_tool_does_not_repeat_it(model: ModelKind) {
    let mut story = story_with_retries(model);
    story.script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
        cut_off("Kept"),
        ModelOutcome::fail(Failure::VendorError("500".to_owned())),
        ModelOutcome::text(" it."),
        ModelOutcome::tool_call("inbox_list", "{}"),
        ModelOutcome::text("One thing."),
    ]);

    story.user("remember milk").user("list");

    expect![[r#"
        human> remember milk
        main> calls inbox_add {"text":"milk"}
        main> inbox_add: kept as 1
        main> assistant: Kept it.
        human> list
        main> calls inbox_list {}
        main> inbox_list: 1. milk
        main> assistant: One thing.
    "#]]
    .assert_eq(&story.transcript());
}

/// E1: after the last retry the turn fails with the reason, and keeps the partial answer.
pub fn model_that_keeps_failing_is_given_up(model: ModelKind) {
    let mut story = story_with_retries(model);
    story.script([cut_off("Well, ")]);
    story.script((0..9).map(|_| ModelOutcome::fail(Failure::Overloaded(None))));

    story.user("hello?");

    expect![[r#"
        human> hello?
        main> assistant: Well,  (cut)
        main> failed: the model is overloaded right now. your message is kept; say it again in a moment.
    "#]]
    .assert_eq(&story.transcript());
    assert_eq!(story.contexts().len(), 6);
}

/// MC-6: a new message interrupts the wait before a retry.
pub fn new_message_interrupts_the_retry_wait(model: ModelKind) {
    let mut story = story_with_retries(model);
    story.script([ModelOutcome::fail(Failure::Overloaded(Some(300))), ModelOutcome::text("Here.")]);

    story.user_sends("a").wait_for_model_calls(1).user("b");

    expect![[r#"
        human> a
        main> stopped
        human> b
        main> assistant: Here.
    "#]]
    .assert_eq(&story.transcript());
}
