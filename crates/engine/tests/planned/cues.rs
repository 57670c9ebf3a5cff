//! Reminders that wait for an event: they ring once when it happens, and can be changed like any
//! other plan.

use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{JournalFault, Story};

use crate::{dentist_reminder, read_in_request, story_at};

const STANDUP: &str = "---\nid: st\nrun-at: \"2026-11-16T09:45:00+01:00\"\n---\nstandup\n";
const NOTES: &str =
    "---\nid: no\nrun-at: \"2026-11-16T08:00:00+01:00\"\ncue: \"after standup\"\n---\nsend notes\n";
const LISBON: &str =
    "---\nid: li\nrun-at: \"2026-11-16T08:00:00+01:00\"\ncue: \"next-talk\"\n---\nask about lisbon\n";

/// The model forwards the user's text to the schedule.
fn say_to_schedule(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.script([ModelOutcome::tool_call("schedule", &input), ModelOutcome::text("Yes.")]).user(words);
}

fn replies(story: &Story) -> String {
    let told = story.transcript();
    let answers = told.lines().filter_map(|line| line.strip_prefix("main> schedule: "));
    answers.collect::<Vec<_>>().join("\n")
}

/// A reminder with the cue `after standup` rings after standup has ended, and not before.
#[test]
fn reminder_after_an_event_rings_when_it_has_ended() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/standup.md", STANDUP);
    say_to_schedule(&mut story, "after standup: send notes");
    assert_eq!(replies(&story), "✓ after standup · send notes");
    let file = story.read_file("reminders/send-notes.md");
    assert!(file.contains("cue: \"after standup\"") && file.ends_with("send notes\n"), "{file}");
    story.advance_time("40m");
    assert_eq!(story.occurrences(), "", "not before it");
    story.script([ModelOutcome::text("Standup!"), ModelOutcome::text("Now the notes.")]).advance_time("10m");
    let told = story.transcript();
    assert!(
        told.contains("Standup!\nmain> assistant: ⏰ send notes\nmain> assistant: Now the notes."),
        "{told}"
    );
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    story.crash().advance_time("1h");
    assert_eq!(story.transcript().matches("Now the notes.").count(), 1, "and once");
}

/// A plan that the user completes early counts as ended; a cancelled one does not.
#[test]
fn completed_plan_has_ended_and_cancelled_one_has_not() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/standup.md", STANDUP).write_file("reminders/notes.md", NOTES);
    story.script([
        ModelOutcome::tool_call("schedule", r#"{"words":"done standup"}"#),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Notes!"),
    ]);
    story.user("done standup").advance_time("10s");
    assert!(
        story.transcript().contains("main> assistant: Done.\nmain> assistant: Notes!\n"),
        "{}",
        story.transcript()
    );

    let mut story = story_at("16T08:59");
    story.write_file("reminders/standup.md", STANDUP).write_file("reminders/notes.md", NOTES);
    say_to_schedule(&mut story, "cancel standup");
    story.advance_time("2h");
    assert_eq!(story.list_files("reminders"), ["notes.md"], "it still waits");
    let told = "nothing planned is called `standup` any more, so `send notes` does not ring by itself.";
    assert_eq!(story.transcript().matches(told).count(), 1, "and the human knows: {}", story.transcript());
    say_to_schedule(&mut story, "today");
    say_to_schedule(&mut story, "move notes to 15:00");
    assert!(!story.read_file("reminders/notes.md").contains("cue"), "it goes by the clock now");
    say_to_schedule(&mut story, "undo");
    say_to_schedule(&mut story, "cancel notes");
    expect![[r#"
        cancelled: standup. `undo` brings it back
        after standup · send notes
        ✓ today 15:00 · in 4 h 1 min · send notes
        ✓ after standup · send notes
        cancelled: send notes. `undo` brings it back"#]]
    .assert_eq(&replies(&story));
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// A reminder after an event that is not planned is stored in the inbox, and the reply says so.
#[test]
fn reminder_after_an_unknown_event_goes_to_the_inbox() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/call.md", &dentist_reminder("17T10:00", ""));
    say_to_schedule(&mut story, "after standup: send notes");
    let told = replies(&story);
    assert!(told.starts_with("nothing planned is called `standup`"), "{told}");
    assert_eq!(story.list_files("reminders"), ["call.md"]);
    assert!(story.transcript().contains("kept in your inbox as 1 · send notes"), "{}", story.transcript());
}

/// The cue `next-talk` rings after the answer to the user's next message, and the model reads it as
/// a reminder.
#[test]
fn next_talk_cue_rings_after_the_next_message() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/lisbon.md", LISBON).advance_time("2h");
    assert_eq!(story.occurrences(), "");
    story
        .script([ModelOutcome::text("Morning."), ModelOutcome::text("How was Lisbon?")])
        .user("good morning")
        .advance_time("10s");
    assert!(
        story.transcript().contains("main> assistant: Morning.\nmain> assistant: How was Lisbon?\n"),
        "{}",
        story.transcript()
    );
    assert_eq!(read_in_request(&story, 1), "[2026-11-16 Mon 10:59 AM CET] [reminder:li]\n\nask about lisbon");
    story.script([ModelOutcome::text("Yes?")]).user("and now?").advance_time("10s");
    assert_eq!(story.contexts().len(), 3, "once");
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// A reminder with a cue rings once for a crash at any write.
#[test]
fn cued_reminder_rings_once_wherever_the_program_crashes() {
    for (nth, trouble) in
        (1..=6).flat_map(|nth| [(nth, JournalFault::CrashBefore), (nth, JournalFault::CrashAfter)])
    {
        let mut story = story_at("16T08:59");
        story.write_file("reminders/lisbon.md", LISBON).advance_time("1m");
        story.script((0..9).map(|_| ModelOutcome::text("Well.")));
        story
            .inject_journal_fault(nth, trouble)
            .user("good morning")
            .crash()
            .advance_time("2m")
            .user("still there?")
            .advance_time("2m");
        let done = story.occurrences();
        assert_eq!(
            done.matches("reminder:li").count(),
            1,
            "{nth} {trouble:?}: {done}\n{}",
            story.transcript()
        );
        assert!(done.ends_with("done"), "{nth} {trouble:?}: {done}");
        assert_eq!(story.list_files("reminders"), Vec::<String>::new(), "{nth} {trouble:?}");
    }
}
