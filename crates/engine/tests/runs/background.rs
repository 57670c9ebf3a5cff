//! Background runs beside main: their context, their updates, and their independence.

use domain::context;
use domain::conversation::EntryContent;
use domain::cost::{Attendance, CostSource};
use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{Story, forked_job, isolated_job};

use crate::{check, ping_call, read_in_request, report_call, story};

/// A story in which the routine `mail` pings, shows an embed and reports between two messages of
/// the user.
fn triage_story() -> Story {
    let mut story = story();
    let embed = r#"{"title":"Mail","description":"two need you"}"#;
    story.script([
        ModelOutcome::text("Morning."),
        ping_call("two mails need you"),
        ModelOutcome::tool_call("discord_embed", embed),
        report_call("two mails need an answer"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Two mails."),
        ModelOutcome::text("No."),
    ]);

    story
        .user("good morning")
        .run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."));
    story.user("what is new?").user("anything else?");
    story
}

/// TL-2, TL-4, TL-12, BF-20: a forked run pings, reports and ends; main reads the report once.
#[test]
fn forked_run_reports_to_main_once() {
    let story = triage_story();
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            -- routine:mail runs: [routine-bg:mail] Triage my mail.
            fork/3fdabe86> calls ping_user {"message":"two mails need you"}
            fork/3fdabe86> ping_user: Message sent.
            routine:mail (5) to the human> two mails need you
            fork/3fdabe86> calls discord_embed {"title":"Mail","description":"two need you"}
            fork/3fdabe86> discord_embed: Error: Already sent 1 ping or embed in this run, and one is all it has. Nothing was sent. Leave it with `report_updates`.
            fork/3fdabe86> calls report_updates {"message":"two mails need an answer"}
            fork/3fdabe86> report_updates: the main conversation will read it. go on, or stop.
            fork/3fdabe86> assistant: Done.
            notice> catching up: 1 update from the background.
            human> what is new?
            main> assistant: Two mails.
            human> anything else?
            main> assistant: No.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: [routine-bg:mail]
              assistant: calls ping_user
              tools: Message sent.
              assistant: calls discord_embed
              tools: Error: Already sent 1 ping or embed in this run, and one is all it has. Nothing was sent. Leave it with `report_updates`.
              assistant: calls report_updates
              tools: the main conversation will read it. go on, or stop.
              assistant: Done.  (fork/3fdabe86 ended)
              human: (reads 1 update) what is new?
              assistant: Two mails.
              human: anything else?
              assistant: No.  <- main
        "#]],
    );
    assert!(
        read_in_request(&story, 5).contains("RECENT BACKGROUND UPDATES"),
        "{}",
        read_in_request(&story, 5)
    );
    assert!(!read_in_request(&story, 6).contains("RECENT"), "{}", read_in_request(&story, 6));
}

