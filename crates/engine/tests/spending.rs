//! Stories about the usage of model calls and the limits that are checked before them.

mod alone;

use domain::conversation::{Block, Branch, Usage};
use domain::cost::{Account, Attended, Day, Limit, LongPrompt, Price, Rates, Refusal, Source, may_spend};
use domain::failure::{Failure, SpendLimit};
use domain::turn::{Ending, Limits, Reply, Stop};
use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;
use testkit::troupe::Troupe;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn used(story: &Story) -> Vec<(u64, u64, u64)> {
    let row = |spent: domain::cost::Spent| (spent.turn.0, spent.call.usage.input, spent.call.usage.output);
    story.spending().into_iter().map(row).collect()
}

#[test]
fn every_call_is_written_down_once_with_the_decision_that_follows_it() {
    let mut story = story();
    story.model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#),
        Line::says("Kept."),
        Line::says("Any time."),
    ]);
    story.human("remember milk").human("thanks").crash();

    assert_eq!(used(&story), [(1, 10, 5), (1, 10, 5), (2, 10, 5)]);
    let first = &story.spending()[0];
    assert_eq!((&first.branch, &first.account.source), (&Branch::Main, &Source::Main));
    assert_eq!((first.account.attended, first.call.model.as_str()), (Attended::Waited, "puppet:answering"));
    assert_eq!(first.cost, None, "nobody knows what a puppet costs");
}

/// E2: a reply that broke off or was stopped is counted as far as it came.
#[test]
fn a_reply_that_broke_off_is_counted_as_far_as_it_was_told() {
    let mut story = story();
    story.patient().model([
        Line::fails(Failure::Busy(None)),
        Line::Fails("Lisbon ".to_owned(), Failure::CutOff("gone".to_owned())),
        Line::says("is lovely."),
        Line::holds("Well, "),
        Line::says("Stopped."),
    ]);
    story.human("lisbon?").human_begins("and porto?").human_stops().human("thanks");

    assert_eq!(used(&story), [(1, 10, 0), (1, 10, 5), (2, 10, 0), (3, 10, 5)]);
}

/// E4: the usage of a server that does not report it is estimated from the context and the reply,
/// also for a reply that breaks off or only calls tools.
#[test]
fn a_server_that_does_not_count_is_counted_by_its_words() {
    let mut story = story();
    story.model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#).uncounted(),
        Line::says("Kept, as you wished.").uncounted(),
    ]);
    story.human("remember milk");
    let [first, second] = used(&story)[..] else { panic!("{:?}", used(&story)) };
    assert!(first.1 > 1_000, "the tools and the instructions were read: {first:?}");
    assert!(second.1 > first.1, "and then what came before: {second:?}");
    assert_eq!((first.2, second.2), ((9 + 15_u64).div_ceil(3), 20_u64.div_ceil(3)));

    let mut cut = Story::told_by("2026-11-15T08:00[Europe/Madrid]", Troupe::openai());
    cut.patient().model([
        Line::Fails("Lisbon is ".to_owned(), Failure::CutOff("gone".to_owned())),
        Line::says("lovely."),
    ]);
    cut.human("lisbon?");
    let [half, rest] = used(&cut)[..] else { panic!("{:?}", used(&cut)) };
    assert!(half.1 > 1_000 && half.2 == 4, "{half:?}");
    assert_eq!((rest.1, rest.2), (10, 5), "what the server counts is believed");
}

/// E4: a server that does not report usage is still subject to the limits.
#[test]
fn a_server_that_does_not_count_is_stopped_by_the_limit_all_the_same() {
    let unattended = account(Attended::Unattended);
    let limit = Limit { money: None, tokens: Some(40) };
    let rule = move |day: &Day| may_spend(&unattended, day, &limit);
    let ended = alone::run(account(Attended::Unattended), Limits::HOUSE, rule, || endless().uncounted());
    assert!(matches!(ended.how.ending, Ending::Failed(Failure::SpendLimit(_))), "{:?}", ended.how.ending);

    let limits = Limits { tokens: 100, ..Limits::HOUSE };
    let rule = |_: &Day| -> Result<(), Refusal> { panic!("nobody asks") };
    let ended = alone::run(account(Attended::Waited), limits, rule, || endless().uncounted());
    let Ending::Failed(Failure::Stopped(why)) = ended.how.ending else { panic!("it went on") };
    assert!(why.contains("more than 100 tokens"), "{why}");
}

