//! Reminders that wait for an event: they ring once when it happens, and can be changed like any
//! other plan.

use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::{Story, Trouble};

use crate::{at, dentist, read};

const STANDUP: &str = "---\nid: st\nrun-at: \"2026-11-16T09:45:00+01:00\"\n---\nstandup\n";
const NOTES: &str =
    "---\nid: no\nrun-at: \"2026-11-16T08:00:00+01:00\"\ncue: \"after standup\"\n---\nsend notes\n";
const LISBON: &str =
    "---\nid: li\nrun-at: \"2026-11-16T08:00:00+01:00\"\ncue: \"next-talk\"\n---\nask about lisbon\n";

/// The model forwards the user's text to the schedule.
fn said(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.model([Line::calls("schedule", &input), Line::says("Yes.")]).human(words);
}

fn answers(story: &Story) -> String {
    let told = story.told();
    let answers = told.lines().filter_map(|line| line.strip_prefix("main> schedule: "));
    answers.collect::<Vec<_>>().join("\n")
}

/// A reminder with the cue `after standup` rings after standup has ended, and not before.
#[test]
fn what_comes_after_something_rings_when_that_has_ended() {
    let mut story = at("16T08:59");
    story.file("reminders/standup.md", STANDUP);
    said(&mut story, "after standup: send notes");
    assert_eq!(answers(&story), "✓ after standup · send notes");
    let file = story.reads_file("reminders/send-notes.md");
    assert!(file.contains("cue: \"after standup\"") && file.ends_with("send notes\n"), "{file}");
    story.passes("40m");
    assert_eq!(story.occurrences(), "", "not before it");
    story.model([Line::says("Standup!"), Line::says("Now the notes.")]).passes("10m");
    let told = story.told();
    assert!(
        told.contains("Standup!\nmain> assistant: ⏰ send notes\nmain> assistant: Now the notes."),
        "{told}"
    );
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    story.crash().passes("1h");
    assert_eq!(story.told().matches("Now the notes.").count(), 1, "and once");
}

/// A plan that the user completes early counts as ended; a cancelled one does not.
#[test]
fn what_is_done_early_has_ended_and_what_is_cancelled_has_not() {
    let mut story = at("16T08:59");
    story.file("reminders/standup.md", STANDUP).file("reminders/notes.md", NOTES);
    story.model([
        Line::calls("schedule", r#"{"words":"done standup"}"#),
        Line::says("Done."),
        Line::says("Notes!"),
    ]);
    story.human("done standup").passes("10s");
    assert!(story.told().contains("main> assistant: Done.\nmain> assistant: Notes!\n"), "{}", story.told());

    let mut story = at("16T08:59");
    story.file("reminders/standup.md", STANDUP).file("reminders/notes.md", NOTES);
    said(&mut story, "cancel standup");
    story.passes("2h");
    assert_eq!(story.files("reminders"), ["notes.md"], "it still waits");
    let told = "nothing planned is called `standup` any more, so `send notes` does not ring by itself.";
    assert_eq!(story.told().matches(told).count(), 1, "and the human knows: {}", story.told());
    said(&mut story, "today");
    said(&mut story, "move notes to 15:00");
    assert!(!story.reads_file("reminders/notes.md").contains("cue"), "it goes by the clock now");
    said(&mut story, "undo");
    said(&mut story, "cancel notes");
    expect![[r#"
        cancelled: standup. `undo` brings it back
        after standup · send notes
        ✓ today 15:00 · in 4 h 1 min · send notes
        ✓ after standup · send notes
        cancelled: send notes. `undo` brings it back"#]]
    .assert_eq(&answers(&story));
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// A reminder after an event that is not planned is stored in the inbox, and the reply says so.
#[test]
fn what_waits_for_something_unknown_is_kept() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("17T10:00", ""));
    said(&mut story, "after standup: send notes");
    let told = answers(&story);
    assert!(told.starts_with("nothing planned is called `standup`"), "{told}");
    assert_eq!(story.files("reminders"), ["call.md"]);
    assert!(story.told().contains("kept in your inbox as 1 · send notes"), "{}", story.told());
}

/// The cue `next-talk` rings after the answer to the user's next message, and the model reads it as
/// a reminder.
#[test]
fn the_next_talk_brings_up_what_waited_for_it() {
    let mut story = at("16T08:59");
    story.file("reminders/lisbon.md", LISBON).passes("2h");
    assert_eq!(story.occurrences(), "");
    story.model([Line::says("Morning."), Line::says("How was Lisbon?")]).human("good morning").passes("10s");
    assert!(
        story.told().contains("main> assistant: Morning.\nmain> assistant: How was Lisbon?\n"),
        "{}",
        story.told()
    );
    assert_eq!(read(&story, 1), "[2026-11-16 Mon 10:59 AM CET] [reminder:li]\n\nask about lisbon");
    story.model([Line::says("Yes?")]).human("and now?").passes("10s");
    assert_eq!(story.contexts().len(), 3, "once");
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// A reminder with a cue rings once for a crash at any write.
#[test]
fn what_was_waited_for_rings_once_whenever_the_program_dies() {
    for (nth, trouble) in (1..=6).flat_map(|nth| [(nth, Trouble::DiesBefore), (nth, Trouble::DiesAfter)]) {
        let mut story = at("16T08:59");
        story.file("reminders/lisbon.md", LISBON).passes("1m");
        story.model((0..9).map(|_| Line::says("Well.")));
        story
            .trouble(nth, trouble)
            .human("good morning")
            .crash()
            .passes("2m")
            .human("still there?")
            .passes("2m");
        let done = story.occurrences();
        assert_eq!(done.matches("reminder:li").count(), 1, "{nth} {trouble:?}: {done}\n{}", story.told());
        assert!(done.ends_with("done"), "{nth} {trouble:?}: {done}");
        assert_eq!(story.files("reminders"), Vec::<String>::new(), "{nth} {trouble:?}");
    }
}
