//! Persistent routines: their session continues from run to run, and ends with the routine.

use domain::failure::Failure;
use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

use crate::{at, compacts, mail, persistent, pings, read, reports, session, summary, words};

const NINE: &str = "cron: 0 9 * * *";

fn watch(head: &str) -> Story {
    let mut story = at("16T10:00");
    story.file("routines/watch.md", &persistent(head)).passes("1s");
    story
}

/// RP-1, RP-14, RP-17, MT-3: the runs form one sequence beside main, each with an event without a
/// parent.
#[test]
fn runs_of_a_persistent_routine_stand_one_behind_the_other() {
    let mut story = watch(&format!("{NINE}\nupdate-main-session: freely"));
    story.model([Line::says("Morning."), pings("bread costs 3"), Line::says("Bread costs 3.")]);
    story.human("good morning").runs_now("routine:watch").passes("1m");
    story.model([Line::says("Bread costs 4.")]).runs_now("routine:watch");
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
    .assert_eq(&story.state("session_history.jsonl"));
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
fn a_rest_that_is_taken_back_keeps_the_session() {
    let mut story = watch(&format!("{NINE}\n# every morning\nupdate-main-session: freely"));
    story.model([Line::says("Bread costs 3.")]).runs_now("routine:watch");
    let file = story.reads_file("routines/watch.md");
    let before = session(&story);
    story.lets_rest("routine:watch").passes("1s");
    assert!(
        story.reads_file("routines/watch.md").contains("paused: "),
        "{}",
        story.reads_file("routines/watch.md")
    );
    story.model([Line::calls("schedule", r#"{"words":"undo"}"#), Line::says("Yes.")]).human("undo");
    story.passes("1s").crash();
    assert_eq!(story.reads_file("routines/watch.md"), file);
    assert_eq!(session(&story), before);
}

/// PU-8, RP-18: a persistent run does not read the pending updates of main, and main reads the ones
/// it leaves.
#[test]
fn a_persistent_run_sees_no_updates_and_leaves_some() {
    let mut story = watch(NINE);
    story.leaves_for_main("routine:mail", "two mails");
    story.model([reports("bread costs 3"), Line::says("Done.")]).runs_now("routine:watch");
    assert!(!read(&story, 0).contains("two mails"), "{}", read(&story, 0));
    assert!(
        read(&story, 0).starts_with("[2026-11-16 Mon 10:00 AM CET] [routine-bg:watch] "),
        "{}",
        read(&story, 0)
    );
    story.model([Line::says("I see.")]).human("what is new?");
    assert!(read(&story, 2).contains("two mails") && read(&story, 2).contains("bread costs 3"));
}

/// RP-35, PR-13: its preamble does not say that the session is discarded.
#[test]
fn a_persistent_run_is_not_told_that_all_is_discarded() {
    let mut story = watch(&format!("{NINE}\nupdate-main-session: always"));
    story.model([reports("x")]).runs_now("routine:watch");
    let told = read(&story, 0);
    assert!(
        !told.contains("everything in it is discarded") && told.contains("does not see this run"),
        "{told}"
    );
}

/// RP-12, RP-13: persistent routines run concurrently, each with its own session file.
#[test]
fn two_persistent_routines_run_at_once() {
    let mut story = watch("cron: 1 10 * * *");
    let other = persistent("cron: 1 10 * * *").replace("id: watch", "id: other");
    story.model([Line::holds("Looking"), Line::says("Done.")]).file("routines/other.md", &other).passes("2m");
    assert_eq!(story.contexts().len(), 2);
    story.model([Line::says("Done.")]).crash().passes("5s");
    assert_eq!(story.files("state/routine_sessions"), ["other", "watch"]);
    let one = session(&story);
    let two = story.reads_file("state/routine_sessions/other");
    assert_ne!(one, two);
}

/// RP-16, RP-25: if the compaction fails, the run is saved and the session stays unchanged.
#[test]
fn a_compaction_that_fails_loses_nothing_of_the_run() {
    let mut story = watch(NINE);
    story.model([Line::says("Bread costs 3.")]).runs_now("routine:watch");
    let before = session(&story);
    story.model([
        compacts("keep prices"),
        Line::says("Bread costs 4."),
        Line::fails(Failure::Broken("500".to_owned())),
    ]);
    story.runs_now("routine:watch").passes("5s");
    assert_eq!(session(&story), before);
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    story.runs_now("routine:watch");
    let contexts = story.contexts();
    let said: Vec<String> = contexts[contexts.len() - 1].said.iter().map(|said| words(said)).collect();
    assert!(said.contains(&"Bread costs 4.".to_owned()), "{said:?}");
}

/// RP-16, RP-26: a compaction that exceeds the time of the run is abandoned.
#[test]
fn a_compaction_that_takes_too_long_is_left() {
    let mut story = watch("cron: 1 10 * * *");
    story.human_commands("/config bg_fork_timeout 120");
    story.model([compacts("keep prices"), Line::says("Done."), Line::holds("[2026")]).passes("4m");
    assert!(story.occurrences().ends_with("try 1 done"), "{}", story.occurrences());
    assert_eq!(story.state("session_history.jsonl").matches("persistent_bg").count(), 1);
    assert_ne!(session(&story), "");
}

/// RP-15: a failed run keeps its entries, and the next run continues after them.
#[test]
fn a_run_that_fails_keeps_its_session() {
    let mut story = watch("cron: 1 10 * * *");
    story
        .model([reports("bread costs 3"), Line::fails(Failure::Stopped("it broke".to_owned()))])
        .passes("2m");
    assert_ne!(session(&story), "");
    story.runs_now("routine:watch");
    assert!(story.contexts()[2].said.len() > 3, "{}", story.tree());
}

/// RP-28, RP-29, RP-31: the session ends with the routine, not while its file is being edited or
/// changed.
#[test]
fn a_session_ends_with_its_routine_and_not_before() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    let kept = session(&story);
    story.file("routines/watch.md", "---\nid: watch\ncron: 0 9").passes("20s").crash().passes("20s");
    assert_eq!(session(&story), kept, "half edited");
    story.file("routines/watch.md", &mail(NINE).replace("id: mail", "id: watch")).passes("20s");
    story.runs_now("routine:watch").crash().passes("20s");
    assert_eq!(session(&story), kept, "not persistent any more");
    story.file("routines/watch.md", &persistent(NINE)).passes("10s").runs_now("routine:watch");
    assert_eq!(story.contexts()[2].said.len(), 3, "it goes on from its own session");
    story.file_gone("routines/watch.md").passes("20s");
    assert_eq!(session(&story), "");
    story.file("routines/watch.md", &persistent(NINE)).passes("10s").runs_now("routine:watch");
    assert_eq!(story.contexts()[3].said.len(), 1, "and begins anew");
}

/// RP-28, RP-30: the session of a routine that was removed while the program was off is deleted at
/// the next start.
#[test]
fn a_session_without_a_routine_is_swept_away() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch").die();
    story.file_unseen("state/routine_sessions/ghost", "0c7d9f3e-0000-4000-8000-000000000000");
    std::fs::remove_file(story.paths().root().join("routines/watch.md")).unwrap();
    story.crash().passes("10s");
    assert_eq!(story.files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-33: a routine that is removed while it runs finishes, and leaves no session.
#[test]
fn a_routine_that_is_removed_while_it_runs_leaves_no_session() {
    let mut story = watch("cron: 1 10 * * *");
    story.model([Line::holds("Looking")]).passes("70s").file_gone("routines/watch.md").passes("20s");
    story.model([Line::says("Done.")]).crash().passes("10s");
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    assert_eq!(story.files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-32: an unknown session id in the file starts a new session, with a notice.
#[test]
fn a_session_that_nobody_knows_begins_anew() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch").die();
    story.file_unseen("state/routine_sessions/watch", "0c7d9f3e-0000-4000-8000-000000000000\n");
    story.crash();
    assert!(
        story.told().contains("notice> state/routine_sessions/watch names the session 0c7d9f3e"),
        "{}",
        story.told()
    );
    story.runs_now("routine:watch");
    assert_eq!(story.contexts()[1].said.len(), 1);
    assert_ne!(session(&story), "0c7d9f3e-0000-4000-8000-000000000000");
}

/// RP-27: a reply to a persistent run forks off and does not change the routine's session.
#[test]
fn a_reply_to_a_persistent_run_branches_off() {
    let mut story = watch(&format!("{NINE}\nupdate-main-session: freely"));
    story.model([pings("bread costs 3"), Line::says("Done.")]).runs_now("routine:watch");
    let kept = session(&story);
    story.model([Line::says("Since Monday.")]).human_replies(3, "since when?");
    assert_eq!(story.contexts()[2].said.len(), 5, "it knows the run");
    story.model([Line::says("Still 3.")]).runs_now("routine:watch");
    assert_eq!(story.contexts()[3].said.len(), 5, "the routine knows nothing of the talk");
    assert_eq!(session(&story), kept);
    let events = story.state("session_history.jsonl");
    let entered: Vec<&str> = events.lines().filter(|line| line.contains("interactive_fork")).collect();
    assert!(entered.iter().all(|line| !line.contains(&format!(r#""session_id":"{kept}""#))), "{events}");
}

/// RP-34, CP-8: a session that exceeds the context window is compacted automatically, and the
/// compacted one is saved.
#[test]
fn a_session_that_no_longer_fits_is_summed_up() {
    let mut story = watch("cron: 1 10 * * *");
    story
        .model([Line::fails(Failure::Full("too long".to_owned())), summary(), Line::says("Done.")])
        .passes("2m");
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
    let events = story.state("session_history.jsonl");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session(&story))), "{events}");
}

/// A14, RP-16: for a crash at any write the session is compacted once, and its file names a known
/// session.
#[test]
fn a_session_is_compacted_once_wherever_the_program_dies() {
    for nth in 1..=8 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter] {
            let puppet = Puppet::answering(|context| match context.said.last().map(|said| words(said)) {
                Some(said) if said.contains("keep prices") => summary(),
                Some(said) if said.contains("Watch the price.") => compacts("keep prices"),
                _ => Line::says("Done."),
            });
            let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
            story.file("routines/watch.md", &persistent("cron: 0 9 16 11 *")).passes("1s");
            story.trouble(nth, trouble).passes("30s").crash().passes("2m").crash().passes("5s");
            let (tree, told) = (story.tree(), format!("{nth} {trouble:?}: {}", story.tree()));
            let made = tree.matches("summary: ").count();
            let wished = tree.contains("compaction is scheduled");
            assert!(made == 1 || made == 0 && !wished, "{told}");
            assert!(story.occurrences().ends_with("try 1 done"), "{told}");
            let events = story.state("session_history.jsonl");
            assert_eq!(events.matches("persistent_bg").count(), 1, "{told}");
            assert!(events.contains(&session(&story)), "{told}\n{events}");
            assert!(!story.told().contains("which i don't know"), "{}", story.told());
            story.die();
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{told}");
        }
    }
}

/// MT-4: a ping is attributed to the session id after the run's compaction.
#[test]
fn what_a_run_showed_is_found_after_its_compaction() {
    let mut story = watch(&format!("{NINE}\nupdate-main-session: freely"));
    story.model([Line::says("Bread costs 2.")]).runs_now("routine:watch").passes("5s");
    let before = session(&story);
    story.model([pings("bread costs 3"), compacts("keep prices"), Line::says("Bread costs 3."), summary()]);
    story.runs_now("routine:watch").passes("5s");
    let after = session(&story);
    let shown = story.origins();
    assert_ne!(after, before);
    assert!(shown.contains(&after) && !shown.contains(&before), "{shown}");
}
