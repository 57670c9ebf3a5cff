//! Tests of the turn state machine, step by step.

use super::*;
use crate::conversation::{Json, Opaque, UserInput};
use crate::retry_policy;
use crate::tool::Outcome;

fn begin(limits: retry_policy::RetryLimits) -> Turn {
    Turn::new(TurnTask::Answer, TurnLimits::DEFAULT, RetryPolicy::new(limits, 7))
}

fn text(words: &str) -> Block {
    Block::Text(words.to_owned())
}

fn call(id: &str) -> Block {
    Block::Call(ToolCall { id: id.to_owned(), name: "inbox_list".to_owned(), input: Json("{}".to_owned()) })
}

fn reply(blocks: Vec<Block>, stop: StopReason) -> ModelReply {
    ModelReply { blocks, stop_reason: stop, usage: Usage { input: 10, output: 1, ..Usage::default() } }
}

fn after(blocks: Vec<Block>, stop: StopReason) -> Turn {
    let mut turn = begin(retry_policy::RetryLimits::NONE);
    turn.on_reply(reply(blocks, stop));
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
fn reply_has_one_of_five_outcomes() {
    let check =
        |blocks, stop, ending: TurnEnding| assert_eq!(after(blocks, stop).step(), TurnStep::Done(ending));
    check(vec![text("hi")], StopReason::Finished, TurnEnding::Finished);
    check(
        vec![text(" \n")],
        StopReason::Finished,
        TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Empty)),
    );
    check(vec![], StopReason::Tools, TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Empty)));
    check(
        vec![text("hi")],
        StopReason::Length,
        TurnEnding::Failed(Failure::InvalidReply(InvalidReply::TooLong)),
    );
    let declined = DeclineReason::Cyber;
    check(
        vec![text("no")],
        StopReason::Refusal(declined),
        TurnEnding::Failed(Failure::InvalidReply(InvalidReply::Refused(declined))),
    );
}

/// The continuation of an interrupted reply is bound to a request with a transient note that is not
/// stored. Anthropic refuses such blocks later, and other servers refuse a tool loop without
/// theirs.
#[test]
fn signed_parts_of_a_continued_reply_are_dropped_where_they_are_bound() {
    let kept = |origin: &str| {
        let mut turn = begin(retry_policy::RetryLimits::DEFAULT);
        turn.on_failure("Once upon ", Failure::VendorError("it broke".to_owned()));
        turn.on_wait_over();
        let thoughts = Block::Opaque(Opaque { origin: origin.to_owned(), json: Json("{}".to_owned()) });
        turn.on_reply(reply(vec![thoughts, text("a time."), call("a")], StopReason::Tools));
        let Some(EntryContent::Assistant(blocks, _)) = turn.entries().last() else { panic!("a reply") };
        assert!(blocks.contains(&text("Once upon a time.")), "{blocks:?}");
        blocks.iter().filter(|block| matches!(block, Block::Opaque(_))).count()
    };
    assert_eq!(kept(Opaque::ANTHROPIC), 0);
    assert_eq!(kept("https://api.deepseek.com/v1 deepseek-v4"), 1);
}

/// Thinking counts towards the token limit of a reply. A reply that consists of it is requested
/// once more at a lower effort, and not stored.
#[test]
fn reply_of_thinking_only_is_retried_at_lower_effort() {
    let thoughts =
        || Block::Opaque(Opaque { origin: Opaque::ANTHROPIC.to_owned(), json: Json("{}".to_owned()) });
    let mut turn = after(vec![thoughts()], StopReason::Length);
    assert_eq!((turn.step(), turn.effort(Effort::Medium)), (TurnStep::CallModel, Effort::Low));
    let mut again = turn.clone();
    again.on_reply(reply(vec![thoughts(), text("done")], StopReason::Finished));
    assert_eq!((again.step(), again.entries().len()), (TurnStep::Done(TurnEnding::Finished), 1));
    turn.on_reply(reply(vec![thoughts()], StopReason::Length));
    assert_eq!(
        turn.step(),
        TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::OnlyThinking)))
    );
    assert_eq!(turn.entries(), []);
}

#[test]
fn calls_run_before_the_next_model_call() {
    let mut turn = after(vec![text("one moment"), call("a"), call("b")], StopReason::Tools);
    let TurnStep::RunTools(calls) = turn.step() else { panic!("tools were wanted") };
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    turn.on_tool_results(vec![result("a"), result("b")]);
    assert_eq!(turn.step(), TurnStep::CallModel);
    turn.on_reply(reply(vec![text("done")], StopReason::Finished));
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Finished));
    assert_eq!(turn.entries().len(), 3);
}

