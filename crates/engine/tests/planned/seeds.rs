//! What was first asked of persistent routines, check by check and under the names it was asked with.

use testkit::puppet::Line;
use testkit::story::{Story, forked};

use crate::{at, compacts, persistent, read, session, summary};

const NINE: &str = "cron: 0 9 * * *";

/// A story with the routine `watch`, which has these lines in its head.
fn watch(head: &str) -> Story {
    let mut story = at("16T10:00");
    story.file("routines/watch.md", &persistent(head)).passes("1s");
    story
}

/// The same routine without a session of its own.
fn plain() -> Story {
    let mut story = at("16T10:00");
    let text = persistent(NINE).replace("session: persistent\n", "");
    story.file("routines/watch.md", &text).passes("1s");
    story
}

/// What is wrong with the routine's file, as the human is told.
fn wrong(text: &str) -> String {
    let mut story = at("16T10:00");
    story.file("routines/watch.md", text).passes("11s");
    story
        .told()
        .lines()
        .find(|line| line.starts_with("notice> routines/watch.md"))
        .unwrap_or_default()
        .to_owned()
}

/// DD-41, RP-1: a routine has no session of its own unless its file says so.
#[test]
fn test_routine_new_defaults_session_none() {
    let mut story = plain();
    story.runs_now("routine:watch").runs_now("routine:watch");
    assert_eq!(story.files("state/routine_sessions"), Vec::<String>::new());
    assert_eq!(story.contexts()[1].said.len(), 1, "the second run knows nothing of the first");
}

/// DD-37, RP-2: a background routine may have one.
#[test]
fn test_routine_new_with_session_persistent() {
    assert_eq!(wrong(&persistent(NINE)), "");
}

/// DD-37, RP-2: one on main may not, and its file is told so.
#[test]
fn test_routine_session_requires_background() {
    let told = wrong(&persistent(NINE).replace("background: true\n", ""));
    assert!(told.contains("session") && told.contains("background"), "{told}");
}

/// DD-37, RP-2: one that is isolated may not either.
#[test]
fn test_routine_session_mutex_with_isolated() {
    let told = wrong(&persistent(&format!("{NINE}\nisolated: true")));
    assert!(told.contains("session") && told.contains("isolated"), "{told}");
}

/// RP-4: what its file says is what holds, and a run changes nothing in it.
#[test]
fn test_routine_session_roundtrip() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    assert_eq!(story.reads_file("routines/watch.md"), persistent(NINE));
    assert_eq!(session(&story), session(story.crash().runs_now("routine:watch")));
}

/// RP-4, DD-25: a file without the line stays without it.
#[test]
fn test_routine_session_none_omitted_from_frontmatter() {
    let mut story = plain();
    story.runs_now("routine:watch");
    assert!(!story.reads_file("routines/watch.md").contains("session"));
}

/// RP-6: before the first run there is no session.
#[test]
fn test_load_persistent_session_missing() {
    let mut story = watch(NINE);
    assert_eq!(session(&story), "");
    story.crash().runs_now("routine:watch");
    assert_eq!(story.contexts()[0].said.len(), 1);
}

/// RP-5, RP-7: the session is in the routine's file, bare, and is found again.
#[test]
fn test_save_and_load_persistent_session() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    let saved = session(&story);
    assert!(saved.len() == 36 && saved.chars().all(|one| one == '-' || one.is_ascii_hexdigit()), "{saved}");
    assert_eq!(story.files("state/routine_sessions"), ["watch"]);
    story.crash().runs_now("routine:watch");
    assert_eq!(story.contexts()[1].said.len(), 3, "the second run knows the first");
}

/// RP-7, RP-15: what is saved later takes its place.
#[test]
fn test_save_persistent_session_overwrites() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    let first = session(&story);
    story
        .model([compacts("keep prices"), Line::says("Done."), summary()])
        .runs_now("routine:watch")
        .passes("5s");
    assert_ne!(session(&story), first, "{}", story.told());
    assert_eq!(story.files("state/routine_sessions"), ["watch"]);
}

/// RP-8, RP-28: when the routine is gone, so is its session.
#[test]
fn test_delete_persistent_session() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch").file_gone("routines/watch.md").passes("20s");
    assert_eq!(story.files("state/routine_sessions"), Vec::<String>::new());
}

/// RP-8: a routine that had none leaves none, and nobody is told anything.
#[test]
fn test_delete_persistent_session_missing() {
    let mut story = watch(NINE);
    story.file_gone("routines/watch.md").passes("20s");
    assert!(!story.told().contains("notice>"), "{}", story.told());
}

/// RP-22: a run that is not that of a persistent routine has no session to compact.
#[test]
fn test_persistent_routine_id_default_none() {
    let mut story = at("16T10:00");
    story.model([compacts("keep all"), Line::says("Done.")]).background(forked("routine:mail", "Triage."));
    assert!(story.told().contains("compact_session: Error"), "{}", story.told());
}

/// RP-12, RP-22: it holds for the run of that routine, and not any more after it.
#[test]
fn test_set_and_get_persistent_routine_id() {
    let mut story = watch(NINE);
    story
        .model([compacts("keep prices"), Line::says("Done."), summary()])
        .runs_now("routine:watch")
        .passes("5s");
    story.model([compacts("keep all"), Line::says("Done.")]).background(forked("routine:mail", "Triage."));
    assert_eq!(
        story.told().matches("compact_session: compaction is scheduled").count(),
        1,
        "{}",
        story.told()
    );
    assert_eq!(story.told().matches("compact_session: Error").count(), 1, "{}", story.told());
}

