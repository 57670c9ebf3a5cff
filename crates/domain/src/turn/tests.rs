//! Tests of the turn state machine, step by step.

use super::*;
use crate::conversation::{Heard, Json, Opaque};
use crate::patience;
use crate::tool::Outcome;

fn begin(limits: patience::Limits) -> Turn {
    Turn::begin(Task::Answer, Limits::HOUSE, Patience::new(limits, 7))
}

fn text(words: &str) -> Block {
    Block::Text(words.to_owned())
}

fn call(id: &str) -> Block {
    Block::Call(ToolCall { id: id.to_owned(), name: "inbox_list".to_owned(), input: Json("{}".to_owned()) })
}

fn reply(blocks: Vec<Block>, stop: Stop) -> Reply {
    Reply { blocks, stop, usage: Usage { input: 10, output: 1, ..Usage::default() } }
}

fn after(blocks: Vec<Block>, stop: Stop) -> Turn {
    let mut turn = begin(patience::Limits::NONE);
    turn.replied(reply(blocks, stop));
    turn
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        call: id.to_owned(),
        text: "fine".to_owned(),
        outcome: Outcome::Done,
        label: crate::label::Label::PLAIN,
    }
}

/// E3: Failure, refusal, length, an empty reply and text are five different outcomes.
#[test]
fn a_reply_ends_the_turn_in_one_of_five_ways() {
    let check = |blocks, stop, ending: Ending| assert_eq!(after(blocks, stop).step(), Step::Done(ending));
    check(vec![text("hi")], Stop::Said, Ending::Finished);
    check(vec![text(" \n")], Stop::Said, Ending::Failed(Failure::Unsaid(Unsaid::Empty)));
    check(vec![], Stop::Tools, Ending::Failed(Failure::Unsaid(Unsaid::Empty)));
    check(vec![text("hi")], Stop::Length, Ending::Failed(Failure::Unsaid(Unsaid::TooLong)));
    let declined = Declined::Cyber;
    check(
        vec![text("no")],
        Stop::Refusal(declined),
        Ending::Failed(Failure::Unsaid(Unsaid::Refused(declined))),
    );
}

/// The continuation of an interrupted reply is bound to a request with a transient note that is not
/// stored. Anthropic refuses such blocks later, and other servers refuse a tool loop without
/// theirs.
#[test]
fn signed_parts_of_a_continued_reply_are_dropped_where_they_are_bound() {
    let kept = |origin: &str| {
        let mut turn = begin(patience::Limits::HOUSE);
        turn.failed("Once upon ", Failure::Broken("it broke".to_owned()));
        turn.waited();
        let thoughts = Block::Opaque(Opaque { origin: origin.to_owned(), json: Json("{}".to_owned()) });
        turn.replied(reply(vec![thoughts, text("a time."), call("a")], Stop::Tools));
        let Some(Said::Assistant(blocks, _)) = turn.said().last() else { panic!("a reply") };
        assert!(blocks.contains(&text("Once upon a time.")), "{blocks:?}");
        blocks.iter().filter(|block| matches!(block, Block::Opaque(_))).count()
    };
    assert_eq!(kept(Opaque::ANTHROPIC), 0);
    assert_eq!(kept("https://api.deepseek.com/v1 deepseek-v4"), 1);
}

/// Thinking counts towards the token limit of a reply. A reply that consists of it is requested
/// once more at a lower effort, and not stored.
#[test]
fn a_reply_of_thinking_alone_is_asked_for_once_more_at_a_lower_effort() {
    let thoughts =
        || Block::Opaque(Opaque { origin: Opaque::ANTHROPIC.to_owned(), json: Json("{}".to_owned()) });
    let mut turn = after(vec![thoughts()], Stop::Length);
    assert_eq!((turn.step(), turn.effort(Effort::Medium)), (Step::CallModel, Effort::Low));
    let mut again = turn.clone();
    again.replied(reply(vec![thoughts(), text("done")], Stop::Said));
    assert_eq!((again.step(), again.said().len()), (Step::Done(Ending::Finished), 1));
    turn.replied(reply(vec![thoughts()], Stop::Length));
    assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::OnlyThought))));
    assert_eq!(turn.said(), []);
}