/// SE-8, SE-9, SE-11, MT-1, MT-2, MT-3: a run leaves one event, and a record of each message it
/// sent.
#[test]
fn run_leaves_its_event_and_its_messages_in_the_files() {
    let story = triage_story();
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 63cbe1e4 · 6 entries
            ┃ ▪  fork/3fdabe86 ended 2026-11-15 08:00 · routine:mail · 8 entries
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · routine:mail · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
    check(
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
            {"fork_session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da","message_id":5,"parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        "#]],
    );
}

/// PU-8, TL-12: a forked run reads pending updates without consuming them; an isolated one reads
/// only the time, and nothing of main.
#[test]
fn forked_run_reads_updates_and_an_isolated_one_does_not() {
    let mut story = story();
    story.script([ModelOutcome::text("Morning."), report_call("it rains"), ModelOutcome::text("Done.")]);
    story.script([ModelOutcome::text("Seen."), ModelOutcome::text("Unseen."), ModelOutcome::text("Rain.")]);
    story
        .user("good morning")
        .run_in_background(forked_job("routine:weather", "[routine-bg:weather] Look outside."));
    story.run_in_background(forked_job("routine:plan", "[routine-bg:plan] Plan."));
    story.run_in_background(isolated_job("reminder:tea", "[reminder-bg:tea] Make tea."));
    story.user("well?");

    assert!(
        read_in_request(&story, 3).contains("- (just now) it rains\n\n[routine-bg:plan] Plan."),
        "{}",
        read_in_request(&story, 3)
    );
    assert_eq!(read_in_request(&story, 4), "[2026-11-15 Sun 08:00 AM CET] [reminder-bg:tea] Make tea.");
    assert_eq!(story.contexts()[4].entries.len(), 1, "it has nothing of main");
    assert!(
        read_in_request(&story, 5).contains("it rains"),
        "main still reads it: {}",
        read_in_request(&story, 5)
    );
    check(
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"53fcd651-3d02-4efe-a25e-c07a99506761"}
        {"event":"isolated_bg","parent_session_id":null,"session_id":"f5ba4eb7-28dd-432c-ab03-54df4a45b34e"}
    "#]],
    );
    check(
        &format!("(two roots)\n{}", story.tree()),
        &expect![[r#"
            (two roots)
            human: good morning
            assistant: Morning.
              human: [routine-bg:weather]
              assistant: calls report_updates
              tools: the main conversation will read it. go on, or stop.
              assistant: Done.  (fork/3fdabe86 ended)
              human: (reads 1 update) [routine-bg:plan]
              assistant: Seen.  (fork/69c3a276 ended)
              human: (reads 1 update) well?
              assistant: Rain.  <- main
            human: [reminder-bg:tea]
            assistant: Unseen.  (fork/df0f9924 ended)
        "#]],
    );
}

/// BF-15, BF-20, TL-2: three runs and main are concurrent, each on its own branch.
#[test]
fn three_runs_and_main_are_concurrent() {
    let model = ScriptedModel::answering(|context| {
        let last = context.entries.last().map(|said| text_of(said)).unwrap_or_default();
        let run = context
            .entries
            .iter()
            .rev()
            .find_map(|said| text_of(said).split_once("run ").map(|(_, name)| name.to_owned()));
        match (run.as_deref(), last.as_str()) {
            (Some("c"), _) => ModelOutcome::hang("thinking"),
            (Some(name), "") => ModelOutcome::text(&format!("Done {name}.")),
            (Some(name), _) => report_call(&format!("report of {name}")),
            (None, last) => ModelOutcome::text(&format!("{} reports", last.matches("report of").count())),
        }
    });
    let mut story = Story::with_model("2026-11-15T08:00[Europe/Madrid]", model);
    story.user("hello");
    let jobs = ["a", "b", "c"].map(|name| forked_job(&format!("routine:{name}"), &format!("run {name}")));
    story
        .start_in_background(jobs)
        .wait_for_line("Done a.")
        .wait_for_line("Done b.")
        .wait_for_model_calls(6)
        .user("well?");

    let told = story.transcript();
    assert!(told.contains("main> assistant: 2 reports"), "{told}");
    let spent = story.spending();
    let of = |name: &str| {
        let source = CostSource::Routine(name.to_owned());
        spent.iter().filter(|spent| spent.account.source == source).count()
    };
    assert_eq!((of("a"), of("b"), of("c")), (2, 2, 0));
    let unattended = spent.iter().filter(|spent| spent.account.attended == Attendance::Unattended).count();
    assert_eq!(unattended, 4, "main and nobody else was waited for");
}

fn text_of(said: &EntryContent) -> String {
    match said {
        EntryContent::User(heard) => context::user_text(heard),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => String::new(),
    }
}

/// BF-20: a run reports during a conversation, and neither waits for the other.
#[test]
fn run_reports_during_a_conversation() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::hang("Let me think"),
        report_call("it rains"),
        ModelOutcome::text("Done."),
    ]);
    story.script([ModelOutcome::text("Rain, by the way.")]);
    story.user("good morning").user_begins("tell me a story");
    story.run_in_background(forked_job("routine:weather", "[routine-bg:weather] Look outside."));
    story.user("never mind. what is new?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> tell me a story
            -- routine:weather runs: [routine-bg:weather] Look outside.
            fork/77cbc4a1> calls report_updates {"message":"it rains"}
            fork/77cbc4a1> report_updates: the main conversation will read it. go on, or stop.
            fork/77cbc4a1> assistant: Done.
            notice> catching up: 1 update from the background.
            main> assistant: Let me think (cut)
            main> stopped
            human> never mind. what is new?
            main> assistant: Rain, by the way.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: tell me a story
              assistant: Let me think (cut)
              human: (reads 1 update) never mind. what is new?
              assistant: Rain, by the way.  <- main
              human: [routine-bg:weather]
              assistant: calls report_updates
              tools: the main conversation will read it. go on, or stop.
              assistant: Done.  (fork/77cbc4a1 ended)
        "#]],
    );
}

/// SE-11, MT-5: a failed run is reported and has its event, and its ping can be replied to.
#[test]
fn failed_run_leaves_its_event_and_its_ping() {
    let mut story = story();
    story.script([ping_call("up"), ModelOutcome::fail(Failure::Stopped("it broke.".to_owned()))]);
    story.run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."));
    check(
        &story.transcript(),
        &expect![[r#"
        -- routine:mail runs: [routine-bg:mail] Triage my mail.
        fork/e6984080> calls ping_user {"message":"up"}
        fork/e6984080> ping_user: Message sent.
        routine:mail (3) to the human> up
        notice> routine:mail could not be finished: it broke.
        fork/e6984080> failed: it broke.
    "#]],
    );
    check(
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"bg_fork","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
    "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","message_id":3,"parent_session_id":null}
    "#]],
    );
}

/// CP-8: a run that exceeds the context window is compacted and continues; main is unchanged.
#[test]
fn run_that_no_longer_fits_is_compacted_and_continues() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::fail(Failure::ContextFull("prompt is too long".to_owned())),
        ModelOutcome::text("[2026-11-15 08:00] The mail is to be triaged."),
        report_call("two mails"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Two mails."),
    ]);
    story
        .user("good morning")
        .start_in_background([forked_job("routine:mail", "[routine-bg:mail] Triage my mail.")]);
    story.wait_for_line("Done.").wait_until_idle();
    story.user("what is new?");
    let told = story.transcript();
    assert!(told.contains("> compacted: "), "{told}");
    assert!(!told.contains("main> compact"), "{told}");
    assert!(read_in_request(&story, 5).contains("- (just now) two mails"), "{}", read_in_request(&story, 5));
}
