//! Stories about the usage of model calls and the limits that are checked before them.

mod single_turn;

use domain::conversation::{Block, Branch, Usage};
use domain::cost::{
    Account, Attendance, BudgetLimit, BudgetRefusal, CostSource, DaySpending, LongPrompt, Price, Rates,
    check_budget,
};
use domain::failure::{Failure, SpendLimit};
use domain::turn::{ModelReply, StopReason, TurnEnding, TurnLimits};
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;
use testkit::wire_models::WireModel;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn recorded_usage(story: &Story) -> Vec<(u64, u64, u64)> {
    let row =
        |spent: domain::cost::LedgerEntry| (spent.turn.0, spent.call.usage.input, spent.call.usage.output);
    story.spending().into_iter().map(row).collect()
}

#[test]
fn every_call_is_recorded_once_with_the_next_decision() {
    let mut story = story();
    story.script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
        ModelOutcome::text("Kept."),
        ModelOutcome::text("Any time."),
    ]);
    story.user("remember milk").user("thanks").crash();

    assert_eq!(recorded_usage(&story), [(1, 10, 5), (1, 10, 5), (2, 10, 5)]);
    let first = &story.spending()[0];
    assert_eq!((&first.branch, &first.account.source), (&Branch::Main, &CostSource::Main));
    assert_eq!(
        (first.account.attended, first.call.model.as_str()),
        (Attendance::Attended, "puppet:answering")
    );
    assert_eq!(first.cost, None, "nobody knows what a puppet costs");
}

/// E2: a reply that broke off or was stopped is counted as far as it came.
#[test]
fn broken_reply_is_counted_as_far_as_it_came() {
    let mut story = story();
    story.with_retries().script([
        ModelOutcome::fail(Failure::Overloaded(None)),
        ModelOutcome::Fail("Lisbon ".to_owned(), Failure::CutOff("gone".to_owned())),
        ModelOutcome::text("is lovely."),
        ModelOutcome::hang("Well, "),
        ModelOutcome::text("Stopped."),
    ]);
    story.user("lisbon?").user_begins("and porto?").user_stops().user("thanks");

    assert_eq!(recorded_usage(&story), [(1, 10, 0), (1, 10, 5), (2, 10, 0), (3, 10, 5)]);
}

/// E4: the usage of a server that does not report it is estimated from the context and the reply,
/// also for a reply that breaks off or only calls tools.
#[test]
fn unreported_usage_is_estimated() {
    let mut story = story();
    story.script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#).without_usage(),
        ModelOutcome::text("Kept, as you wished.").without_usage(),
    ]);
    story.user("remember milk");
    let [first, second] = recorded_usage(&story)[..] else { panic!("{:?}", recorded_usage(&story)) };
    assert!(first.1 > 1_000, "the tools and the instructions were read: {first:?}");
    assert!(second.1 > first.1, "and then what came before: {second:?}");
    assert_eq!((first.2, second.2), ((9 + 15_u64).div_ceil(3), 20_u64.div_ceil(3)));

    let mut cut = Story::with_wire_model("2026-11-15T08:00[Europe/Madrid]", WireModel::openai());
    cut.with_retries().script([
        ModelOutcome::Fail("Lisbon is ".to_owned(), Failure::CutOff("gone".to_owned())),
        ModelOutcome::text("lovely."),
    ]);
    cut.user("lisbon?");
    let [half, rest] = recorded_usage(&cut)[..] else { panic!("{:?}", recorded_usage(&cut)) };
    assert!(half.1 > 1_000 && half.2 == 4, "{half:?}");
    assert_eq!((rest.1, rest.2), (10, 5), "what the server counts is believed");
}

/// E4: a server that does not report usage is still subject to the limits.
#[test]
fn unreported_usage_is_subject_to_the_limits() {
    let unattended = account(Attendance::Unattended);
    let limit = BudgetLimit { money: None, tokens: Some(40) };
    let rule = move |day: &DaySpending| check_budget(&unattended, day, &limit);
    let ended = single_turn::run(account(Attendance::Unattended), TurnLimits::DEFAULT, rule, || {
        tool_call().without_usage()
    });
    assert!(
        matches!(ended.outcome.ending, TurnEnding::Failed(Failure::SpendLimit(_))),
        "{:?}",
        ended.outcome.ending
    );

    let limits = TurnLimits { tokens: 100, ..TurnLimits::DEFAULT };
    let rule = |_: &DaySpending| -> Result<(), BudgetRefusal> { panic!("nobody asks") };
    let ended = single_turn::run(account(Attendance::Attended), limits, rule, || tool_call().without_usage());
    let TurnEnding::Failed(Failure::Stopped(why)) = ended.outcome.ending else { panic!("it went on") };
    assert!(why.contains("more than 100 tokens"), "{why}");
}

/// An answer of a server that does not report usage ends an outage, so the next outage is reported
/// again.
#[test]
fn second_outage_of_a_server_without_usage_is_reported() {
    let away = || ModelOutcome::fail(Failure::Overloaded(None));
    let mut story = story();
    story.script([away()]).user_sends("what shall i cook?").wait_for_line("overloaded");
    story.script([ModelOutcome::text("Risotto.").without_usage()]).advance_time("2m");
    story.script([away()]).user_sends("and for six?").advance_time("1s");
    assert_eq!(
        story.transcript().matches("notice> the model is overloaded").count(),
        2,
        "{}",
        story.transcript()
    );
}