#[test]
fn call_in_a_cut_reply_is_not_run_or_stored() {
    let turn = after(vec![text("let me"), call("a")], StopReason::Length);
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::TooLong))));
    assert_eq!(turn.entries(), [EntryContent::Assistant(vec![text("let me")], Completeness::Interrupted)]);
}

#[test]
fn text_before_an_interruption_is_stored() {
    let mut turn = begin(retry_policy::RetryLimits::NONE);
    turn.end_early("half", TurnEnding::Interrupted);
    assert_eq!(turn.entries(), [EntryContent::Assistant(vec![text("half")], Completeness::Interrupted)]);
    let mut turn = begin(retry_policy::RetryLimits::NONE);
    turn.end_early("  ", TurnEnding::Interrupted);
    assert_eq!(turn.entries(), []);
}

/// E2: An interrupted reply is continued and stored as one.
#[test]
fn interrupted_answer_is_continued_as_one() {
    let mut turn = begin(retry_policy::RetryLimits::DEFAULT);
    turn.on_failure("Lisbon ", Failure::CutOff("gone".to_owned()));
    assert!(matches!(turn.step(), TurnStep::Wait(_)));
    turn.on_wait_over();
    assert_eq!(
        (turn.step(), turn.transient_entries()),
        (TurnStep::CallModel, context::continuation_prompt("Lisbon ").to_vec())
    );
    turn.on_reply(reply(vec![text("is lovely.")], StopReason::Finished));
    assert_eq!(
        turn.entries(),
        [EntryContent::Assistant(vec![text("Lisbon is lovely.")], Completeness::Complete)]
    );
    assert_eq!(turn.transient_entries(), []);
}

/// E2: After the last retry the text of all attempts is stored once, as an interrupted reply.
#[test]
fn partial_answer_stays_after_the_last_retry() {
    let mut turn = begin(retry_policy::RetryLimits { max_attempts: 2, ..retry_policy::RetryLimits::DEFAULT });
    turn.on_failure("one ", Failure::CutOff("gone".to_owned()));
    turn.on_wait_over();
    turn.on_failure("two", Failure::CutOff("gone again".to_owned()));
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(Failure::CutOff("gone again".to_owned()))));
    assert_eq!(turn.entries(), [EntryContent::Assistant(vec![text("one two")], Completeness::Interrupted)]);
}

/// E4: Parallel calls are counted one by one. Those over the limit do not run, and the model can
/// still answer.
#[test]
fn tool_limit_counts_calls_and_not_replies() {
    let many = |count: usize| (0..count).map(|n| call(&n.to_string())).collect::<Vec<_>>();
    let mut turn = after(many(100), StopReason::Tools);
    let TurnStep::RunTools(calls) = turn.step() else { panic!("nothing runs") };
    assert_eq!((calls.len(), turn.allowed()), (100, 50));
    turn.on_tool_results(calls.iter().map(|call| result(&call.id)).collect());
    let mut answering = turn.clone();
    answering.on_reply(reply(vec![text("that is what i have")], StopReason::Finished));
    assert_eq!(answering.step(), TurnStep::Done(TurnEnding::Finished));
    turn.on_reply(reply(many(1), StopReason::Tools));
    let TurnStep::Done(TurnEnding::Failed(Failure::Stopped(why))) = turn.step() else {
        panic!("it was not stopped")
    };
    assert!(why.contains("50 tool calls"), "{why}");
    let mut in_two = after(many(30), StopReason::Tools);
    in_two.on_tool_results(Vec::new());
    in_two.on_reply(reply(many(30), StopReason::Tools));
    assert_eq!(in_two.allowed(), 20);
}

/// The text of a repeatedly interrupted reply is limited.
#[test]
fn continued_reply_is_bounded() {
    let mut turn = begin(retry_policy::RetryLimits::DEFAULT);
    let broken = || Failure::CutOff("gone".to_owned());
    turn.on_failure(&"a".repeat(MAX_PARTIAL_BYTES), broken());
    assert!(matches!(turn.step(), TurnStep::Wait(_)));
    turn.on_wait_over();
    turn.on_failure("b", broken());
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(broken())));
}

