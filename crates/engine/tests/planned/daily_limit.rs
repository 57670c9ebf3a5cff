//! The daily limit of background work: it applies to all background calls, is reported once, and
//! loses no work.
//!
//! A call of the fake model uses 15 tokens.

use domain::conversation::Usage;
use domain::cost::Attendance;
use domain::failure::Failure;
use domain::turn::ModelReply;
use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{Story, isolated_job};

use crate::{
    compaction_call, dentist_reminder, mail_routine, ping_call, session_id, story_at, summary_reply, text_of,
    watch_routine,
};

/// Starts a story whose model answers "Done.", with a daily limit of `tokens` for background work.
fn limited_story(time: &str, tokens: u64) -> Story {
    let mut story = scripted_story(time, |_| ModelOutcome::text("Done."));
    story.with_daily_limit(tokens);
    story
}

pub fn scripted_story(time: &str, reply: impl Fn(&str) -> ModelOutcome + Send + 'static) -> Story {
    let model = ScriptedModel::answering(move |context| {
        reply(&context.entries.last().map(|said| text_of(said)).unwrap_or_default())
    });
    Story::with_model(&format!("2026-11-{time}[Europe/Madrid]"), model)
}

/// Returns the used tokens, one line for each source.
fn used_tokens(story: &Story) -> String {
    let mut all: Vec<(String, u64)> = Vec::new();
    for spent in story.spending() {
        let waited = if spent.account.attended == Attendance::Attended { "" } else { " (nobody waits)" };
        let source = format!("{}{waited}", spent.account.source);
        match all.iter_mut().find(|(known, _)| *known == source) {
            Some((_, tokens)) => *tokens += spent.call.usage.uncached(),
            None => all.push((source, spent.call.usage.uncached())),
        }
    }
    all.iter().map(|(source, tokens)| format!("{source}: {tokens}\n")).collect()
}

pub fn notices(story: &Story) -> Vec<String> {
    story.transcript().lines().filter(|line| line.starts_with("notice>")).map(str::to_owned).collect()
}

/// A routine on main, such as `water`, at these times.
fn routine_on_main(id: &str, cron: &str) -> String {
    format!("---\nid: {id}\ncron: \"{cron}\"\n---\nRemind me of {id}.\n")
}