/// RP-12: nothing keeps the first run from beginning, nor one after another.
#[test]
fn test_active_persistent_guard() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch").runs_now("routine:watch");
    assert_eq!(story.contexts().len(), 2);
}

/// RP-24, RP-25: without a wish nothing is compacted.
#[test]
fn test_compact_request_default_none() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch").passes("5s");
    assert!(!story.told().contains("compact"), "{}", story.told());
}

/// RP-24: the last wish counts, once.
#[test]
fn test_set_and_pop_compact_request() {
    let mut story = watch(NINE);
    story.model([compacts("keep everything"), compacts("keep prices"), Line::says("Done."), summary()]);
    story.runs_now("routine:watch").passes("5s");
    assert_eq!(story.told().matches("> compacting").count(), 1, "{}", story.told());
    let asked = read(&story, 3);
    assert!(asked.contains("keep prices") && !asked.contains("keep everything"), "{asked}");
    story.runs_now("routine:watch").passes("5s");
    assert_eq!(story.told().matches("> compacting").count(), 1, "{}", story.told());
}

/// RP-22: outside a persistent run the tool changes nothing.
#[test]
fn test_compact_session_blocked_outside_persistent() {
    let mut story = at("16T10:00");
    story.model([compacts("keep everything"), Line::says("Well.")]).human("compact yourself");
    let told = story.told();
    let result = told.lines().find(|line| line.contains("compact_session: ")).unwrap_or_default();
    assert!(result.contains("Error") && result.contains("persistent routine"), "{told}");
    assert!(!told.contains("> compacting"), "{told}");
}

/// EN-6, RP-21, RP-23: inside one it is scheduled, and happens after the run has answered.
#[test]
fn test_compact_session_sets_request() {
    let mut story = watch(NINE);
    story
        .model([compacts("keep prices"), Line::says("Done."), summary()])
        .runs_now("routine:watch")
        .passes("5s");
    let told = story.told();
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("no {words} in {told}"));
    assert!(at("compact_session: compaction is scheduled") < at("assistant: Done."), "{told}");
    assert!(at("assistant: Done.") < at("> compacting"), "{told}");
}

/// RP-14, RP-15, BF-11: the run saves its session, and is over.
#[test]
fn test_bg_fork_persistent_saves_session_id() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    let events = story.state("session_history.jsonl");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session(&story))), "{events}");
    assert_eq!(story.contexts().len(), 1);
    assert!(story.tree().contains("ended)"), "{}", story.tree());
}

/// RP-14, RP-15: the next run goes on from the session that is stored, and stores what it leaves.
#[test]
fn test_bg_fork_persistent_resumes_existing_session() {
    let mut story = watch(NINE);
    story.model([Line::says("Bread costs 3.")]).runs_now("routine:watch");
    let first = session(&story);
    story.model([Line::says("Bread costs 4.")]).runs_now("routine:watch");
    let said: Vec<String> = story.contexts()[1].said.iter().map(|said| crate::words(said)).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(said[1], "Bread costs 3.");
    assert_eq!(session(&story), first, "it went on, it did not branch");
}

/// RP-12: a second fire while one goes on does nothing at all.
#[test]
fn test_bg_fork_persistent_skip_guard() {
    let mut story = watch("cron: 1,2 10 16 11 *");
    story.model([Line::holds("Looking")]).passes("3m");
    assert_eq!(story.contexts().len(), 1);
    assert_eq!(story.state("session_history.jsonl"), "");
    assert!(
        story.occurrences().contains("mon 10:02:00 routine:watch try 0 skipped"),
        "{}",
        story.occurrences()
    );
    story.model([Line::says("Done.")]).crash().passes("5s").runs_now("routine:watch");
    assert_eq!(story.contexts().len(), 3);
}

/// RP-15, RP-25: a wish during the run is done afterwards, with its words, and the session after it is saved.
#[test]
fn test_bg_fork_persistent_deferred_compact() {
    let mut story = watch(NINE);
    story.model([compacts("preserve price levels"), Line::says("Done."), summary()]);
    story.runs_now("routine:watch").passes("5s");
    assert!(read(&story, 2).contains("preserve price levels"), "{}", read(&story, 2));
    let events = story.state("session_history.jsonl");
    assert_eq!(events.lines().count(), 1, "{events}");
    assert!(events.contains(&format!(r#""session_id":"{}""#, session(&story))), "{events}");
    story.runs_now("routine:watch");
    assert!(
        crate::words(&story.contexts()[3].said[0]).contains("Bread costs 3"),
        "the next run reads the summary"
    );
}

/// PR-2, RP-11: a persistent run reads that it is one, and which tool shortens it.
#[test]
fn test_bg_preamble_persistent_session_section() {
    let mut story = watch(NINE);
    story.runs_now("routine:watch");
    let told = read(&story, 0);
    assert!(
        told.contains("[routine-bg:watch] SESSION: Persistent") && told.contains("compact_session"),
        "{told}"
    );
}

/// PR-2: another run reads neither.
#[test]
fn test_bg_preamble_no_persistent_section_by_default() {
    let mut story = plain();
    story.runs_now("routine:watch");
    let told = read(&story, 0);
    assert!(!told.contains("compact_session") && !told.to_lowercase().contains("persistent"), "{told}");
}
