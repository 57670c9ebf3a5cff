//! Stories about retries of a model that fails for a while.

use domain::conversation::Text;
use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{Teller, story};

fn patient(told_by: Teller) -> Story {
    let mut story = story(told_by);
    story.patient();
    story
}

fn cut(words: &str) -> Line {
    Line::Fails(words.to_owned(), Failure::CutOff("the connection was lost".to_owned()))
}

/// E1, E2: a broken answer is continued, and the user sees one continuous text.
pub fn an_answer_that_breaks_off_is_continued_after_a_while(told_by: Teller) {
    let mut story = patient(told_by);
    story.model([
        Line::fails(Failure::Busy(None)),
        cut("Lisbon is "),
        cut("lovely in "),
        Line::says("march."),
        Line::says("Any time."),
    ]);

    story.human("lisbon?").human("thanks");

    expect![[r#"
        human> lisbon?
        main> assistant: Lisbon is lovely in march.
        human> thanks
        main> assistant: Any time.
    "#]]
    .assert_eq(&story.told());
    let contexts = story.contexts();
    let last = |n: usize| contexts[n].said.iter().nth_back(1).map(|said| said.text());
    assert_eq!(last(3).as_deref(), Some("Lisbon is lovely in "), "the fourth call continues what was heard");
    assert_eq!(contexts[4].said.len(), 3, "and nothing of the repair stays in the conversation");
}

/// E2: a tool that ran before the break is not run again.
pub fn a_break_after_a_tool_does_not_repeat_it(told_by: Teller) {
    let mut story = patient(told_by);
    story.model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#),
        cut("Kept"),
        Line::fails(Failure::Broken("500".to_owned())),
        Line::says(" it."),
        Line::calls("inbox_list", "{}"),
        Line::says("One thing."),
    ]);

    story.human("remember milk").human("list");

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
    .assert_eq(&story.told());
}

/// E1: after the last retry the turn fails with the reason, and keeps the partial answer.
pub fn a_model_that_never_comes_back_is_given_up(told_by: Teller) {
    let mut story = patient(told_by);
    story.model([cut("Well, ")]);
    story.model((0..9).map(|_| Line::fails(Failure::Busy(None))));

    story.human("hello?");

    expect![[r#"
        human> hello?
        main> assistant: Well,  (cut)
        main> failed: the model is overloaded right now. your message is kept; say it again in a moment.
    "#]]
    .assert_eq(&story.told());
    assert_eq!(story.contexts().len(), 6);
}

/// MC-6: a new message interrupts the wait before a retry.
pub fn a_new_message_ends_the_waiting(told_by: Teller) {
    let mut story = patient(told_by);
    story.model([Line::fails(Failure::Busy(Some(300))), Line::says("Here.")]);

    story.human_adds("a").asked(1).human("b");

    expect![[r#"
        human> a
        main> stopped
        human> b
        main> assistant: Here.
    "#]]
    .assert_eq(&story.told());
}