/// E4: a routine on main is background work of its own account. It stops at the limit and continues
/// the next day; messages of the user are always answered.
#[test]
fn routine_on_main_has_its_own_account_and_stops_at_the_limit() {
    let mut story = limited_story("16T08:59:50", 40);
    story.write_file("routines/water.md", &routine_on_main("water", "*/15 * * * *")).advance_time("61m");
    expect!["routine:water (nobody waits): 45\n"].assert_eq(&used_tokens(&story));
    expect![[r#"
        mon 09:00:00 routine:water try 1 done
        mon 09:15:00 routine:water try 1 done
        mon 09:30:00 routine:water try 1 done
        mon 09:45:00 routine:water try 0 skipped: today's limit is used up
        mon 10:00:00 routine:water try 0 skipped: today's limit is used up"#]]
    .assert_eq(&story.occurrences());
    story.user("still there?");
    expect![[r#"
        routine:water (nobody waits): 45
        main: 15
    "#]]
    .assert_eq(&used_tokens(&story));
    story.clock("00:00").advance_time("10s");
    assert!(
        story.occurrences().ends_with("tue 00:00:00 routine:water try 1 done"),
        "{}",
        story.occurrences()
    );
}

/// E4, SC-18: at the limit reminders are delivered verbatim: on main, from the background, and
/// while they are queued.
#[test]
fn reminders_are_delivered_verbatim_at_the_limit() {
    let mut story = limited_story("16T08:59:50", 10);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("20s");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:10", ""));
    let tea =
        dentist_reminder("16T09:20", "background: true").replace("d1", "t1").replace("the dentist", "home");
    story.write_file("reminders/tea.md", &tea).advance_time("25m");
    let told = story.transcript();
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
    assert_eq!(story.list_files("reminders"), [""; 0]);
    assert_eq!(find_violations(story.paths().root()), [""; 0]);
}

/// E4: a routine that is queued for main when the limit is reached is skipped.
#[test]
fn routine_queued_for_main_is_skipped_at_the_limit() {
    let mut story = story_at("16T08:59:50");
    story.with_daily_limit(10).script([ModelOutcome::hang("Well"), ModelOutcome::text("Triaged.")]);
    story
        .write_file("routines/water.md", &routine_on_main("water", "0 9 * * *"))
        .user_begins("hello")
        .advance_time("20s");
    story
        .write_file("routines/mail.md", &mail_routine("cron: 1 9 * * *"))
        .advance_time("2m")
        .user_stops()
        .advance_time("10s");
    expect![[r#"
        mon 09:00:00 routine:water try 1 skipped: today's limit is used up
        mon 09:01:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert!(!story.tree().contains("water"), "{}", story.tree());
    assert_eq!(find_violations(story.paths().root()), [""; 0]);
}

/// E4: a routine on main that reaches the limit fails; only the notice about the limit is shown.
#[test]
fn routine_on_main_cut_off_by_the_limit_is_not_reported_again() {
    let mut story = story_at("16T08:59:50");
    let list = r#"{"words":"today"}"#;
    story
        .reachable_by_messages()
        .with_daily_limit(10)
        .script([ModelOutcome::tool_call("schedule", list), ModelOutcome::text("Never said.")]);
    story.write_file("routines/water.md", &routine_on_main("water", "0 9 * * *")).advance_time("8m");
    expect!["mon 09:00:00 routine:water try 1 failed: today's limit is used up"]
        .assert_eq(&story.occurrences());
    assert_eq!(notices(&story).len(), 1, "{}", story.transcript());
    let posted = story.pending_posts();
    assert_eq!(
        posted.iter().filter(|words| words.contains("has used all that it may")).count(),
        1,
        "{posted:?}"
    );
    assert!(!posted.iter().any(|words| words.contains("what i may use")), "{posted:?}");
}

/// E4: concurrent runs exceed the limit by one call at most.
#[test]
fn concurrent_runs_exceed_the_limit_by_one_call_at_most() {
    for (limit, calls) in [(1, 1), (20, 2), (100, 7)] {
        let mut story = scripted_story("16T09:00", |last| match last {
            last if last.contains("run") => ModelOutcome::tool_call("schedule", "{}"),
            _ => ModelOutcome::text("Done."),
        });
        let jobs = (0..10).map(|nth| isolated_job(&format!("routine:r{nth}"), "run"));
        story.with_daily_limit(limit).start_in_background(jobs).advance_time("10m");
        let spent = story.spending().len();
        assert_eq!(spent, calls, "{limit} tokens: {}", used_tokens(&story));
        assert_eq!(story.contexts().len(), calls, "all that was asked is written down");
        assert!(
            !story.transcript().contains("could not be finished"),
            "the limit is told, not each: {}",
            story.transcript()
        );
        assert_eq!(find_violations(story.paths().root()), [""; 0]);
    }
}

/// E4: the usage of a call that broke off is counted before the next call, also while its run waits
/// to retry.
#[test]
fn broken_call_counts_before_the_next_one() {
    let mut story = story_at("16T09:00");
    story
        .with_retries()
        .with_daily_limit(5)
        .script([ModelOutcome::Fail("Well ".to_owned(), Failure::Overloaded(Some(30)))]);
    story.script([ModelOutcome::text("Never said."), ModelOutcome::text("Nor this.")]);
    story
        .start_in_background([isolated_job("routine:a", "run"), isolated_job("routine:b", "run")])
        .advance_time("5m");
    assert_eq!(story.contexts().len(), 1, "{}", story.transcript());
}

/// E1, E4: calls are concurrent far from the limit and sequential near it, and the user's turn
/// waits for none of them.
#[test]
fn calls_wait_for_each_other_only_near_the_limit() {
    for (limit, at_once) in [(10_000_000, 10), (100, 1)] {
        let mut story = scripted_story("16T09:00", |last| match last {
            last if last.contains("run") => ModelOutcome::hang("Well"),
            _ => ModelOutcome::text("Hello."),
        });
        let jobs = (0..10).map(|nth| isolated_job(&format!("routine:r{nth}"), "run"));
        story.with_daily_limit(limit).start_in_background(jobs).advance_time("1m");
        assert_eq!(story.contexts().len(), at_once, "{limit} tokens");
        story.user("hello");
        assert!(story.transcript().ends_with("main> assistant: Hello.\n"), "{}", story.transcript());
    }
}

/// E4: a run that waits for the limit can be stopped by its timeout, and the next run continues.
#[test]
fn run_waiting_for_the_limit_can_be_stopped() {
    let mut story = scripted_story("16T09:00", |_| ModelOutcome::hang("Well"));
    let jobs = (0..3).map(|nth| isolated_job(&format!("routine:r{nth}"), "run"));
    story.with_daily_limit(1).start_in_background(jobs).advance_time("31m");
    let told = story.transcript();
    assert_eq!(told.matches("could not be finished").count(), 3, "{told}");
    assert_eq!(find_violations(story.paths().root()), [""; 0]);
}

/// E4: at the limit routines are skipped visibly, and the user is notified of the limit once.
#[test]
fn at_the_limit_routines_are_skipped_and_one_notice_is_shown() {
    let mut story = limited_story("16T08:59:50", 10);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *"));
    for nth in 0..20 {
        let later = mail_routine("cron: 5 9 * * *").replace("id: mail", &format!("id: r{nth:02}"));
        story.write_file(&format!("routines/r{nth:02}.md"), &later);
    }
    let before = story.sessions();
    story.advance_time("20s").crash().advance_time("6m");
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
fn at_the_limit_starting_a_routine_by_hand_is_refused() {
    let mut story = limited_story("16T08:59:50", 10);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("20s");
    story.run_now("routine:mail");
    let told = story.transcript();
    assert!(
        told.contains("refused> Refused(\"what i may use in a day while you don't wait is used up"),
        "{told}"
    );
    expect!["mon 09:00:00 routine:mail try 1 done"].assert_eq(&story.occurrences());
}

/// E4: a run that reaches the limit fails with the reason; there is no second notice.
#[test]
fn run_cut_off_by_the_limit_is_not_reported_again() {
    let mut story = story_at("16T08:59:50");
    story.with_daily_limit(20).script([
        ping_call("one"),
        ModelOutcome::text("More."),
        ModelOutcome::text("Never said."),
    ]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0,1,2 9 * * *\nupdate-main-session: always"))
        .advance_time("5m");
    assert_eq!(notices(&story).len(), 1, "{}", story.transcript());
    expect![[r#"
        mon 09:00:00 routine:mail try 1 failed: today's limit is used up
        mon 09:01:00 routine:mail try 0 skipped: today's limit is used up
        mon 09:02:00 routine:mail try 0 skipped: today's limit is used up"#]]
    .assert_eq(&story.occurrences());
}

/// RP-14, E4: runs that were skipped at the limit leave no unanswered prompts in the session.
#[test]
fn session_is_unchanged_while_the_limit_is_reached() {
    let mut story = limited_story("16T08:59:50", 10);
    story.write_file("routines/watch.md", &watch_routine("cron: 0 9-12 * * *")).advance_time("20s");
    let before = session_id(&story);
    story.advance_time("3h5m");
    assert_eq!(session_id(&story), before);
    story.clock("09:00").advance_time("10s");
    let read = story.contexts().last().unwrap().entries.len();
    assert_eq!(read, 3, "what it was told and said on the first day, and what it is told now");
}

/// E4, RP-25: a compaction requested by a routine is background work, and one requested by the user
/// is not.
#[test]
fn compaction_counts_as_the_work_that_requests_it() {
    let mut story = story_at("16T08:59:50");
    story.with_daily_limit(1_000).script([
        ModelOutcome::text("Bread costs 3."),
        compaction_call("keep the price"),
        ModelOutcome::text("Nothing new."),
        summary_reply(),
        ModelOutcome::text("Hello."),
        ModelOutcome::text("We said hello to each other, and nothing else."),
    ]);
    story.write_file("routines/watch.md", &watch_routine("cron: 0,1 9 * * *")).advance_time("2m");
    story.user("hello").user_commands("/compact");
    expect![[r#"
        routine:watch (nobody waits): 45
        compaction (nobody waits): 15
        main: 15
        compaction: 15
    "#]]
    .assert_eq(&used_tokens(&story));
}

/// CP-6, E4: a compaction that was stopped by the limit runs when the user sends a message.
#[test]
fn compaction_stopped_by_the_limit_runs_on_the_next_message() {
    let ModelOutcome::Reply(reply) = ModelOutcome::text("Noted.") else { panic!("a reply") };
    let usage = Usage { input: 8_500, ..Usage::default() };
    let mut story = story_at("16T08:59:50");
    story
        .with_context_window(10_000)
        .with_daily_limit(10)
        .script([ModelOutcome::Reply(ModelReply { usage, ..reply }), ModelOutcome::text("A journey.")]);
    story.user("my booking to Lisbon is LH4711");
    story.write_file("routines/water.md", &routine_on_main("water", "0 9 * * *")).advance_time("20s");
    expect![[r#"
        main: 8500
        compaction (nobody waits): 15
    "#]]
    .assert_eq(&used_tokens(&story));
    expect!["mon 09:00:00 routine:water try 1 skipped: today's limit is used up"]
        .assert_eq(&story.occurrences());
    story.script([
        ModelOutcome::text("The human flies to Lisbon with booking LH4711."),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("what was my booking?");
    assert_eq!(story.transcript().matches("main> compacted").count(), 1, "{}", story.transcript());
    assert!(
        story.transcript().ends_with(
            "main> assistant: LH4711.
"
        ),
        "{}",
        story.transcript()
    );
}

/// MC-6, MC-7, E4: near the limit the compaction for a routine on main waits for the running calls.
/// Once a message of the user is queued behind it, it waits for none of them, and neither it nor
/// the answer counts towards the limit.
#[test]
fn user_behind_a_background_compaction_waits_for_no_other_call() {
    let ModelOutcome::Reply(reply) = ModelOutcome::text("Noted.") else { panic!("a reply") };
    let usage = Usage { input: 8_500, ..Usage::default() };
    let mut story = story_at("16T08:59:50");
    story
        .with_context_window(10_000)
        .with_daily_limit(100)
        .script([ModelOutcome::Reply(ModelReply { usage, ..reply }), ModelOutcome::hang("Looking")]);
    story.user("my booking to Lisbon is LH4711").start_in_background([isolated_job("routine:slow", "run")]);
    story.write_file("routines/water.md", &routine_on_main("water", "0 9 * * *")).advance_time("20s");
    assert_eq!(story.contexts().len(), 2, "the summary waits for the run: {}", story.transcript());

    story.script([
        ModelOutcome::text("The human flies to Lisbon with booking LH4711."),
        ModelOutcome::text("Drink."),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("what was my booking?");
    assert!(story.transcript().ends_with("main> assistant: LH4711.\n"), "{}", story.transcript());
    expect![[r#"
        main: 8515
        compaction: 15
        routine:water: 15
    "#]]
    .assert_eq(&used_tokens(&story));
    assert_eq!(find_violations(story.paths().root()), [""; 0]);
}

/// E4: a subagent of the user's turn is not subject to the limit; a subagent of a routine is, and
/// the routine gets the reason.
#[test]
fn subagent_counts_as_its_requester() {
    let asks =
        || ModelOutcome::tool_call("Task", r#"{"subagent_type":"history-reviewer","prompt":"have a look"}"#);
    let mut story = story_at("16T08:59:50");
    story.with_daily_limit(10).script([
        asks(),
        ModelOutcome::text("All well."),
        ModelOutcome::text("They say all is well."),
    ]);
    story.user("ask them");
    expect![[r#"
        main: 30
        agent:history-reviewer: 15
    "#]]
    .assert_eq(&used_tokens(&story));
    story.script([asks(), ModelOutcome::text("Never said.")]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *\nallowed-tools: [Task]"))
        .advance_time("20s");
    let told = story.transcript();
    assert!(
        told.contains(
            "Task: Error: `history-reviewer` could not finish: today's limit is used up for work nobody"
        ),
        "{told}"
    );
    story
        .clear_script()
        .script([asks(), ModelOutcome::text("All well."), ModelOutcome::text("Still well.")])
        .user("and now?");
    assert!(story.transcript().ends_with("main> assistant: Still well.\n"), "{}", story.transcript());
}

/// C4, E4: a changed clock, before or after a start, neither grants the limit of a day a second
/// time nor revokes the limit.
#[test]
fn changed_clock_grants_no_second_limit() {
    let mut story = limited_story("16T08:59:50", 10);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9-20 * * *")).advance_time("20s");
    assert_eq!((story.contexts().len(), notices(&story).len()), (1, 1));
    // The machine was off for long and starts with a wrong clock. That day has a limit, too.
    story.stop().set_clock("-40d").crash().advance_time("61m");
    assert_eq!((story.contexts().len(), notices(&story).len()), (2, 2), "{}", story.transcript());
    story.set_clock("40d").advance_time("61m");
    assert_eq!((story.contexts().len(), notices(&story).len()), (2, 2), "{}", story.transcript());
    // A clock that was ahead for a while takes nothing from the limit of the correct day.
    story.clock("08:30").set_clock("10d").advance_time("61m");
    let ahead = story.contexts().len();
    story.set_clock("-10d").crash().advance_time("61m");
    assert_eq!(story.contexts().len(), ahead + 1, "{}", story.occurrences());
}
