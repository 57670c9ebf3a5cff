//! The daily limit of background work: it applies to all background calls, is reported once, and
//! loses no work.
//!
//! A call of the fake model uses 15 tokens.

use domain::conversation::Usage;
use domain::cost::Attended;
use domain::failure::Failure;
use domain::turn::Reply;
use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, isolated};

use crate::{at, compacts, dentist, mail, persistent, pings, session, summary, words};

/// Starts a story whose model answers "Done.", with a daily limit of `tokens` for background work.
fn limited(time: &str, tokens: u64) -> Story {
    let mut story = played(time, |_| Line::says("Done."));
    story.limited(tokens);
    story
}

pub fn played(time: &str, says: impl Fn(&str) -> Line + Send + 'static) -> Story {
    let puppet = Puppet::answering(move |context| {
        says(&context.said.last().map(|said| words(said)).unwrap_or_default())
    });
    Story::played_by(&format!("2026-11-{time}[Europe/Madrid]"), puppet)
}

/// Returns the used tokens, one line for each source.
fn used(story: &Story) -> String {
    let mut all: Vec<(String, u64)> = Vec::new();
    for spent in story.spending() {
        let waited = if spent.account.attended == Attended::Waited { "" } else { " (nobody waits)" };
        let who = format!("{}{waited}", spent.account.source);
        match all.iter_mut().find(|(known, _)| *known == who) {
            Some((_, tokens)) => *tokens += spent.call.usage.fresh(),
            None => all.push((who, spent.call.usage.fresh())),
        }
    }
    all.iter().map(|(who, tokens)| format!("{who}: {tokens}\n")).collect()
}

pub fn notices(story: &Story) -> Vec<String> {
    story.told().lines().filter(|line| line.starts_with("notice>")).map(str::to_owned).collect()
}

/// A routine on main, such as `water`, at these times.
fn on_main(id: &str, cron: &str) -> String {
    format!("---\nid: {id}\ncron: \"{cron}\"\n---\nRemind me of {id}.\n")
}