#[test]
fn calls_are_run_and_then_the_model_is_asked_again() {
    let mut turn = after(vec![text("one moment"), call("a"), call("b")], Stop::Tools);
    let Step::RunTools(calls) = turn.step() else { panic!("tools were wanted") };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    turn.ran(vec![result("a"), result("b")]);
    assert_eq!(turn.step(), Step::CallModel);
    turn.replied(reply(vec![text("done")], Stop::Said));
    assert_eq!(turn.step(), Step::Done(Ending::Finished));
    assert_eq!(turn.said().len(), 3);
}

#[test]
fn a_call_in_a_reply_that_was_cut_is_never_run_and_never_kept() {
    let turn = after(vec![text("let me"), call("a")], Stop::Length);
    assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::TooLong))));
    assert_eq!(turn.said(), [Said::Assistant(vec![text("let me")], Reach::Cut)]);
}

#[test]
fn words_that_were_heard_before_a_cut_stay_and_silence_leaves_nothing() {
    let mut turn = begin(patience::Limits::NONE);
    turn.cut("half", Ending::Interrupted);
    assert_eq!(turn.said(), [Said::Assistant(vec![text("half")], Reach::Cut)]);
    let mut turn = begin(patience::Limits::NONE);
    turn.cut("  ", Ending::Interrupted);
    assert_eq!(turn.said(), []);
}

/// E2: An interrupted reply is continued and stored as one.
#[test]
fn an_answer_in_two_halves_is_one_answer() {
    let mut turn = begin(patience::Limits::HOUSE);
    turn.failed("Lisbon ", Failure::CutOff("gone".to_owned()));
    assert!(matches!(turn.step(), Step::Wait(_)));
    turn.waited();
    assert_eq!((turn.step(), turn.aside()), (Step::CallModel, context::continuing("Lisbon ").to_vec()));
    turn.replied(reply(vec![text("is lovely.")], Stop::Said));
    assert_eq!(turn.said(), [Said::Assistant(vec![text("Lisbon is lovely.")], Reach::Whole)]);
    assert_eq!(turn.aside(), []);
}

/// E2: After the last retry the text of all attempts is stored once, as an interrupted reply.
#[test]
fn when_patience_ends_the_half_answer_stays() {
    let mut turn = begin(patience::Limits { tries: 2, ..patience::Limits::HOUSE });
    turn.failed("one ", Failure::CutOff("gone".to_owned()));
    turn.waited();
    turn.failed("two", Failure::CutOff("gone again".to_owned()));
    assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::CutOff("gone again".to_owned()))));
    assert_eq!(turn.said(), [Said::Assistant(vec![text("one two")], Reach::Cut)]);
}

/// E4: Parallel calls are counted one by one. Those over the limit do not run, and the model can
/// still answer.
#[test]
fn the_limit_counts_calls_and_not_replies() {
    let many = |count: usize| (0..count).map(|n| call(&n.to_string())).collect::<Vec<_>>();
    let mut turn = after(many(100), Stop::Tools);
    let Step::RunTools(calls) = turn.step() else { panic!("nothing runs") };
    assert_eq!((calls.len(), turn.allowed()), (100, 50));
    turn.ran(calls.iter().map(|call| result(&call.id)).collect());
    let mut answering = turn.clone();
    answering.replied(reply(vec![text("that is what i have")], Stop::Said));
    assert_eq!(answering.step(), Step::Done(Ending::Finished));
    turn.replied(reply(many(1), Stop::Tools));
    let Step::Done(Ending::Failed(Failure::Stopped(why))) = turn.step() else { panic!("it was not stopped") };
    assert!(why.contains("50 tool calls"), "{why}");
    let mut in_two = after(many(30), Stop::Tools);
    in_two.ran(Vec::new());
    in_two.replied(reply(many(30), Stop::Tools));
    assert_eq!(in_two.allowed(), 20);
}

/// The text of a repeatedly interrupted reply is limited.
#[test]
fn a_reply_in_halves_is_bounded() {
    let mut turn = begin(patience::Limits::HOUSE);
    let broken = || Failure::CutOff("gone".to_owned());
    turn.failed(&"a".repeat(HALF_BYTES), broken());
    assert!(matches!(turn.step(), Step::Wait(_)));
    turn.waited();
    turn.failed("b", broken());
    assert_eq!(turn.step(), Step::Done(Ending::Failed(broken())));
}

