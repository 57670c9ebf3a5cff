//! Outcomes: every occurrence ends with one visible outcome, and the file of a reminder exists
//! until then.

use domain::failure::{Failure, SpendLimit};
use domain::occurrence::OccurrenceState;
use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

use crate::{dentist_reminder, mail_routine, ping_call, read_in_request, story_at, text_of};

fn server_error() -> ModelOutcome {
    ModelOutcome::fail(Failure::VendorError("500".to_owned()))
}

/// Returns the seconds until the next try of a failed job, if one is pending.
fn seconds_until_retry(story: &Story) -> Option<i64> {
    story.all_occurrences().into_iter().find_map(|occurrence| match occurrence.state {
        OccurrenceState::Retrying(at) => Some(at.duration_since(occurrence.since).as_secs()),
        OccurrenceState::Running(_)
        | OccurrenceState::SentToMain(_)
        | OccurrenceState::Queued
        | OccurrenceState::Ended(_) => None,
    })
}

/// A8, BF-18, BF-19, SC-16: a failing run is tried three times; then the user is notified once,
/// with the display name of the job.
#[test]
fn failing_run_is_tried_three_times_and_reported_once() {
    let mut story = story_at("16T08:59:50");
    story.script([server_error(), server_error(), server_error(), ModelOutcome::text("It works again.")]);
    story.write_file("routines/mail.md", &mail_routine("cron: 0,30 9 * * *")).advance_time("20s");
    let first = seconds_until_retry(&story);
    assert!(first.is_some_and(|wait| (48..=72).contains(&wait)), "{first:?}");
    story.advance_time("75s");
    let second = seconds_until_retry(&story);
    assert!(second.is_some_and(|wait| (240..=360).contains(&wait)), "{second:?}");
    assert!(!story.transcript().contains("notice>"), "{}", story.transcript());
    story.crash().advance_time("6m").crash().advance_time("23m");
    expect![[r#"
        fork/e6984080> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:00
        fork/53fcd651> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:01
        -- crash
        notice> my mail could not be finished: the model failed on its side (500).
        fork/43ec2be5> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:07
        -- crash
        fork/21876e7a> assistant: It works again.
        -- mon 09:30
    "#]]
    .assert_eq(&story.transcript());
    expect![[r#"
        mon 09:00:00 routine:mail try 3 failed: the model failed on its side (500).
        mon 09:30:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// A8, SC-19, SC-20: the file of a background reminder exists until it ends, and after the last try
/// its text is delivered verbatim.
#[test]
fn failed_background_reminder_is_delivered_verbatim() {
    let mut story = story_at("16T08:59:50");
    story.script([server_error(), server_error(), server_error()]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))
        .advance_time("20s");
    for _ in 0..7 {
        let open = seconds_until_retry(&story).is_some();
        assert_eq!(story.has_file("reminders/call.md"), open, "{}", story.occurrences());
        story.advance_time("1m");
    }
    expect![[r#"
        fork/e6984080> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:00
        -- mon 09:01
        fork/53fcd651> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:02
        -- mon 09:03
        -- mon 09:04
        -- mon 09:05
        -- mon 09:06
        main> assistant: ⏰ call the dentist
        notice> call the dentist could not be finished: the model failed on its side (500).
        fork/eb0354df> failed: the model failed on its side (500). your message is kept; say it again.
        -- mon 09:07
    "#]]
    .assert_eq(&story.transcript());
    expect!["mon 09:00:00 reminder:d1 try 3 failed: the model failed on its side (500)."]
        .assert_eq(&story.occurrences());
    assert_eq!(story.contexts().len(), 3);
    assert!(!story.has_file("reminders/call.md"));
}

/// SC-18, SC-19: a reminder on main is delivered verbatim if the model fails, hangs or refuses the
/// key.
#[test]
fn reminder_is_delivered_verbatim_without_an_answer_of_the_model() {
    for line in [
        server_error(),
        ModelOutcome::fail(Failure::BadKey("401".to_owned())),
        ModelOutcome::fail(Failure::SpendLimit(SpendLimit::Account("no money".to_owned()))),
        ModelOutcome::hang("Let me"),
        ModelOutcome::Panic("Oh".to_owned()),
    ] {
        let mut story = story_at("16T08:59:50");
        story
            .script([line.clone()])
            .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""))
            .advance_time("80s");
        let told = story.transcript();
        assert_eq!(told.matches("main> assistant: ⏰ call the dentist\n").count(), 1, "{line:?}: {told}");
        expect![
            "mon 09:00:00 reminder:d1 try 1 done: the model did not answer, so its words went out as written"
        ]
        .assert_eq(&story.occurrences());
        assert!(!story.has_file("reminders/call.md"));
        story.script([ModelOutcome::text("Yes?")]).user("hello");
        assert!(story.transcript().ends_with("main> assistant: Yes?\n"), "{}", story.transcript());
    }
}

/// A1: the text of a run that is given up at a start is not shown in the middle of main's answer,
/// where it would be taken for the answer.
#[test]
fn text_of_an_abandoned_run_is_not_taken_for_an_answer_on_main() {
    let mut story = story_at("16T08:59:50");
    story.script([
        ModelOutcome::hang("Calling"),
        ModelOutcome::hang("Calling"),
        ModelOutcome::hang("Calling"),
        ModelOutcome::hang("Tea"),
    ]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))
        .advance_time("20s");
    story.crash().advance_time("1s").crash().advance_time("1s");
    story
        .write_file("reminders/tea.md", "---\nid: t1\nrun-at: 2026-11-16T09:00:20+01:00\n---\ndrink tea\n")
        .advance_time("20s");
    story.script([ModelOutcome::text("Tea time!")]).crash().advance_time("10s");
    assert!(read_in_request(&story, story.contexts().len() - 1).contains("[reminder:t1]"));
    let told = story.transcript();
    assert!(told.contains("notice> ⏰ call the dentist\n"), "{told}");
    assert!(told.contains("main> assistant: Tea time!\n"), "{told}");
    assert_eq!(find_violations(story.paths().root()), [""; 0]);
}

/// A reminder does not wait behind messages that are blocked by a refused key.
#[test]
fn reminder_does_not_wait_behind_blocked_messages() {
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::fail(Failure::BadKey("401".to_owned())), ModelOutcome::text("Hello.")]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""))
        .user_sends("good morning")
        .advance_time("30s");
    assert!(story.transcript().contains("notice> ⏰ call the dentist"), "{}", story.transcript());
    story.user_renews_the_key().advance_time("10s");
    assert!(story.transcript().contains("main> assistant: Hello."), "{}", story.transcript());
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// A background run waits for a key no longer than its time limit; then the text of its reminder is
/// delivered.
#[test]
fn run_waits_for_a_key_until_its_time_limit() {
    let mut story = story_at("16T08:58");
    story.user_commands("/config bg_fork_timeout 60");
    story.script([ModelOutcome::fail(Failure::BadKey("401".to_owned())), ModelOutcome::text("Done.")]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))
        .advance_time("4m");
    expect![[r#"
        human> /config bg_fork_timeout 60
        told> **bg_fork_timeout**: 60s
        notice> The model refused the key (401). Your messages are kept and answered in order once it accepts a key. `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a message.
        main> assistant: ⏰ call the dentist
        notice> call the dentist could not be finished: the model refused the key all the time.
        fork/e6984080> failed: the model refused the key all the time.
        -- mon 09:02
    "#]].assert_eq(&story.transcript());
    expect!["mon 09:00:00 reminder:d1 try 1 failed: the model refused the key all the time."]
        .assert_eq(&story.occurrences());
}

/// BF-17: a run that exceeds its time limit is ended and not retried.
#[test]
fn run_that_times_out_is_ended_and_reported() {
    let mut story = story_at("16T08:58");
    story.user_commands("/config bg_fork_timeout 120");
    story.script([ModelOutcome::hang("Reading"), ModelOutcome::text("Done.")]);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("10m");
    expect![[r#"
        human> /config bg_fork_timeout 120
        told> **bg_fork_timeout**: 120s
        fork/e6984080> assistant: Reading (cut)
        notice> my mail could not be finished: it timed out after 2 minutes.
        fork/e6984080> failed: it timed out after 2 minutes.
        -- mon 09:08
    "#]]
    .assert_eq(&story.transcript());
    expect!["mon 09:00:00 routine:mail try 1 failed: it timed out after 2 minutes."]
        .assert_eq(&story.occurrences());
}

/// A run that fails at a spend limit is not retried.
#[test]
fn run_at_the_spend_limit_is_not_retried() {
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::fail(Failure::SpendLimit(SpendLimit::Account("no money".to_owned())))]);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("8m");
    assert_eq!(story.contexts().len(), 1);
    expect!["mon 09:00:00 routine:mail try 1 failed: The account at the model's vendor is at its spend limit (no money). Raise the limit in the vendor's console, or wait until it resets."].assert_eq(&story.occurrences());
    assert_eq!(story.transcript().matches("notice>").count(), 1, "{}", story.transcript());
}

/// A routine on main is retried after a failure, but not after the user stops it or at a spend
/// limit.
#[test]
fn routine_on_main_is_retried_unless_the_user_stops_it() {
    let walk = "---\nid: walk\ncron: 0 9 * * *\ndescription: my walk\n---\nTime for a walk.\n";
    let mut story = story_at("16T08:59:50");
    story
        .script([server_error(), ModelOutcome::text("Walk!")])
        .write_file("routines/walk.md", walk)
        .advance_time("100s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:walk try 2 done");

    let mut story = story_at("16T08:59:50");
    story
        .script([ModelOutcome::hang("It is")])
        .write_file("routines/walk.md", walk)
        .advance_time("20s")
        .user_stops()
        .advance_time("1s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:walk try 1 done: you stopped the answer");

    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::fail(Failure::SpendLimit(SpendLimit::Account("no money".to_owned())))]);
    story.write_file("routines/walk.md", walk).advance_time("8m");
    assert_eq!(story.contexts().len(), 1, "what another try would only repeat is not tried again");
    assert!(
        story.occurrences().starts_with("mon 09:00:00 routine:walk try 1 failed"),
        "{}",
        story.occurrences()
    );
}

/// SC-18, SC-19: a reminder on main ends and rings whatever the user does meanwhile.
#[test]
fn reminder_rings_whatever_the_user_does_meanwhile() {
    for what in ["/stop", "/clear", "words", "/compact"] {
        let mut story = story_at("16T08:59:50");
        story.script([ModelOutcome::text("Morning."), ModelOutcome::hang("It is")]).user("good morning");
        story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("20s");
        match what {
            "words" => story.user("what?"),
            command => story.user_begins_command(command),
        };
        story.advance_time("70s");
        let told = story.transcript();
        let ended = story.occurrences();
        assert!(ended.contains("done"), "{what}: {ended}\n{told}");
        assert!(!story.has_file("reminders/call.md"), "{what}");
    }
}

/// SC-18: a queued reminder survives `/clear` and rings in the new conversation.
#[test]
fn queued_reminder_survives_a_clear() {
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::hang("Once upon"), ModelOutcome::text("Call the dentist.")]);
    story.user_begins("tell me a story");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.user_commands("/clear").advance_time("20s");
    let told = story.transcript();
    let anew = told.split_once("main> cleared\n").map(|(_, anew)| anew).unwrap_or_default();
    assert!(anew.contains("main> assistant: Call the dentist.\n"), "{told}");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    // The time limit of the reminder does not apply to the next turn.
    let mut story = story_at("16T08:59:50");
    story.script([
        ModelOutcome::hang("It is"),
        ModelOutcome::text("Call the dentist."),
        ModelOutcome::hang("Once upon"),
    ]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""))
        .advance_time("20s")
        .user_commands("/clear")
        .advance_time("10s");
    story.user_begins("tell me a story").advance_time("2m");
    assert!(!story.transcript().contains("Once upon"), "{}", story.transcript());
}

/// A8: a job on main in a full conversation ends with a visible outcome.
#[test]
fn job_in_a_full_conversation_ends_visibly() {
    let full = || ModelOutcome::fail(Failure::ContextFull("too long".to_owned()));
    let mut story = story_at("16T08:59:50");
    story.script([ModelOutcome::text("Morning."), full(), server_error()]).user("good morning");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("30s");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    assert!(story.transcript().contains("⏰ call the dentist"), "{}", story.transcript());

    let mut story = story_at("16T08:59:50");
    story.script([full(), server_error(), full(), server_error(), full(), server_error()]);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("8m");
    expect!["mon 09:00:00 routine:mail try 3 failed: our conversation is longer than the model can read (too long). shorten it: ollim-bot compact"].assert_eq(&story.occurrences());
}

/// A job during which the program crashes repeatedly is reported like any other failure.
#[test]
fn job_during_repeated_crashes_ends_visibly() {
    let mut story = story_at("16T08:59:50");
    story.script([
        ModelOutcome::hang("1"),
        ModelOutcome::hang("2"),
        ModelOutcome::hang("3"),
        ModelOutcome::hang("4"),
    ]);
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("20s");
    story.crash().advance_time("5s").crash().advance_time("5s").crash().advance_time("3m");
    expect![[r#"
        main> assistant: ⏰ call the dentist
        -- mon 09:00
        -- crash
        -- mon 09:00
        -- crash
        -- mon 09:00
        -- crash
        main> failed: i stopped 3 times while answering this, so i left it. say it again.
        -- mon 09:03
    "#]]
    .assert_eq(&story.transcript());
    expect![
        "mon 09:00:00 reminder:d1 try 1 done: the model did not answer, so its words went out as written"
    ]
    .assert_eq(&story.occurrences());
    assert!(!story.has_file("reminders/call.md"));
}

/// SC-20, A8: for a crash or a failed write at any point, a reminder on main rings once and ends.
#[test]
fn reminder_rings_once_wherever_the_program_crashes() {
    for nth in 1..=6 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail] {
            let mut story = scripted_story("");
            story
                .inject_journal_fault(nth, trouble)
                .advance_time("30s")
                .crash()
                .advance_time("2m")
                .crash()
                .advance_time("10s");
            let tree = story.tree();
            let ended = story.occurrences();
            assert_eq!(tree.matches("assistant: Call the dentist.").count(), 1, "{nth} {trouble:?}: {tree}");
            assert_eq!(ended, "mon 09:00:00 reminder:d1 try 1 done", "{nth} {trouble:?}");
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            story.stop();
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// SC-20, A8: a background reminder ends once for a crash at any write and pings at most once; the
/// run reads whether a ping is in doubt.
#[test]
fn run_ends_once_wherever_the_program_crashes() {
    for nth in 1..=8 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter] {
            let mut story = scripted_story("background: true\nupdate-main-session: freely");
            story
                .inject_journal_fault(nth, trouble)
                .advance_time("30s")
                .crash()
                .advance_time("2m")
                .crash()
                .advance_time("10s");
            let tree = story.tree();
            let ended = story.occurrences();
            assert_eq!(tree.matches("assistant: Pinged.").count(), 1, "{nth} {trouble:?}: {tree}");
            let sent = tree.matches("tools: Message sent.").count();
            let unknown = tree.matches("tools: ").count() - sent;
            assert_eq!(sent + unknown, 1, "{nth} {trouble:?}: {tree}");
            assert_eq!(ended, "mon 09:00:00 reminder:d1 try 1 done", "{nth} {trouble:?}");
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            let events = story.state_file("session_history.jsonl").matches("bg_fork").count();
            assert_eq!(events, 1, "{nth} {trouble:?}");
            story.stop();
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// Starts a story with the reminder, whose model replies depending on the context.
fn scripted_story(head: &str) -> Story {
    let model = ScriptedModel::answering(|context| {
        let is_background = context.entries.iter().any(|said| text_of(said).contains("[reminder-bg:"));
        match (is_background, context.entries.last().map(|said| text_of(said)).unwrap_or_default()) {
            (false, _) => ModelOutcome::text("Call the dentist."),
            (true, words) if words.contains("[reminder-bg:") => ping_call("call the dentist"),
            (true, _) => ModelOutcome::text("Pinged."),
        }
    });
    let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", head)).advance_time("1s");
    story
}
