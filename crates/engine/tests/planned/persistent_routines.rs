//! Persistent routines: their session continues from run to run, and ends with the routine.

use domain::failure::Failure;
use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

use crate::{
    compaction_call, mail_routine, ping_call, read_in_request, report_call, session_id, story_at,
    summary_reply, text_of, watch_routine,
};

const NINE: &str = "cron: 0 9 * * *";

fn watch_story(head: &str) -> Story {
    let mut story = story_at("16T10:00");
    story.write_file("routines/watch.md", &watch_routine(head)).advance_time("1s");
    story
}

/// RP-1, RP-14, RP-17, MT-3: the runs form one sequence beside main, each with an event without a
/// parent.
#[test]
fn runs_of_a_persistent_routine_form_one_sequence() {
    let mut story = watch_story(&format!("{NINE}\nupdate-main-session: freely"));
    story.script([
        ModelOutcome::text("Morning."),
        ping_call("bread costs 3"),
        ModelOutcome::text("Bread costs 3."),
    ]);
    story.user("good morning").run_now("routine:watch").advance_time("1m");
    story.script([ModelOutcome::text("Bread costs 4.")]).run_now("routine:watch");
    expect![[r#"
        human: good morning
        assistant: Morning.  <- main
        human: [routine-bg:watch]
        assistant: calls ping_user
        tools: Message sent.
        assistant: Bread costs 3.  (fork/3fdabe86 ended)
        human: [routine-bg:watch]
        assistant: Bread costs 4.  (fork/53fcd651 ended)
    "#]]
    .assert_eq(&story.tree());
    expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"persistent_bg","parent_session_id":null,"session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
        {"event":"persistent_bg","parent_session_id":null,"session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]]
    .assert_eq(&story.state_file("session_history.jsonl"));
    expect![[r#"
        {"fork_session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da","message_id":5,"parent_session_id":null}
    "#]]
    .assert_eq(&story.origins());
    expect![[r#"
        ●    main · now · 63cbe1e4 · 2 entries
        ┃ ▪  fork/53fcd651 ended 2026-11-16 10:01 · routine:watch · 2 entries
        ┣─╯  fork/53fcd651 started 2026-11-16 10:01 · routine:watch · 953aeb70
        ┃ ▪  fork/3fdabe86 ended 2026-11-16 10:00 · routine:watch · 4 entries
        ┃ ○  fork/3fdabe86 started 2026-11-16 10:00 · routine:watch · 953aeb70
        ○    created 2026-11-16 10:00 · 63cbe1e4
    "#]]
    .assert_eq(&story.sessions());
}

/// RP-17: undoing a pause restores the file of the routine and keeps its session.
#[test]
fn undoing_a_pause_keeps_the_session() {
    let mut story = watch_story(&format!("{NINE}\n# every morning\nupdate-main-session: freely"));
    story.script([ModelOutcome::text("Bread costs 3.")]).run_now("routine:watch");
    let file = story.read_file("routines/watch.md");
    let before = session_id(&story);
    story.pause_job("routine:watch").advance_time("1s");
    assert!(
        story.read_file("routines/watch.md").contains("paused: "),
        "{}",
        story.read_file("routines/watch.md")
    );
    story
        .script([ModelOutcome::tool_call("schedule", r#"{"words":"undo"}"#), ModelOutcome::text("Yes.")])
        .user("undo");
    story.advance_time("1s").crash();
    assert_eq!(story.read_file("routines/watch.md"), file);
    assert_eq!(session_id(&story), before);
}

/// PU-8, RP-18: a persistent run does not read the pending updates of main, and main reads the ones
/// it leaves.
#[test]
fn persistent_run_reads_no_updates_and_leaves_some() {
    let mut story = watch_story(NINE);
    story.leave_update("routine:mail", "two mails");
    story.script([report_call("bread costs 3"), ModelOutcome::text("Done.")]).run_now("routine:watch");
    assert!(!read_in_request(&story, 0).contains("two mails"), "{}", read_in_request(&story, 0));
    assert!(
        read_in_request(&story, 0).starts_with("[2026-11-16 Mon 10:00 AM CET] [routine-bg:watch] "),
        "{}",
        read_in_request(&story, 0)
    );
    story.script([ModelOutcome::text("I see.")]).user("what is new?");
    assert!(
        read_in_request(&story, 2).contains("two mails")
            && read_in_request(&story, 2).contains("bread costs 3")
    );
}

/// RP-35, PR-13: its preamble does not say that the session is discarded.
#[test]
fn preamble_of_a_persistent_run_does_not_say_discarded() {
    let mut story = watch_story(&format!("{NINE}\nupdate-main-session: always"));
    story.script([report_call("x")]).run_now("routine:watch");
    let told = read_in_request(&story, 0);
    assert!(
        !told.contains("everything in it is discarded") && told.contains("does not see this run"),
        "{told}"
    );
}

/// RP-12, RP-13: persistent routines run concurrently, each with its own session file.
#[test]
fn persistent_routines_run_concurrently() {
    let mut story = watch_story("cron: 1 10 * * *");
    let other = watch_routine("cron: 1 10 * * *").replace("id: watch", "id: other");
    story
        .script([ModelOutcome::hang("Looking"), ModelOutcome::text("Done.")])
        .write_file("routines/other.md", &other)
        .advance_time("2m");
    assert_eq!(story.contexts().len(), 2);
    story.script([ModelOutcome::text("Done.")]).crash().advance_time("5s");
    assert_eq!(story.list_files("state/routine_sessions"), ["other", "watch"]);
    let one = session_id(&story);
    let two = story.read_file("state/routine_sessions/other");
    assert_ne!(one, two);
}

/// RP-16, RP-25: if the compaction fails, the run is saved and the session stays unchanged.
#[test]
fn failed_compaction_keeps_the_run() {
    let mut story = watch_story(NINE);
    story.script([ModelOutcome::text("Bread costs 3.")]).run_now("routine:watch");
    let before = session_id(&story);
    story.script([
        compaction_call("keep prices"),
        ModelOutcome::text("Bread costs 4."),
        ModelOutcome::fail(Failure::VendorError("500".to_owned())),
    ]);
    story.run_now("routine:watch").advance_time("5s");
    assert_eq!(session_id(&story), before);
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    story.run_now("routine:watch");
    let contexts = story.contexts();
    let said: Vec<String> = contexts[contexts.len() - 1].entries.iter().map(|said| text_of(said)).collect();
    assert!(said.contains(&"Bread costs 4.".to_owned()), "{said:?}");
}

/// RP-16, RP-26: a compaction that exceeds the time of the run is abandoned.
#[test]
fn slow_compaction_is_abandoned() {
    let mut story = watch_story("cron: 1 10 * * *");
    story.user_commands("/config bg_fork_timeout 120");
    story
        .script([compaction_call("keep prices"), ModelOutcome::text("Done."), ModelOutcome::hang("[2026")])
        .advance_time("4m");
    assert!(story.occurrences().ends_with("try 1 done"), "{}", story.occurrences());
    assert_eq!(story.state_file("session_history.jsonl").matches("persistent_bg").count(), 1);
    assert_ne!(session_id(&story), "");
}

/// RP-15: a failed run keeps its entries, and the next run continues after them.
#[test]
fn failed_run_keeps_its_session() {
    let mut story = watch_story("cron: 1 10 * * *");
    story
        .script([report_call("bread costs 3"), ModelOutcome::fail(Failure::Stopped("it broke".to_owned()))])
        .advance_time("2m");
    assert_ne!(session_id(&story), "");
    story.run_now("routine:watch");
    assert!(story.contexts()[2].entries.len() > 3, "{}", story.tree());
}

/// RP-28, RP-29, RP-31: the session ends with the routine, not while its file is being edited or
/// changed.
#[test]
fn session_ends_only_with_its_routine() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    let kept = session_id(&story);
    story
        .write_file("routines/watch.md", "---\nid: watch\ncron: 0 9")
        .advance_time("20s")
        .crash()
        .advance_time("20s");
    assert_eq!(session_id(&story), kept, "half edited");
    story
        .write_file("routines/watch.md", &mail_routine(NINE).replace("id: mail", "id: watch"))
        .advance_time("20s");
    story.run_now("routine:watch").crash().advance_time("20s");
    assert_eq!(session_id(&story), kept, "not persistent any more");
    story.write_file("routines/watch.md", &watch_routine(NINE)).advance_time("10s").run_now("routine:watch");
    assert_eq!(story.contexts()[2].entries.len(), 3, "it goes on from its own session");
    story.remove_file("routines/watch.md").advance_time("20s");
    assert_eq!(session_id(&story), "");
    story.write_file("routines/watch.md", &watch_routine(NINE)).advance_time("10s").run_now("routine:watch");
    assert_eq!(story.contexts()[3].entries.len(), 1, "and begins anew");
}

/// RP-28, RP-30: the session of a routine that was removed while the program was off is deleted at
/// the next start.
#[test]
fn session_without_a_routine_is_deleted() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch").stop();
    story.write_file_unnoticed("state/routine_sessions/ghost", "0c7d9f3e-0000-4000-8000-000000000000");
    std::fs::remove_file(story.paths().root().join("routines/watch.md")).unwrap();
    story.crash().advance_time("10s");
    assert_eq!(story.list_files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-33: a routine that is removed while it runs finishes, and leaves no session.
#[test]
fn routine_removed_while_it_runs_leaves_no_session() {
    let mut story = watch_story("cron: 1 10 * * *");
    story
        .script([ModelOutcome::hang("Looking")])
        .advance_time("70s")
        .remove_file("routines/watch.md")
        .advance_time("20s");
    story.script([ModelOutcome::text("Done.")]).crash().advance_time("10s");
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    assert_eq!(story.list_files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-32: an unknown session id in the file starts a new session, with a notice.
#[test]
fn unknown_session_is_replaced_by_a_new_one() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch").stop();
    story.write_file_unnoticed("state/routine_sessions/watch", "0c7d9f3e-0000-4000-8000-000000000000\n");
    story.crash();
    assert!(
        story.transcript().contains("notice> state/routine_sessions/watch names the session 0c7d9f3e"),
        "{}",
        story.transcript()
    );
    story.run_now("routine:watch");
    assert_eq!(story.contexts()[1].entries.len(), 1);
    assert_ne!(session_id(&story), "0c7d9f3e-0000-4000-8000-000000000000");
}

/// RP-27: a reply to a persistent run forks off and does not change the routine's session.
#[test]
fn reply_to_a_persistent_run_forks_off() {
    let mut story = watch_story(&format!("{NINE}\nupdate-main-session: freely"));
    story.script([ping_call("bread costs 3"), ModelOutcome::text("Done.")]).run_now("routine:watch");
    let kept = session_id(&story);
    story.script([ModelOutcome::text("Since Monday.")]).user_replies(3, "since when?");
    assert_eq!(story.contexts()[2].entries.len(), 5, "it knows the run");
    story.script([ModelOutcome::text("Still 3.")]).run_now("routine:watch");
    assert_eq!(story.contexts()[3].entries.len(), 5, "the routine knows nothing of the talk");
    assert_eq!(session_id(&story), kept);
    let events = story.state_file("session_history.jsonl");
    let entered: Vec<&str> = events.lines().filter(|line| line.contains("interactive_fork")).collect();
    assert!(entered.iter().all(|line| !line.contains(&format!(r#""session_id":"{kept}""#))), "{events}");
}

/// RP-34, CP-8: a session that exceeds the context window is compacted automatically, and the
/// compacted one is saved.
#[test]
fn session_that_no_longer_fits_is_compacted() {
    let mut story = watch_story("cron: 1 10 * * *");
    story
        .script([
            ModelOutcome::fail(Failure::ContextFull("too long".to_owned())),
            summary_reply(),
            ModelOutcome::text("Done."),
        ])
        .advance_time("2m");
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    let events = story.state_file("session_history.jsonl");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session_id(&story))), "{events}");
}

/// A14, RP-16: for a crash at any write the session is compacted once, and its file names a known
/// session.
#[test]
fn session_is_compacted_once_wherever_the_program_crashes() {
    for nth in 1..=8 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter] {
            let model =
                ScriptedModel::answering(|context| match context.entries.last().map(|said| text_of(said)) {
                    Some(said) if said.contains("keep prices") => summary_reply(),
                    Some(said) if said.contains("Watch the price.") => compaction_call("keep prices"),
                    _ => ModelOutcome::text("Done."),
                });
            let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
            story.write_file("routines/watch.md", &watch_routine("cron: 0 9 16 11 *")).advance_time("1s");
            story
                .inject_journal_fault(nth, trouble)
                .advance_time("30s")
                .crash()
                .advance_time("2m")
                .crash()
                .advance_time("5s");
            let (tree, told) = (story.tree(), format!("{nth} {trouble:?}: {}", story.tree()));
            let made = tree.matches("summary: ").count();
            let requested = tree.contains("compaction is scheduled");
            assert!(made == 1 || made == 0 && !requested, "{told}");
            assert!(story.occurrences().ends_with("try 1 done"), "{told}");
            let events = story.state_file("session_history.jsonl");
            assert_eq!(events.matches("persistent_bg").count(), 1, "{told}");
            assert!(events.contains(&session_id(&story)), "{told}\n{events}");
            assert!(!story.transcript().contains("which i don't know"), "{}", story.transcript());
            story.stop();
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{told}");
        }
    }
}

/// MT-4: a ping is attributed to the session id after the run's compaction.
#[test]
fn ping_is_attributed_to_the_session_after_its_compaction() {
    let mut story = watch_story(&format!("{NINE}\nupdate-main-session: freely"));
    story.script([ModelOutcome::text("Bread costs 2.")]).run_now("routine:watch").advance_time("5s");
    let before = session_id(&story);
    story.script([
        ping_call("bread costs 3"),
        compaction_call("keep prices"),
        ModelOutcome::text("Bread costs 3."),
        summary_reply(),
    ]);
    story.run_now("routine:watch").advance_time("5s");
    let after = session_id(&story);
    let shown = story.origins();
    assert_ne!(after, before);
    assert!(shown.contains(&after) && !shown.contains(&before), "{shown}");
}