/// E4: a routine on main is background work of its own account. It stops at the limit and continues
/// the next day; messages of the user are always answered.
#[test]
fn a_routine_on_main_spends_on_its_own_account_and_stops_at_the_limit() {
    let mut story = limited("16T08:59:50", 40);
    story.file("routines/water.md", &on_main("water", "*/15 * * * *")).passes("61m");
    expect!["routine:water (nobody waits): 45\n"].assert_eq(&used(&story));
    expect![[r#"
        mon 09:00:00 routine:water try 1 done
        mon 09:15:00 routine:water try 1 done
        mon 09:30:00 routine:water try 1 done
        mon 09:45:00 routine:water try 0 skipped: today's limit is used up
        mon 10:00:00 routine:water try 0 skipped: today's limit is used up"#]]
    .assert_eq(&story.occurrences());
    story.human("still there?");
    expect![[r#"
        routine:water (nobody waits): 45
        main: 15
    "#]]
    .assert_eq(&used(&story));
    story.clock("00:00").passes("10s");
    assert!(
        story.occurrences().ends_with("tue 00:00:00 routine:water try 1 done"),
        "{}",
        story.occurrences()
    );
}

/// E4, SC-18: at the limit reminders are delivered verbatim: on main, from the background, and
/// while they are queued.
#[test]
fn reminders_ring_as_written_at_the_limit() {
    let mut story = limited("16T08:59:50", 10);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("20s");
    story.file("reminders/call.md", &dentist("16T09:10", ""));
    let tea = dentist("16T09:20", "background: true").replace("d1", "t1").replace("the dentist", "home");
    story.file("reminders/tea.md", &tea).passes("25m");
    let told = story.told();
    for words in ["main> assistant: ⏰ call the dentist\n", "main> assistant: ⏰ call home\n"] {
        assert_eq!(told.matches(words).count(), 1, "{told}");
    }
    assert_eq!(notices(&story).len(), 1, "the limit is told, and nothing else: {told}");
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 09:10:00 reminder:d1 try 1 done: today's limit is used up, so its words went out as written
        mon 09:20:00 reminder:t1 try 0 done: today's limit is used up, so its words went out as written"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.contexts().len(), 1, "no model was asked for them");
    assert_eq!(story.files("reminders"), [""; 0]);
    assert_eq!(examine(story.paths().root()), [""; 0]);
}

/// E4: a routine that is queued for main when the limit is reached is skipped.
#[test]
fn a_routine_that_waits_for_main_when_the_limit_is_reached_is_left_out() {
    let mut story = at("16T08:59:50");
    story.limited(10).model([Line::holds("Well"), Line::says("Triaged.")]);
    story.file("routines/water.md", &on_main("water", "0 9 * * *")).human_begins("hello").passes("20s");
    story.file("routines/mail.md", &mail("cron: 1 9 * * *")).passes("2m").human_stops().passes("10s");
    expect![[r#"
        mon 09:00:00 routine:water try 1 skipped: today's limit is used up
        mon 09:01:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert!(!story.tree().contains("water"), "{}", story.tree());
    assert_eq!(examine(story.paths().root()), [""; 0]);
}

/// E4: a routine on main that reaches the limit fails; only the notice about the limit is shown.
#[test]
fn a_routine_on_main_that_is_cut_off_by_the_limit_is_not_told_of_again() {
    let mut story = at("16T08:59:50");
    let list = r#"{"words":"today"}"#;
    story.with_messages().limited(10).model([Line::calls("schedule", list), Line::says("Never said.")]);
    story.file("routines/water.md", &on_main("water", "0 9 * * *")).passes("8m");
    expect!["mon 09:00:00 routine:water try 1 failed: today's limit is used up"]
        .assert_eq(&story.occurrences());
    assert_eq!(notices(&story).len(), 1, "{}", story.told());
    let posted = story.posted();
    assert_eq!(
        posted.iter().filter(|words| words.contains("has used all that it may")).count(),
        1,
        "{posted:?}"
    );
    assert!(!posted.iter().any(|words| words.contains("what i may use")), "{posted:?}");
}

/// E4: concurrent runs exceed the limit by one call at most.
#[test]
fn runs_at_the_same_time_pass_the_limit_by_one_call_at_most() {
    for (limit, calls) in [(1, 1), (20, 2), (100, 7)] {
        let mut story = played("16T09:00", |last| match last {
            last if last.contains("run") => Line::calls("schedule", "{}"),
            _ => Line::says("Done."),
        });
        let jobs = (0..10).map(|nth| isolated(&format!("routine:r{nth}"), "run"));
        story.limited(limit).background_begins(jobs).passes("10m");
        let spent = story.spending().len();
        assert_eq!(spent, calls, "{limit} tokens: {}", used(&story));
        assert_eq!(story.contexts().len(), calls, "all that was asked is written down");
        assert!(
            !story.told().contains("could not be finished"),
            "the limit is told, not each: {}",
            story.told()
        );
        assert_eq!(examine(story.paths().root()), [""; 0]);
    }
}

/// E4: the usage of a call that broke off is counted before the next call, also while its run waits
/// to retry.
#[test]
fn a_call_that_broke_off_counts_before_the_next_one() {
    let mut story = at("16T09:00");
    story.patient().limited(5).model([Line::Fails("Well ".to_owned(), Failure::Busy(Some(30)))]);
    story.model([Line::says("Never said."), Line::says("Nor this.")]);
    story.background_begins([isolated("routine:a", "run"), isolated("routine:b", "run")]).passes("5m");
    assert_eq!(story.contexts().len(), 1, "{}", story.told());
}

/// E1, E4: calls are concurrent far from the limit and sequential near it, and the user's turn
/// waits for none of them.
#[test]
fn only_near_the_limit_calls_wait_for_each_other() {
    for (limit, at_once) in [(10_000_000, 10), (100, 1)] {
        let mut story = played("16T09:00", |last| match last {
            last if last.contains("run") => Line::holds("Well"),
            _ => Line::says("Hello."),
        });
        let jobs = (0..10).map(|nth| isolated(&format!("routine:r{nth}"), "run"));
        story.limited(limit).background_begins(jobs).passes("1m");
        assert_eq!(story.contexts().len(), at_once, "{limit} tokens");
        story.human("hello");
        assert!(story.told().ends_with("main> assistant: Hello.\n"), "{}", story.told());
    }
}

/// E4: a run that waits for the limit can be stopped by its timeout, and the next run continues.
#[test]
fn a_run_that_waits_for_the_others_can_be_stopped() {
    let mut story = played("16T09:00", |_| Line::holds("Well"));
    let jobs = (0..3).map(|nth| isolated(&format!("routine:r{nth}"), "run"));
    story.limited(1).background_begins(jobs).passes("31m");
    let told = story.told();
    assert_eq!(told.matches("could not be finished").count(), 3, "{told}");
    assert_eq!(examine(story.paths().root()), [""; 0]);
}

/// E4: at the limit routines are skipped visibly, and the user is notified of the limit once.
#[test]
fn at_the_limit_routines_are_left_out_and_the_human_is_told_once() {
    let mut story = limited("16T08:59:50", 10);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *"));
    for nth in 0..20 {
        let later = mail("cron: 5 9 * * *").replace("id: mail", &format!("id: r{nth:02}"));
        story.file(&format!("routines/r{nth:02}.md"), &later);
    }
    let before = story.sessions();
    story.passes("20s").crash().passes("6m");
    expect![[r#"
        notice> work nobody waits for has used all that it may today (15 of 10 tokens). until tomorrow routines are left out, what webhooks bring waits, and reminders come as they were written; you and i go on as always. `/config daily_limit` and a higher one lets it go on today."#]]
    .assert_eq(&notices(&story).join("\n"));
    let left_out = story.occurrences();
    assert_eq!(left_out.matches("try 0 skipped: today's limit is used up").count(), 20, "{left_out}");
    assert_eq!(story.contexts().len(), 1);
    assert_eq!(story.sessions().lines().count(), before.lines().count() + 1, "nothing was begun for them");
}

/// E4: at the limit a job that the user starts by hand is refused with the reason, and not run
/// later.
#[test]
fn at_the_limit_a_routine_is_not_run_by_hand() {
    let mut story = limited("16T08:59:50", 10);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("20s");
    story.runs_now("routine:mail");
    let told = story.told();
    assert!(
        told.contains("refused> Refused(\"what i may use in a day while you don't wait is used up"),
        "{told}"
    );
    expect!["mon 09:00:00 routine:mail try 1 done"].assert_eq(&story.occurrences());
}

/// E4: a run that reaches the limit fails with the reason; there is no second notice.
#[test]
fn a_run_that_is_cut_off_by_the_limit_is_not_told_of_again() {
    let mut story = at("16T08:59:50");
    story.limited(20).model([pings("one"), Line::says("More."), Line::says("Never said.")]);
    story.file("routines/mail.md", &mail("cron: 0,1,2 9 * * *\nupdate-main-session: always")).passes("5m");
    assert_eq!(notices(&story).len(), 1, "{}", story.told());
    expect![[r#"
        mon 09:00:00 routine:mail try 1 failed: today's limit is used up
        mon 09:01:00 routine:mail try 0 skipped: today's limit is used up
        mon 09:02:00 routine:mail try 0 skipped: today's limit is used up"#]]
    .assert_eq(&story.occurrences());
}

/// RP-14, E4: runs that were skipped at the limit leave no unanswered prompts in the session.
#[test]
fn the_session_of_a_routine_stays_as_it_was_while_the_limit_is_reached() {
    let mut story = limited("16T08:59:50", 10);
    story.file("routines/watch.md", &persistent("cron: 0 9-12 * * *")).passes("20s");
    let before = session(&story);
    story.passes("3h5m");
    assert_eq!(session(&story), before);
    story.clock("09:00").passes("10s");
    let read = story.contexts().last().unwrap().said.len();
    assert_eq!(read, 3, "what it was told and said on the first day, and what it is told now");
}

/// E4, RP-25: a compaction requested by a routine is background work, and one requested by the user
/// is not.
#[test]
fn a_summary_is_waited_for_as_what_it_is_for() {
    let mut story = at("16T08:59:50");
    story.limited(1_000).model([
        Line::says("Bread costs 3."),
        compacts("keep the price"),
        Line::says("Nothing new."),
        summary(),
        Line::says("Hello."),
        Line::says("We said hello to each other, and nothing else."),
    ]);
    story.file("routines/watch.md", &persistent("cron: 0,1 9 * * *")).passes("2m");
    story.human("hello").human_commands("/compact");
    expect![[r#"
        routine:watch (nobody waits): 45
        compaction (nobody waits): 15
        main: 15
        compaction: 15
    "#]]
    .assert_eq(&used(&story));
}

/// CP-6, E4: a compaction that was stopped by the limit runs when the user sends a message.
#[test]
fn a_summary_that_met_the_limit_is_made_when_the_human_speaks() {
    let Line::Reply(reply) = Line::says("Noted.") else { panic!("a reply") };
    let usage = Usage { input: 8_500, ..Usage::default() };
    let mut story = at("16T08:59:50");
    story.room(10_000).limited(10).model([Line::Reply(Reply { usage, ..reply }), Line::says("A journey.")]);
    story.human("my booking to Lisbon is LH4711");
    story.file("routines/water.md", &on_main("water", "0 9 * * *")).passes("20s");
    expect![[r#"
        main: 8500
        compaction (nobody waits): 15
    "#]]
    .assert_eq(&used(&story));
    expect!["mon 09:00:00 routine:water try 1 skipped: today's limit is used up"]
        .assert_eq(&story.occurrences());
    story.model([Line::says("The human flies to Lisbon with booking LH4711."), Line::says("LH4711.")]);
    story.human("what was my booking?");
    assert_eq!(story.told().matches("main> compacted").count(), 1, "{}", story.told());
    assert!(
        story.told().ends_with(
            "main> assistant: LH4711.
"
        ),
        "{}",
        story.told()
    );
}

/// MC-6, MC-7, E4: near the limit the compaction for a routine on main waits for the running calls.
/// Once a message of the user is queued behind it, it waits for none of them, and neither it nor
/// the answer counts towards the limit.
#[test]
fn a_human_waits_for_no_background_call_behind_a_summary_that_nobody_waited_for() {
    let Line::Reply(reply) = Line::says("Noted.") else { panic!("a reply") };
    let usage = Usage { input: 8_500, ..Usage::default() };
    let mut story = at("16T08:59:50");
    story.room(10_000).limited(100).model([Line::Reply(Reply { usage, ..reply }), Line::holds("Looking")]);
    story.human("my booking to Lisbon is LH4711").background_begins([isolated("routine:slow", "run")]);
    story.file("routines/water.md", &on_main("water", "0 9 * * *")).passes("20s");
    assert_eq!(story.contexts().len(), 2, "the summary waits for the run: {}", story.told());

    story.model([
        Line::says("The human flies to Lisbon with booking LH4711."),
        Line::says("Drink."),
        Line::says("LH4711."),
    ]);
    story.human("what was my booking?");
    assert!(story.told().ends_with("main> assistant: LH4711.\n"), "{}", story.told());
    expect![[r#"
        main: 8515
        compaction: 15
        routine:water: 15
    "#]]
    .assert_eq(&used(&story));
    assert_eq!(examine(story.paths().root()), [""; 0]);
}

/// E4: a subagent of the user's turn is not subject to the limit; a subagent of a routine is, and
/// the routine gets the reason.
#[test]
fn an_agent_is_waited_for_as_who_asks_it() {
    let asks = || Line::calls("Task", r#"{"subagent_type":"history-reviewer","prompt":"have a look"}"#);
    let mut story = at("16T08:59:50");
    story.limited(10).model([asks(), Line::says("All well."), Line::says("They say all is well.")]);
    story.human("ask them");
    expect![[r#"
        main: 30
        agent:history-reviewer: 15
    "#]]
    .assert_eq(&used(&story));
    story.model([asks(), Line::says("Never said.")]);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *\nallowed-tools: [Task]")).passes("20s");
    let told = story.told();
    assert!(
        told.contains(
            "Task: Error: `history-reviewer` could not finish: today's limit is used up for work nobody"
        ),
        "{told}"
    );
    story.drops_lines().model([asks(), Line::says("All well."), Line::says("Still well.")]).human("and now?");
    assert!(story.told().ends_with("main> assistant: Still well.\n"), "{}", story.told());
}

/// C4, E4: a changed clock, before or after a start, neither grants the limit of a day twice nor
/// takes it away.
#[test]
fn a_clock_that_is_set_gives_no_second_limit() {
    let mut story = limited("16T08:59:50", 10);
    story.file("routines/mail.md", &mail("cron: 0 9-20 * * *")).passes("20s");
    assert_eq!((story.contexts().len(), notices(&story).len()), (1, 1));
    // The machine was off for long and starts with a wrong clock. That day has a limit, too.
    story.die().clock_set("-40d").crash().passes("61m");
    assert_eq!((story.contexts().len(), notices(&story).len()), (2, 2), "{}", story.told());
    story.clock_set("40d").passes("61m");
    assert_eq!((story.contexts().len(), notices(&story).len()), (2, 2), "{}", story.told());
    // A clock that was ahead for a while takes nothing from the limit of the correct day.
    story.clock("08:30").clock_set("10d").passes("61m");
    let ahead = story.contexts().len();
    story.clock_set("-10d").crash().passes("61m");
    assert_eq!(story.contexts().len(), ahead + 1, "{}", story.occurrences());
}
