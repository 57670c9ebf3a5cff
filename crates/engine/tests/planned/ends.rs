//! Outcomes: every occurrence ends with one visible outcome, and the file of a reminder exists
//! until then.

use domain::failure::{Failure, SpendLimit};
use domain::occurrence::Stage;
use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

use crate::{at, dentist, mail, pings, read, words};

fn breaks() -> Line {
    Line::fails(Failure::Broken("500".to_owned()))
}

/// Returns the seconds until the next try of a failed job, if one is pending.
fn waits(story: &Story) -> Option<i64> {
    story.all_occurrences().into_iter().find_map(|occurrence| match occurrence.stage {
        Stage::Again(at) => Some(at.duration_since(occurrence.since).as_secs()),
        Stage::Running(_) | Stage::Asked(_) | Stage::Queued | Stage::Ended(_) => None,
    })
}

/// A8, BF-18, BF-19, SC-16: a failing run is tried three times; then the user is notified once,
/// with the display name of the job.
#[test]
fn a_run_that_fails_is_tried_three_times_and_then_told_of() {
    let mut story = at("16T08:59:50");
    story.model([breaks(), breaks(), breaks(), Line::says("It works again.")]);
    story.file("routines/mail.md", &mail("cron: 0,30 9 * * *")).passes("20s");
    let first = waits(&story);
    assert!(first.is_some_and(|wait| (48..=72).contains(&wait)), "{first:?}");
    story.passes("75s");
    let second = waits(&story);
    assert!(second.is_some_and(|wait| (240..=360).contains(&wait)), "{second:?}");
    assert!(!story.told().contains("notice>"), "{}", story.told());
    story.crash().passes("6m").crash().passes("23m");
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
    .assert_eq(&story.told());
    expect![[r#"
        mon 09:00:00 routine:mail try 3 failed: the model failed on its side (500).
        mon 09:30:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// A8, SC-19, SC-20: the file of a background reminder exists until it ends, and after the last try
/// its text is delivered verbatim.
#[test]
fn the_words_of_a_reminder_that_could_not_be_done_go_out() {
    let mut story = at("16T08:59:50");
    story.model([breaks(), breaks(), breaks()]);
    story.file("reminders/call.md", &dentist("16T09:00", "background: true")).passes("20s");
    for _ in 0..7 {
        let open = waits(&story).is_some();
        assert_eq!(story.has_file("reminders/call.md"), open, "{}", story.occurrences());
        story.passes("1m");
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
    .assert_eq(&story.told());
    expect!["mon 09:00:00 reminder:d1 try 3 failed: the model failed on its side (500)."]
        .assert_eq(&story.occurrences());
    assert_eq!(story.contexts().len(), 3);
    assert!(!story.has_file("reminders/call.md"));
}

/// SC-18, SC-19: a reminder on main is delivered verbatim if the model fails, hangs or refuses the
/// key.
#[test]
fn a_reminder_goes_out_as_written_if_the_model_does_not_answer() {
    for line in [
        breaks(),
        Line::fails(Failure::BadKey("401".to_owned())),
        Line::fails(Failure::SpendLimit(SpendLimit::Account("no money".to_owned()))),
        Line::holds("Let me"),
        Line::Panics("Oh".to_owned()),
    ] {
        let mut story = at("16T08:59:50");
        story.model([line.clone()]).file("reminders/call.md", &dentist("16T09:00", "")).passes("80s");
        let told = story.told();
        assert_eq!(told.matches("main> assistant: ⏰ call the dentist\n").count(), 1, "{line:?}: {told}");
        expect![
            "mon 09:00:00 reminder:d1 try 1 done: the model did not answer, so its words went out as written"
        ]
        .assert_eq(&story.occurrences());
        assert!(!story.has_file("reminders/call.md"));
        story.model([Line::says("Yes?")]).human("hello");
        assert!(story.told().ends_with("main> assistant: Yes?\n"), "{}", story.told());
    }
}

/// A1: the text of a run that is given up at a start is not shown in the middle of main's answer,
/// where it would be taken for the answer.
#[test]
fn what_a_run_leaves_to_say_does_not_answer_the_reminder_that_main_is_at() {
    let mut story = at("16T08:59:50");
    story.model([Line::holds("Calling"), Line::holds("Calling"), Line::holds("Calling"), Line::holds("Tea")]);
    story.file("reminders/call.md", &dentist("16T09:00", "background: true")).passes("20s");
    story.crash().passes("1s").crash().passes("1s");
    story
        .file("reminders/tea.md", "---\nid: t1\nrun-at: 2026-11-16T09:00:20+01:00\n---\ndrink tea\n")
        .passes("20s");
    story.model([Line::says("Tea time!")]).crash().passes("10s");
    assert!(read(&story, story.contexts().len() - 1).contains("[reminder:t1]"));
    let told = story.told();
    assert!(told.contains("notice> ⏰ call the dentist\n"), "{told}");
    assert!(told.contains("main> assistant: Tea time!\n"), "{told}");
    assert_eq!(examine(story.paths().root()), [""; 0]);
}

/// A reminder does not wait behind messages that are blocked by a refused key.
#[test]
fn a_reminder_goes_past_words_that_wait_for_a_key() {
    let mut story = at("16T08:59:50");
    story.model([Line::fails(Failure::BadKey("401".to_owned())), Line::says("Hello.")]);
    story.file("reminders/call.md", &dentist("16T09:00", "")).human_adds("good morning").passes("30s");
    assert!(story.told().contains("notice> ⏰ call the dentist"), "{}", story.told());
    story.human_renews_the_key().passes("10s");
    assert!(story.told().contains("main> assistant: Hello."), "{}", story.told());
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// A background run waits for a key no longer than its time limit; then the text of its reminder is
/// delivered.
#[test]
fn a_run_does_not_wait_for_a_key_for_ever() {
    let mut story = at("16T08:58");
    story.human_commands("/config bg_fork_timeout 60");
    story.model([Line::fails(Failure::BadKey("401".to_owned())), Line::says("Done.")]);
    story.file("reminders/call.md", &dentist("16T09:00", "background: true")).passes("4m");
    expect![[r#"
        human> /config bg_fork_timeout 60
        told> **bg_fork_timeout**: 60s
        notice> The model refused the key (401). Your messages are kept and answered in order once it accepts a key. `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a message.
        main> assistant: ⏰ call the dentist
        notice> call the dentist could not be finished: the model refused the key all the time.
        fork/e6984080> failed: the model refused the key all the time.
        -- mon 09:02
    "#]].assert_eq(&story.told());
    expect!["mon 09:00:00 reminder:d1 try 1 failed: the model refused the key all the time."]
        .assert_eq(&story.occurrences());
}

/// BF-17: a run that exceeds its time limit is ended and not retried.
#[test]
fn a_run_that_takes_too_long_is_ended_and_told_of() {
    let mut story = at("16T08:58");
    story.human_commands("/config bg_fork_timeout 120");
    story.model([Line::holds("Reading"), Line::says("Done.")]);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("10m");
    expect![[r#"
        human> /config bg_fork_timeout 120
        told> **bg_fork_timeout**: 120s
        fork/e6984080> assistant: Reading (cut)
        notice> my mail could not be finished: it timed out after 2 minutes.
        fork/e6984080> failed: it timed out after 2 minutes.
        -- mon 09:08
    "#]]
    .assert_eq(&story.told());
    expect!["mon 09:00:00 routine:mail try 1 failed: it timed out after 2 minutes."]
        .assert_eq(&story.occurrences());
}

/// A run that fails at a spend limit is not retried.
#[test]
fn a_run_at_the_limit_of_spending_is_not_tried_again() {
    let mut story = at("16T08:59:50");
    story.model([Line::fails(Failure::SpendLimit(SpendLimit::Account("no money".to_owned())))]);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("8m");
    assert_eq!(story.contexts().len(), 1);
    expect!["mon 09:00:00 routine:mail try 1 failed: The account at the model's vendor is at its spend limit (no money). Raise the limit in the vendor's console, or wait until it resets."].assert_eq(&story.occurrences());
    assert_eq!(story.told().matches("notice>").count(), 1, "{}", story.told());
}

/// A routine on main is retried after a failure, but not after the user stops it or at a spend
/// limit.
#[test]
fn a_routine_on_main_is_tried_again_unless_the_human_stops_it() {
    let walk = "---\nid: walk\ncron: 0 9 * * *\ndescription: my walk\n---\nTime for a walk.\n";
    let mut story = at("16T08:59:50");
    story.model([breaks(), Line::says("Walk!")]).file("routines/walk.md", walk).passes("100s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:walk try 2 done");

    let mut story = at("16T08:59:50");
    story
        .model([Line::holds("It is")])
        .file("routines/walk.md", walk)
        .passes("20s")
        .human_stops()
        .passes("1s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:walk try 1 done: you stopped the answer");

    let mut story = at("16T08:59:50");
    story.model([Line::fails(Failure::SpendLimit(SpendLimit::Account("no money".to_owned())))]);
    story.file("routines/walk.md", walk).passes("8m");
    assert_eq!(story.contexts().len(), 1, "what another try would only repeat is not tried again");
    assert!(
        story.occurrences().starts_with("mon 09:00:00 routine:walk try 1 failed"),
        "{}",
        story.occurrences()
    );
}

/// SC-18, SC-19: a reminder on main ends and rings whatever the user does meanwhile.
#[test]
fn a_reminder_is_heard_whatever_the_human_does_meanwhile() {
    for what in ["/stop", "/clear", "words", "/compact"] {
        let mut story = at("16T08:59:50");
        story.model([Line::says("Morning."), Line::holds("It is")]).human("good morning");
        story.file("reminders/call.md", &dentist("16T09:00", "")).passes("20s");
        match what {
            "words" => story.human("what?"),
            command => story.human_begins_command(command),
        };
        story.passes("70s");
        let told = story.told();
        let ended = story.occurrences();
        assert!(ended.contains("done"), "{what}: {ended}\n{told}");
        assert!(!story.has_file("reminders/call.md"), "{what}");
    }
}

/// SC-18: a queued reminder survives `/clear` and rings in the new conversation.
#[test]
fn a_reminder_that_waits_survives_a_new_start() {
    let mut story = at("16T08:59:50");
    story.model([Line::holds("Once upon"), Line::says("Call the dentist.")]);
    story.human_begins("tell me a story");
    story.file("reminders/call.md", &dentist("16T09:00", "")).passes("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.human_commands("/clear").passes("20s");
    let told = story.told();
    let anew = told.split_once("main> cleared\n").map(|(_, anew)| anew).unwrap_or_default();
    assert!(anew.contains("main> assistant: Call the dentist.\n"), "{told}");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    // The time limit of the reminder does not apply to the next turn.
    let mut story = at("16T08:59:50");
    story.model([Line::holds("It is"), Line::says("Call the dentist."), Line::holds("Once upon")]);
    story
        .file("reminders/call.md", &dentist("16T09:00", ""))
        .passes("20s")
        .human_commands("/clear")
        .passes("10s");
    story.human_begins("tell me a story").passes("2m");
    assert!(!story.told().contains("Once upon"), "{}", story.told());
}

/// A8: a job on main in a full conversation ends with a visible outcome.
#[test]
fn a_job_for_which_there_is_no_room_ends_visibly() {
    let full = || Line::fails(Failure::Full("too long".to_owned()));
    let mut story = at("16T08:59:50");
    story.model([Line::says("Morning."), full(), breaks()]).human("good morning");
    story.file("reminders/call.md", &dentist("16T09:00", "")).passes("30s");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    assert!(story.told().contains("⏰ call the dentist"), "{}", story.told());

    let mut story = at("16T08:59:50");
    story.model([full(), breaks(), full(), breaks(), full(), breaks()]);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("8m");
    expect!["mon 09:00:00 routine:mail try 3 failed: our conversation is longer than the model can read (too long). shorten it: ollim-bot compact"].assert_eq(&story.occurrences());
}

/// A job during which the program crashes repeatedly is reported like any other failure.
#[test]
fn a_job_under_which_the_program_keeps_dying_ends_visibly() {
    let mut story = at("16T08:59:50");
    story.model([Line::holds("1"), Line::holds("2"), Line::holds("3"), Line::holds("4")]);
    story.file("reminders/call.md", &dentist("16T09:00", "")).passes("20s");
    story.crash().passes("5s").crash().passes("5s").crash().passes("3m");
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
    .assert_eq(&story.told());
    expect![
        "mon 09:00:00 reminder:d1 try 1 done: the model did not answer, so its words went out as written"
    ]
    .assert_eq(&story.occurrences());
    assert!(!story.has_file("reminders/call.md"));
}

/// SC-20, A8: for a crash or a failed write at any point, a reminder on main rings once and ends.
#[test]
fn a_reminder_is_heard_once_wherever_the_program_dies() {
    for nth in 1..=6 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter, Trouble::Fails] {
            let mut story = played("");
            story.trouble(nth, trouble).passes("30s").crash().passes("2m").crash().passes("10s");
            let tree = story.tree();
            let ended = story.occurrences();
            assert_eq!(tree.matches("assistant: Call the dentist.").count(), 1, "{nth} {trouble:?}: {tree}");
            assert_eq!(ended, "mon 09:00:00 reminder:d1 try 1 done", "{nth} {trouble:?}");
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            story.die();
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// SC-20, A8: a background reminder ends once for a crash at any write and pings at most once; the
/// run reads whether a ping is in doubt.
#[test]
fn a_run_ends_once_wherever_the_program_dies() {
    for nth in 1..=8 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter] {
            let mut story = played("background: true\nupdate-main-session: freely");
            story.trouble(nth, trouble).passes("30s").crash().passes("2m").crash().passes("10s");
            let tree = story.tree();
            let ended = story.occurrences();
            assert_eq!(tree.matches("assistant: Pinged.").count(), 1, "{nth} {trouble:?}: {tree}");
            let sent = tree.matches("tools: Message sent.").count();
            let unknown = tree.matches("tools: ").count() - sent;
            assert_eq!(sent + unknown, 1, "{nth} {trouble:?}: {tree}");
            assert_eq!(ended, "mon 09:00:00 reminder:d1 try 1 done", "{nth} {trouble:?}");
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            let events = story.state("session_history.jsonl").matches("bg_fork").count();
            assert_eq!(events, 1, "{nth} {trouble:?}");
            story.die();
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// Starts a story with the reminder, whose model replies depending on the context.
fn played(head: &str) -> Story {
    let puppet = Puppet::answering(|context| {
        let aside = context.said.iter().any(|said| words(said).contains("[reminder-bg:"));
        match (aside, context.said.last().map(|said| words(said)).unwrap_or_default()) {
            (false, _) => Line::says("Call the dentist."),
            (true, words) if words.contains("[reminder-bg:") => pings("call the dentist"),
            (true, _) => Line::says("Pinged."),
        }
    });
    let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
    story.file("reminders/call.md", &dentist("16T09:00", head)).passes("1s");
    story
}