/// E4: A long turn also ends at its token limit; cached tokens are not counted.
#[test]
fn the_limit_counts_tokens_too_and_says_so() {
    let limits = Limits { tokens: 100, ..Limits::HOUSE };
    let mut turn = Turn::begin(Task::Answer, limits, Patience::new(patience::Limits::NONE, 7));
    let mut takes = |usage| {
        turn.used(Call { model: "m".to_owned(), usage });
        turn.replied(reply(vec![call("a")], Stop::Tools));
        turn.step()
    };
    assert!(matches!(takes(Usage { input: 100, cache_read: 900, ..Usage::default() }), Step::RunTools(_)));
    let Step::Done(Ending::Failed(Failure::Stopped(why))) = takes(Usage { output: 1, ..Usage::default() })
    else {
        panic!("it was not stopped")
    };
    assert!(why.contains("more than 100 tokens"), "{why}");
    assert_eq!((turn.spent().len(), turn.usage().held()), (2, 1_001));
}

fn summing_up(said: &str) -> Turn {
    let heard = Heard { preface: String::new(), text: said.to_owned(), images: Vec::new() };
    let gate = Gate::new(&[Arc::new(Said::Human(heard))], "");
    Turn::begin(Task::Summarise(gate), Limits::HOUSE, Patience::new(patience::Limits::HOUSE, 7))
}

/// A summary is checked, adds no entry, and is continued after an interruption like any reply.
#[test]
fn a_summary_in_two_halves_is_one_summary() {
    let mut turn = summing_up("the booking is LH4711");
    turn.failed("The human has booked ", Failure::CutOff("gone".to_owned()));
    turn.waited();
    assert_eq!(turn.aside().len(), 3, "the request, the half and the note to go on");
    turn.replied(reply(vec![text("the flight LH4711.")], Stop::Said));
    assert_eq!((turn.step(), turn.said()), (Step::Done(Ending::Finished), &[][..]));
    let words = turn.into_summary().map(|summary| summary.text);
    assert_eq!(words.as_deref(), Some("The human has booked the flight LH4711."));
}

#[test]
fn a_summary_that_forgets_twice_is_refused_and_one_that_calls_tools_is_read() {
    let forgetful = || reply(vec![text("There was talk of a flight."), call("a")], Stop::Tools);
    let mut turn = summing_up("the booking is LH4711");
    turn.replied(forgetful());
    assert_eq!(turn.step(), Step::CallModel);
    turn.replied(forgetful());
    let Step::Done(Ending::Failed(Failure::Unsaid(Unsaid::Forgetful(_)))) = turn.step() else {
        panic!("it passed")
    };
    assert_eq!((turn.said().len(), turn.into_summary()), (0, None));
}

/// A model that refuses pictures is asked once more without them.
#[test]
fn a_picture_that_is_refused_is_left_out() {
    let shown = Measure { pictures: Pictures::Shown, shortened: 0 };
    let mut turn = begin(patience::Limits::NONE).reading(shown);
    turn.failed("", Failure::Rejected("could not process image".to_owned()));
    assert_eq!((turn.step(), turn.measure().pictures), (Step::CallModel, Pictures::LeftOut));
    turn.failed("", Failure::Rejected("no".to_owned()));
    assert_eq!(turn.step(), Step::Done(Ending::Failed(Failure::Rejected("no".to_owned()))));
}

/// Another refusal is not retried without the picture.
#[test]
fn another_refusal_does_not_leave_the_picture_out() {
    let refused = || Failure::Rejected("tools.0.input_schema: not supported".to_owned());
    let mut turn = begin(patience::Limits::NONE).reading(Measure { pictures: Pictures::Shown, shortened: 0 });
    turn.failed("", refused());
    assert_eq!(turn.step(), Step::Done(Ending::Failed(refused())));
}

/// A conversation that is too long is reduced step by step for a summary, but not for an answer.
#[test]
fn a_summary_of_too_much_is_written_from_less() {
    let full = || Failure::Full("too long".to_owned());
    let mut turn = summing_up("the booking is LH4711");
    for shortened in 1..=SHORTENINGS {
        turn.failed("", full());
        assert_eq!((turn.step(), turn.measure().shortened), (Step::CallModel, shortened));
    }
    turn.failed("", full());
    assert_eq!(turn.step(), Step::Done(Ending::Failed(full())));
    let mut turn = begin(patience::Limits::HOUSE);
    turn.failed("", full());
    assert_eq!(turn.step(), Step::Done(Ending::Failed(full())));
}