/// An answer of a server that does not report usage ends an outage, so the next outage is reported
/// again.
#[test]
fn a_second_outage_of_a_server_that_does_not_count_is_told_again() {
    let away = || Line::fails(Failure::Busy(None));
    let mut story = story();
    story.model([away()]).human_adds("what shall i cook?").hears("overloaded");
    story.model([Line::says("Risotto.").uncounted()]).passes("2m");
    story.model([away()]).human_adds("and for six?").passes("1s");
    assert_eq!(story.told().matches("notice> the model is overloaded").count(), 2, "{}", story.told());
}

#[test]
fn a_call_is_counted_once_though_the_program_dies_around_the_writing() {
    use testkit::story::Trouble;
    for trouble in [Trouble::Fails, Trouble::DiesBefore, Trouble::DiesAfter] {
        let mut story = story();
        story.model([Line::says("Good morning."), Line::says("Good morning again."), Line::says("Bye.")]);
        story.trouble(2, trouble).human("hello");
        match trouble {
            Trouble::Fails | Trouble::Stalls(_) => {}
            Trouble::DiesBefore | Trouble::DiesAfter => {
                story.crash().settle();
            }
        }
        story.human("bye");
        assert_eq!(used(&story), [(1, 10, 5), (2, 10, 5)], "{trouble:?}");
    }
}

fn endless() -> Line {
    Line::calls("note", "{}")
}

fn account(attended: Attended) -> Account {
    Account { source: Source::Routine("mail".to_owned()), attended }
}

/// E4: the daily limit applies before the next call, and the failure says how the user can raise
/// it.
#[test]
fn unattended_work_is_stopped_by_the_limit_of_the_day_before_its_next_call() {
    let limit = Limit { money: None, tokens: Some(40) };
    let unattended = account(Attended::Unattended);
    let rule = move |day: &Day| may_spend(&unattended, day, &limit);
    let ended = alone::run(account(Attended::Unattended), Limits::HOUSE, rule, endless);

    let refusal = Refusal::Tokens { spent: 45, most: 40 };
    let failure = Failure::SpendLimit(SpendLimit::Day(refusal));
    assert_eq!(ended.how.ending, Ending::Failed(failure.clone()));
    assert!(failure.to_string().contains("`/config daily_limit` and a higher one"), "{failure}");
    assert_eq!((ended.calls, ended.counted, ended.how.spent.len()), (3, 3, 0), "each call is told once");
}

/// E4: an interactive turn is not checked against the daily limit, and ends at the token limit of
/// one turn.
#[test]
fn a_turn_that_runs_in_circles_ends_at_its_tokens_though_somebody_waits() {
    let rule = |_: &Day| -> Result<(), Refusal> { panic!("nobody asks") };
    let limits = Limits { tokens: 100, ..Limits::HOUSE };
    let ended = alone::run(account(Attended::Waited), limits, rule, endless);
    let Ending::Failed(Failure::Stopped(why)) = ended.how.ending else { panic!("it went on") };
    assert!(why.contains("more than 100 tokens"), "{why}");
    assert_eq!((ended.calls, ended.counted, ended.how.spent.len()), (7, 6, 1));
}

#[test]
fn a_summary_is_an_account_of_its_own() {
    let mut story = story();
    story.model([
        Line::says("Good morning."),
        Line::says("We said good morning to each other, and nothing else."),
    ]);
    story.human("hello").human_commands("/compact");
    let sources: Vec<String> =
        story.spending().iter().map(|spent| spent.account.source.to_string()).collect();
    assert_eq!(sources, ["main", "compaction"]);
}

/// SL-6: spending and explanations of answers are read from the journal.
#[test]
fn an_answer_is_explained_and_what_it_cost_is_told() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.human_commands("/why").human_commands("/cost");
    story.model([Line::calls("inbox_add", r#"{"text":"milk"}"#), Line::says("Kept.")]);
    story.human("keep milk").human_commands("/why").human_commands("/why 1").human_commands("/why 9");
    story.human_commands("/cost");
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
    .assert_eq(&story.told());
}

/// A conversation is compacted before its prompts are so long that each token costs more.
#[test]
fn a_conversation_is_summed_up_before_its_prompts_cost_more() {
    let told = |long: Option<LongPrompt>| {
        let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
        let usage = Usage { input: 8_500, ..Usage::default() };
        let noted = Reply { blocks: vec![Block::Text("Noted.".to_owned())], stop: Stop::Said, usage };
        let summary = "The user flies to Lisbon with booking LH4711.";
        story.model([Line::Reply(noted), Line::says(summary), Line::says("LH4711.")]);
        story
            .priced(Price { rates: Rates::default(), long, ..Price::default() })
            .human("my booking to Lisbon is LH4711");
        story.human("what was my booking?");
        story.told()
    };
    let long = LongPrompt { above: 10_000, rates: Rates::default() };
    assert!(told(Some(long)).contains("main> compacted:"));
    assert!(!told(None).contains("main> compacted:"));
}