#[test]
fn call_is_counted_once_despite_crashes() {
    use testkit::story::JournalFault;
    for trouble in [JournalFault::Fail, JournalFault::CrashBefore, JournalFault::CrashAfter] {
        let mut story = story();
        story.script([
            ModelOutcome::text("Good morning."),
            ModelOutcome::text("Good morning again."),
            ModelOutcome::text("Bye."),
        ]);
        story.inject_journal_fault(2, trouble).user("hello");
        match trouble {
            JournalFault::Fail | JournalFault::Delay(_) => {}
            JournalFault::CrashBefore | JournalFault::CrashAfter => {
                story.crash().wait_for_answers();
            }
        }
        story.user("bye");
        assert_eq!(recorded_usage(&story), [(1, 10, 5), (2, 10, 5)], "{trouble:?}");
    }
}

fn tool_call() -> ModelOutcome {
    ModelOutcome::tool_call("note", "{}")
}

fn account(attended: Attendance) -> Account {
    Account { source: CostSource::Routine("mail".to_owned()), attended }
}

/// E4: the daily limit applies before the next call, and the failure says how the user can raise
/// it.
#[test]
fn background_work_is_stopped_by_the_daily_limit_before_its_next_call() {
    let limit = BudgetLimit { money: None, tokens: Some(40) };
    let unattended = account(Attendance::Unattended);
    let rule = move |day: &DaySpending| check_budget(&unattended, day, &limit);
    let ended = single_turn::run(account(Attendance::Unattended), TurnLimits::DEFAULT, rule, tool_call);

    let refusal = BudgetRefusal::Tokens { spent: 45, most: 40 };
    let failure = Failure::SpendLimit(SpendLimit::Day(refusal));
    assert_eq!(ended.outcome.ending, TurnEnding::Failed(failure.clone()));
    assert!(failure.to_string().contains("`/config daily_limit` and a higher one"), "{failure}");
    assert_eq!(
        (ended.calls, ended.counted, ended.outcome.unrecorded_calls.len()),
        (3, 3, 0),
        "each call is told once"
    );
}

/// E4: an interactive turn is not checked against the daily limit, and ends at the token limit of
/// one turn.
#[test]
fn looping_interactive_turn_ends_at_its_token_limit() {
    let rule = |_: &DaySpending| -> Result<(), BudgetRefusal> { panic!("nobody asks") };
    let limits = TurnLimits { tokens: 100, ..TurnLimits::DEFAULT };
    let ended = single_turn::run(account(Attendance::Attended), limits, rule, tool_call);
    let TurnEnding::Failed(Failure::Stopped(why)) = ended.outcome.ending else { panic!("it went on") };
    assert!(why.contains("more than 100 tokens"), "{why}");
    assert_eq!((ended.calls, ended.counted, ended.outcome.unrecorded_calls.len()), (7, 6, 1));
}

#[test]
fn compaction_has_its_own_account() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Good morning."),
        ModelOutcome::text("We said good morning to each other, and nothing else."),
    ]);
    story.user("hello").user_commands("/compact");
    let sources: Vec<String> =
        story.spending().iter().map(|spent| spent.account.source.to_string()).collect();
    assert_eq!(sources, ["main", "compaction"]);
}

/// SL-6: spending and explanations of answers are read from the journal.
#[test]
fn answer_is_explained_with_its_cost() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.user_commands("/why").user_commands("/cost");
    story.script([ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#), ModelOutcome::text("Kept.")]);
    story.user("keep milk").user_commands("/why").user_commands("/why 1").user_commands("/why 9");
    story.user_commands("/cost");
    expect![[r#"
        human> /why
        told> i have not answered anything yet.
        human> /cost
        told> no model was called today, so nothing was spent.
        work nobody waits for has no daily limit (`/config daily_limit` sets one).
        human> keep milk
        main> calls inbox_add {"text":"milk"}
        main> inbox_add: kept as 1
        main> assistant: Kept.
        human> /why
        told> answer 1 was begun on 2026-11-15 at 08:00:00, in our main conversation.
        it answers what you said in the terminal: "keep milk"
        2 calls of puppet:answering.
        20 tokens read, 0 % of them from the cache, 10 written; what it cost is not known.
        tools, and the rule that decided: inbox_add (context).
        it was finished after 0 s.
        human> /why 1
        told> answer 1 was begun on 2026-11-15 at 08:00:00, in our main conversation.
        it answers what you said in the terminal: "keep milk"
        2 calls of puppet:answering.
        20 tokens read, 0 % of them from the cache, 10 written; what it cost is not known.
        tools, and the rule that decided: inbox_add (context).
        it was finished after 0 s.
        human> /why 9
        told> there is no answer with the number 9. `/why` alone tells of the last one.
        human> /cost
        told> today: no known price, 2 calls, 30 tokens, 0 % of what was read was cached.
          main: no known price, 2 calls, 30 tokens
        7 days: no known price, 2 calls, 30 tokens.
        work nobody waits for has no daily limit (`/config daily_limit` sets one).
    "#]]
    .assert_eq(&story.transcript());
}

/// A conversation is compacted before its prompts are so long that each token costs more.
#[test]
fn conversation_is_compacted_before_its_prompts_cost_more() {
    let told = |long: Option<LongPrompt>| {
        let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
        let usage = Usage { input: 8_500, ..Usage::default() };
        let noted = ModelReply {
            blocks: vec![Block::Text("Noted.".to_owned())],
            stop_reason: StopReason::Finished,
            usage,
        };
        let summary = "The user flies to Lisbon with booking LH4711.";
        story.script([
            ModelOutcome::Reply(noted),
            ModelOutcome::text(summary),
            ModelOutcome::text("LH4711."),
        ]);
        story
            .with_price(Price { rates: Rates::default(), long, ..Price::default() })
            .user("my booking to Lisbon is LH4711");
        story.user("what was my booking?");
        story.transcript()
    };
    let long = LongPrompt { above: 10_000, rates: Rates::default() };
    assert!(told(Some(long)).contains("main> compacted:"));
    assert!(!told(None).contains("main> compacted:"));
}