/// E4: A long turn also ends at its token limit; cached tokens are not counted.
#[test]
fn token_limit_ends_the_turn() {
    let limits = TurnLimits { tokens: 100, ..TurnLimits::DEFAULT };
    let mut turn = Turn::new(TurnTask::Answer, limits, RetryPolicy::new(retry_policy::RetryLimits::NONE, 7));
    let mut takes = |usage| {
        turn.add_call(ModelCall { model: "m".to_owned(), usage });
        turn.on_reply(reply(vec![call("a")], StopReason::Tools));
        turn.step()
    };
    assert!(matches!(
        takes(Usage { input: 100, cache_read: 900, ..Usage::default() }),
        TurnStep::RunTools(_)
    ));
    let TurnStep::Done(TurnEnding::Failed(Failure::Stopped(why))) =
        takes(Usage { output: 1, ..Usage::default() })
    else {
        panic!("it was not stopped")
    };
    assert!(why.contains("more than 100 tokens"), "{why}");
    assert_eq!((turn.calls().len(), turn.usage().total()), (2, 1_001));
}

fn summary_turn(said: &str) -> Turn {
    let heard = UserInput { preface: String::new(), text: said.to_owned(), images: Vec::new() };
    let gate = SummaryCheck::new(&[Arc::new(EntryContent::User(heard))], "");
    Turn::new(
        TurnTask::Summarise(gate),
        TurnLimits::DEFAULT,
        RetryPolicy::new(retry_policy::RetryLimits::DEFAULT, 7),
    )
}

/// A summary is checked, adds no entry, and is continued after an interruption like any reply.
#[test]
fn interrupted_summary_is_continued_as_one() {
    let mut turn = summary_turn("the booking is LH4711");
    turn.on_failure("The human has booked ", Failure::CutOff("gone".to_owned()));
    turn.on_wait_over();
    assert_eq!(turn.transient_entries().len(), 3, "the request, the half and the note to go on");
    turn.on_reply(reply(vec![text("the flight LH4711.")], StopReason::Finished));
    assert_eq!((turn.step(), turn.entries()), (TurnStep::Done(TurnEnding::Finished), &[][..]));
    let words = turn.into_summary().map(|summary| summary.text);
    assert_eq!(words.as_deref(), Some("The human has booked the flight LH4711."));
}

#[test]
fn incomplete_summary_is_refused_after_two_attempts() {
    let forgetful = || reply(vec![text("There was talk of a flight."), call("a")], StopReason::Tools);
    let mut turn = summary_turn("the booking is LH4711");
    turn.on_reply(forgetful());
    assert_eq!(turn.step(), TurnStep::CallModel);
    turn.on_reply(forgetful());
    let TurnStep::Done(TurnEnding::Failed(Failure::InvalidReply(InvalidReply::IncompleteSummary(_)))) =
        turn.step()
    else {
        panic!("it passed")
    };
    assert_eq!((turn.entries().len(), turn.into_summary()), (0, None));
}

/// A model that refuses pictures is asked once more without them.
#[test]
fn refused_picture_is_left_out() {
    let shown = Reduction { pictures: Pictures::Shown, level: 0 };
    let mut turn = begin(retry_policy::RetryLimits::NONE).with_reduction(shown);
    turn.on_failure("", Failure::Rejected("could not process image".to_owned()));
    assert_eq!((turn.step(), turn.reduction().pictures), (TurnStep::CallModel, Pictures::LeftOut));
    turn.on_failure("", Failure::Rejected("no".to_owned()));
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(Failure::Rejected("no".to_owned()))));
}

/// Another refusal is not retried without the picture.
#[test]
fn other_refusal_keeps_the_picture() {
    let refused = || Failure::Rejected("tools.0.input_schema: not supported".to_owned());
    let mut turn = begin(retry_policy::RetryLimits::NONE)
        .with_reduction(Reduction { pictures: Pictures::Shown, level: 0 });
    turn.on_failure("", refused());
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(refused())));
}

/// A conversation that is too long is reduced step by step for a summary, but not for an answer.
#[test]
fn summary_of_a_long_conversation_uses_a_reduction() {
    let full = || Failure::ContextFull("too long".to_owned());
    let mut turn = summary_turn("the booking is LH4711");
    for shortened in 1..=MAX_REDUCTION_LEVEL {
        turn.on_failure("", full());
        assert_eq!((turn.step(), turn.reduction().level), (TurnStep::CallModel, shortened));
    }
    turn.on_failure("", full());
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(full())));
    let mut turn = begin(retry_policy::RetryLimits::DEFAULT);
    turn.on_failure("", full());
    assert_eq!(turn.step(), TurnStep::Done(TurnEnding::Failed(full())));
}
