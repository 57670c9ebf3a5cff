//! The original acceptance checks of persistent routines, under their original names.

use testkit::scripted_model::ModelOutcome;
use testkit::story::{Story, forked_job};

use crate::{compaction_call, read_in_request, session_id, story_at, summary_reply, watch_routine};

const NINE: &str = "cron: 0 9 * * *";

/// Starts a story with the routine `watch` and these front matter lines.
fn watch_story(head: &str) -> Story {
    let mut story = story_at("16T10:00");
    story.write_file("routines/watch.md", &watch_routine(head)).advance_time("1s");
    story
}

/// Starts a story with the same routine without a session of its own.
fn plain_story() -> Story {
    let mut story = story_at("16T10:00");
    let text = watch_routine(NINE).replace("session: persistent\n", "");
    story.write_file("routines/watch.md", &text).advance_time("1s");
    story
}

/// Returns the notice about an invalid routine file.
fn file_notice(text: &str) -> String {
    let mut story = story_at("16T10:00");
    story.write_file("routines/watch.md", text).advance_time("11s");
    story
        .transcript()
        .lines()
        .find(|line| line.starts_with("notice> routines/watch.md"))
        .unwrap_or_default()
        .to_owned()
}

/// DD-41, RP-1: a routine has no session of its own by default.
#[test]
fn test_routine_new_defaults_session_none() {
    let mut story = plain_story();
    story.run_now("routine:watch").run_now("routine:watch");
    assert_eq!(story.list_files("state/routine_sessions"), Vec::<String>::new());
    assert_eq!(story.contexts()[1].entries.len(), 1, "the second run knows nothing of the first");
}

/// DD-37, RP-2: a background routine may have a session of its own.
#[test]
fn test_routine_new_with_session_persistent() {
    assert_eq!(file_notice(&watch_routine(NINE)), "");
}

/// DD-37, RP-2: a routine on main may not have a session; its file is reported.
#[test]
fn test_routine_session_requires_background() {
    let told = file_notice(&watch_routine(NINE).replace("background: true\n", ""));
    assert!(told.contains("session") && told.contains("background"), "{told}");
}

/// DD-37, RP-2: an isolated routine may not have a session.
#[test]
fn test_routine_session_mutex_with_isolated() {
    let told = file_notice(&watch_routine(&format!("{NINE}\nisolated: true")));
    assert!(told.contains("session") && told.contains("isolated"), "{told}");
}

/// RP-4: a run does not change the routine's file.
#[test]
fn test_routine_session_roundtrip() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    assert_eq!(story.read_file("routines/watch.md"), watch_routine(NINE));
    assert_eq!(session_id(&story), session_id(story.crash().run_now("routine:watch")));
}

/// RP-4, DD-25: a file without the key stays without it.
#[test]
fn test_routine_session_none_omitted_from_frontmatter() {
    let mut story = plain_story();
    story.run_now("routine:watch");
    assert!(!story.read_file("routines/watch.md").contains("session"));
}

/// RP-6: there is no session before the first run.
#[test]
fn test_load_persistent_session_missing() {
    let mut story = watch_story(NINE);
    assert_eq!(session_id(&story), "");
    story.crash().run_now("routine:watch");
    assert_eq!(story.contexts()[0].entries.len(), 1);
}

/// RP-5, RP-7: the bare session id is stored in a file named after the routine, and is found again.
#[test]
fn test_save_and_load_persistent_session() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    let saved = session_id(&story);
    assert!(saved.len() == 36 && saved.chars().all(|one| one == '-' || one.is_ascii_hexdigit()), "{saved}");
    assert_eq!(story.list_files("state/routine_sessions"), ["watch"]);
    story.crash().run_now("routine:watch");
    assert_eq!(story.contexts()[1].entries.len(), 3, "the second run knows the first");
}

/// RP-7, RP-15: a later session replaces the stored one.
#[test]
fn test_save_persistent_session_overwrites() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    let first = session_id(&story);
    story
        .script([compaction_call("keep prices"), ModelOutcome::text("Done."), summary_reply()])
        .run_now("routine:watch")
        .advance_time("5s");
    assert_ne!(session_id(&story), first, "{}", story.transcript());
    assert_eq!(story.list_files("state/routine_sessions"), ["watch"]);
}

/// RP-8, RP-28: the session is deleted with its routine.
#[test]
fn test_delete_persistent_session() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch").remove_file("routines/watch.md").advance_time("20s");
    assert_eq!(story.list_files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-8: deleting a routine without a session shows no notice.
#[test]
fn test_delete_persistent_session_missing() {
    let mut story = watch_story(NINE);
    story.remove_file("routines/watch.md").advance_time("20s");
    assert!(!story.transcript().contains("notice>"), "{}", story.transcript());
}

/// RP-22: a run of a routine that is not persistent has no session to compact.
#[test]
fn test_persistent_routine_id_default_none() {
    let mut story = story_at("16T10:00");
    story
        .script([compaction_call("keep all"), ModelOutcome::text("Done.")])
        .run_in_background(forked_job("routine:mail", "Triage."));
    assert!(story.transcript().contains("compact_session: Error"), "{}", story.transcript());
}

/// RP-12, RP-22: the tool works during the run of a persistent routine, and not after it.
#[test]
fn test_set_and_get_persistent_routine_id() {
    let mut story = watch_story(NINE);
    story
        .script([compaction_call("keep prices"), ModelOutcome::text("Done."), summary_reply()])
        .run_now("routine:watch")
        .advance_time("5s");
    story
        .script([compaction_call("keep all"), ModelOutcome::text("Done.")])
        .run_in_background(forked_job("routine:mail", "Triage."));
    assert_eq!(
        story.transcript().matches("compact_session: compaction is scheduled").count(),
        1,
        "{}",
        story.transcript()
    );
    assert_eq!(story.transcript().matches("compact_session: Error").count(), 1, "{}", story.transcript());
}

/// RP-12: neither the first run nor a later one is blocked.
#[test]
fn test_active_persistent_guard() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch").run_now("routine:watch");
    assert_eq!(story.contexts().len(), 2);
}

/// RP-24, RP-25: without a request nothing is compacted.
#[test]
fn test_compact_request_default_none() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch").advance_time("5s");
    assert!(!story.transcript().contains("compact"), "{}", story.transcript());
}

/// RP-24: the last request is carried out, once.
#[test]
fn test_set_and_pop_compact_request() {
    let mut story = watch_story(NINE);
    story.script([
        compaction_call("keep everything"),
        compaction_call("keep prices"),
        ModelOutcome::text("Done."),
        summary_reply(),
    ]);
    story.run_now("routine:watch").advance_time("5s");
    assert_eq!(story.transcript().matches("> compacting").count(), 1, "{}", story.transcript());
    let asked = read_in_request(&story, 3);
    assert!(asked.contains("keep prices") && !asked.contains("keep everything"), "{asked}");
    story.run_now("routine:watch").advance_time("5s");
    assert_eq!(story.transcript().matches("> compacting").count(), 1, "{}", story.transcript());
}

/// RP-22: outside a persistent run the tool returns an error.
#[test]
fn test_compact_session_blocked_outside_persistent() {
    let mut story = story_at("16T10:00");
    story.script([compaction_call("keep everything"), ModelOutcome::text("Well.")]).user("compact yourself");
    let told = story.transcript();
    let result = told.lines().find(|line| line.contains("compact_session: ")).unwrap_or_default();
    assert!(result.contains("Error") && result.contains("persistent routine"), "{told}");
    assert!(!told.contains("> compacting"), "{told}");
}

/// EN-6, RP-21, RP-23: in a persistent run the compaction is scheduled, and happens after the
/// answer.
#[test]
fn test_compact_session_sets_request() {
    let mut story = watch_story(NINE);
    story
        .script([compaction_call("keep prices"), ModelOutcome::text("Done."), summary_reply()])
        .run_now("routine:watch")
        .advance_time("5s");
    let told = story.transcript();
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("no {words} in {told}"));
    assert!(at("compact_session: compaction is scheduled") < at("assistant: Done."), "{told}");
    assert!(at("assistant: Done.") < at("> compacting"), "{told}");
}

/// RP-14, RP-15, BF-11: the run saves its session and ends.
#[test]
fn test_bg_fork_persistent_saves_session_id() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    let events = story.state_file("session_history.jsonl");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session_id(&story))), "{events}");
    assert_eq!(story.contexts().len(), 1);
    assert!(story.tree().contains("ended)"), "{}", story.tree());
}

/// RP-14, RP-15: the next run continues the stored session and stores the result.
#[test]
fn test_bg_fork_persistent_resumes_existing_session() {
    let mut story = watch_story(NINE);
    story.script([ModelOutcome::text("Bread costs 3.")]).run_now("routine:watch");
    let first = session_id(&story);
    story.script([ModelOutcome::text("Bread costs 4.")]).run_now("routine:watch");
    let said: Vec<String> = story.contexts()[1].entries.iter().map(|said| crate::text_of(said)).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(said[1], "Bread costs 3.");
    assert_eq!(session_id(&story), first, "it went on, it did not branch");
}

/// RP-12: an occurrence during a run is skipped.
#[test]
fn test_bg_fork_persistent_skip_guard() {
    let mut story = watch_story("cron: 1,2 10 16 11 *");
    story.script([ModelOutcome::hang("Looking")]).advance_time("3m");
    assert_eq!(story.contexts().len(), 1);
    assert_eq!(story.state_file("session_history.jsonl"), "");
    assert!(
        story.occurrences().contains("mon 10:02:00 routine:watch try 0 skipped"),
        "{}",
        story.occurrences()
    );
    story.script([ModelOutcome::text("Done.")]).crash().advance_time("5s").run_now("routine:watch");
    assert_eq!(story.contexts().len(), 3);
}

/// RP-15, RP-25: a requested compaction happens after the run with its instructions, and the new
/// session is saved.
#[test]
fn test_bg_fork_persistent_deferred_compact() {
    let mut story = watch_story(NINE);
    story.script([compaction_call("preserve price levels"), ModelOutcome::text("Done."), summary_reply()]);
    story.run_now("routine:watch").advance_time("5s");
    assert!(read_in_request(&story, 2).contains("preserve price levels"), "{}", read_in_request(&story, 2));
    let events = story.state_file("session_history.jsonl");
    assert_eq!(events.lines().count(), 1, "{events}");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session_id(&story))), "{events}");
    story.run_now("routine:watch");
    assert!(
        crate::text_of(&story.contexts()[3].entries[0]).contains("Bread costs 3"),
        "the next run reads the summary"
    );
}

/// PR-2, RP-11: the preamble of a persistent run mentions its session and the compaction tool.
#[test]
fn test_bg_preamble_persistent_session_section() {
    let mut story = watch_story(NINE);
    story.run_now("routine:watch");
    let told = read_in_request(&story, 0);
    assert!(
        told.contains("[routine-bg:watch] SESSION: Persistent") && told.contains("compact_session"),
        "{told}"
    );
}

/// PR-2: the preamble of other runs mentions neither.
#[test]
fn test_bg_preamble_no_persistent_section_by_default() {
    let mut story = plain_story();
    story.run_now("routine:watch");
    let told = read_in_request(&story, 0);
    assert!(!told.contains("compact_session") && !told.to_lowercase().contains("persistent"), "{told}");
}
