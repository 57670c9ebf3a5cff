//! Plans in natural language, and files that change at a bad moment: only the intended plan is
//! affected.

use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{dentist_reminder, mail_routine, session_id, story_at, watch_routine};

/// The model forwards the user's text to the schedule.
fn say_to_schedule(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.script([ModelOutcome::tool_call("schedule", &input), ModelOutcome::text("Yes.")]).user(words);
}

/// Returns the replies of the schedule, one per line.
fn replies(story: &Story) -> String {
    let answers = story.transcript();
    let answers = answers.lines().filter_map(|line| line.strip_prefix("main> schedule: "));
    answers.collect::<Vec<_>>().join("\n")
}

/// `done` and `snooze` refer to the last reminder that rang, never to the next one.
#[test]
fn done_refers_to_the_last_reminder_that_rang() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/call.md", &dentist_reminder("17T10:00", ""));
    say_to_schedule(&mut story, "done");
    say_to_schedule(&mut story, "stretch in 10 min");
    story.script([ModelOutcome::text("Stretch.")]).advance_time("11m");
    say_to_schedule(&mut story, "done");
    say_to_schedule(&mut story, "snooze 1h");
    say_to_schedule(&mut story, "undo");
    say_to_schedule(&mut story, "cancel tis");
    expect![[r#"
        Error: nothing rang in the last two hours. say which one, like `done dentist`; `week` lists what is planned.
        ✓ today 09:09 · in 10 min · stretch
        done: stretch. `undo` takes it back
        ✓ today 10:10 · in 1 h · stretch
        taken back: stretch
        Error: nothing planned is called `tis`. `week` lists what is."#]]
    .assert_eq(&replies(&story));
    assert!(story.has_file("reminders/call.md"), "nobody meant the dentist");
}

/// A name refers to a reminder that has just rung before an upcoming one of the same name.
#[test]
fn done_prefers_the_reminder_that_rang_to_its_namesake() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "meds at 9:05");
    say_to_schedule(&mut story, "meds at 20:00");
    story.script([ModelOutcome::text("Meds.")]).advance_time("7m");
    say_to_schedule(&mut story, "done meds");
    say_to_schedule(&mut story, "today");
    let told = replies(&story);
    assert!(told.contains("done: meds. `undo` takes it back\ntoday 20:00 · "), "{told}");
}

/// `drop it` refers to the last reminder that rang, if that is newer than the last change; dropping
/// differs from completing.
#[test]
fn drop_it_refers_to_the_last_reminder_that_rang() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "stretch in 10 min");
    say_to_schedule(&mut story, "dentist friday 10:00");
    story.script([ModelOutcome::text("Stretch.")]).advance_time("11m");
    say_to_schedule(&mut story, "drop it");
    say_to_schedule(&mut story, "undo");
    say_to_schedule(&mut story, "cancel stretch");
    say_to_schedule(&mut story, "week");
    let told = replies(&story);
    assert!(
        told.contains(
            "dropped: stretch. `undo` takes it back\ntaken back: stretch is still to do.\ndropped: stretch"
        ),
        "{told}"
    );
    assert!(told.contains("· dentist"), "nobody meant the dentist: {told}");
}

/// `undo` does not restore a plan that has rung meanwhile.
#[test]
fn undo_does_not_restore_a_plan_that_rang() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "stretch at 9:30");
    say_to_schedule(&mut story, "move stretch to 9:05");
    story.script([ModelOutcome::text("Stretch.")]).advance_time("7m");
    say_to_schedule(&mut story, "undo");
    let told = replies(&story);
    assert!(told.ends_with("that has rung already, so there is nothing to take back."), "{told}");
    story.advance_time("40m");
    assert_eq!(story.transcript().matches("main> assistant: Stretch.").count(), 1, "{}", story.transcript());
}

/// `today` alone lists the day, also right after a question for a time. `today` as a time yields
/// one in the future.
#[test]
fn today_lists_the_day_and_plans_nothing_in_the_past() {
    let mut story = story_at("16T14:30");
    say_to_schedule(&mut story, "after standup: send notes");
    say_to_schedule(&mut story, "today");
    assert_eq!(story.inbox(), "1. send notes", "a look takes nothing out");
    say_to_schedule(&mut story, "tomorrow");
    say_to_schedule(&mut story, "undo");
    say_to_schedule(&mut story, "move inbox:1 to today");
    let told = replies(&story);
    let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("nothing planned is")).collect();
    expect![[r#"
        [
            "nothing left today.",
            "✓ tue 17 nov 09:00 · in 18 h 30 min · send notes",
            "back in your inbox as 1: send notes",
            "✓ today 17:00 · in 2 h 30 min · send notes",
        ]
    "#]]
    .assert_debug_eq(&told);
    story.advance_time("1m");
    assert_eq!(story.cards(), Vec::<String>::new(), "nothing rings at once");
}

/// An item that was moved back to the inbox is not asked about again, even if it rang meanwhile.
#[test]
fn undone_reminder_is_only_in_the_inbox() {
    let mut story = story_at("16T14:30");
    say_to_schedule(&mut story, "after standup: send notes");
    say_to_schedule(&mut story, "move inbox:1 to 14:40");
    story.script([ModelOutcome::text("Notes.")]).advance_time("11m");
    assert!(story.cards()[0].contains("[Done]"), "{:?}", story.cards());
    say_to_schedule(&mut story, "undo");
    say_to_schedule(&mut story, "what now");
    assert_eq!(story.inbox(), "1. send notes");
    assert!(!story.cards()[0].contains("[Done]"), "{:?}", story.cards());
    assert!(story.transcript().contains("it has waited longest in your inbox"), "{}", story.transcript());
}

/// A command with an unreadable time changes nothing and adds nothing to the inbox.
#[test]
fn unreadable_time_is_reported_and_changes_nothing() {
    let mut story = story_at("16T14:30");
    say_to_schedule(&mut story, "call mum at 17:30");
    for words in ["move mum to purple", "move mum to yesterday", "pause until purple", "move sofa to purple"]
    {
        say_to_schedule(&mut story, words);
    }
    expect![[r#"
        ✓ today 17:30 · in 3 h · call mum
        Error: `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`.
        Error: yesterday is over; say a time to come, like `tomorrow at 9`.
        Error: `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`.
        Error: nothing planned is called `sofa`. `week` lists what is."#]]
    .assert_eq(&replies(&story));
    assert_eq!(story.inbox(), "the inbox is empty.");
}

/// An id takes precedence over a matching name.
#[test]
fn id_takes_precedence_over_a_name() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/call.md", &dentist_reminder("17T10:00", ""));
    let plants = "---\nid: call\nrun-at: \"2026-11-17T09:00:00+01:00\"\n---\nwater the plants\n";
    story.write_file("reminders/plants.md", plants);
    say_to_schedule(&mut story, "done call");
    assert_eq!(replies(&story), "done: water the plants. `undo` takes it back");
}

/// A6: a reminder that rang and was cancelled is not rephrased by the model.
#[test]
fn reminder_cancelled_after_it_rang_is_not_rephrased() {
    let mut story = story_at("16T08:59");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story
        .script([ModelOutcome::hang("Well"), ModelOutcome::text("Gone.")])
        .user_begins("tell me a story")
        .advance_time("62s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.remove_file("reminders/call.md").advance_time("50s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 cancelled: its file is gone");
    assert_eq!(story.cards(), ["~~call the dentist~~ dropped [Undo]"], "nobody asks about it once more");
    story.user_stops().advance_time("1m");
    assert_eq!(story.transcript().matches("⏰ call the dentist").count(), 1, "{}", story.transcript());
    assert!(!story.transcript().contains("Gone."), "{}", story.transcript());
}

/// B8: a reminder's file that is being edited when its run ends is not removed.
#[test]
fn file_being_edited_is_not_removed() {
    let mut story = story_at("16T08:59");
    story.write_file(
        "reminders/call.md",
        &dentist_reminder("16T09:00", "background: true\nupdate-main-session: freely"),
    );
    story.script([ModelOutcome::hang("Well")]).advance_time("2m");
    story.write_file_unnoticed("reminders/call.md", "---\nid: d1\nrun-at: tomorr\n---\ncall her\n");
    story.advance_time("31m");
    assert!(story.occurrences().contains("failed: it timed out"), "{}", story.occurrences());
    assert_eq!(story.read_file("reminders/call.md"), "---\nid: d1\nrun-at: tomorr\n---\ncall her\n");
}

/// RP-29: a job whose file was removed while the program was off is cancelled even if another file
/// is broken. A file without a readable id may be the missing one.
#[test]
fn job_without_a_file_is_cancelled_despite_a_broken_file() {
    for (broken, until_mended) in
        [("---\nid: other\ncron: never\n---\nx\n", "cancelled"), ("\u{0}---", "again")]
    {
        let mut story = story_at("16T08:59:50");
        story.script([ModelOutcome::fail(Failure::VendorError("500".to_owned()))]);
        story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("20s").stop();
        std::fs::remove_file(story.paths().root().join("routines/mail.md")).unwrap();
        story.write_file_unnoticed("routines/other.md", broken).stop_for("10m").advance_time("10s");
        assert!(story.occurrences().contains(until_mended), "{broken:?}: {}", story.occurrences());
        story.remove_file("routines/other.md").advance_time("20s");
        assert!(story.occurrences().ends_with("cancelled: its file is gone"), "{}", story.occurrences());
    }
}

/// RP-29: an unreadable folder ends no session.
#[test]
fn unreadable_folder_ends_no_session() {
    let mut story = story_at("16T10:00");
    story
        .write_file("routines/watch.md", &watch_routine("cron: 0 9 * * *\nupdate-main-session: freely"))
        .advance_time("1s");
    story.script([ModelOutcome::text("Bread costs 3.")]).run_now("routine:watch");
    let before = session_id(&story);
    assert_ne!(before, "");
    let folder = story.paths().root().join("routines");
    story.stop();
    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
    std::fs::write(&folder, "not a folder").unwrap();
    story.stop_for("1m").advance_time("1m");
    assert_eq!(session_id(&story), before);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(folder.with_extension("away"), &folder).unwrap();
    story.advance_time("1m").script([ModelOutcome::text("Bread costs 4.")]).run_now("routine:watch");
    assert_eq!(session_id(&story), before);
}

/// RP-13, RP-16: a session survives a crash before its file was written.
#[test]
fn session_without_a_written_file_is_kept() {
    let mut story = story_at("16T10:00");
    story.write_file("routines/watch.md", &watch_routine("cron: 0 9 * * *\nupdate-main-session: freely"));
    story.write_file(
        "routines/mail.md",
        &mail_routine("cron: 0 9 * * *\nsession: persistent\nupdate-main-session: freely"),
    );
    story.advance_time("1s").script([ModelOutcome::text("Bread costs 3."), ModelOutcome::text("No mail.")]);
    story.run_now("routine:watch").run_now("routine:mail");
    let watch = session_id(&story);
    let mail = story.read_file("state/routine_sessions/mail");
    assert_ne!(watch, mail);
    story.stop();
    let database = rusqlite::Connection::open(story.paths().database()).unwrap();
    database.execute("UPDATE routine_sessions SET filed = NULL WHERE routine = 'watch'", []).unwrap();
    drop(database);
    std::fs::remove_file(story.paths().state().join("routine_sessions/watch")).unwrap();
    std::fs::remove_file(story.paths().state().join("routine_sessions/mail")).unwrap();
    story.stop_for("1m");
    assert_eq!(session_id(&story), watch, "it died before its file was written");
    assert_eq!(story.read_file("state/routine_sessions/mail"), "", "somebody took its file away");
}

/// Undoing a move keeps everything else in the file as the user wrote it.
#[test]
fn undoing_a_move_keeps_the_rest_of_the_file() {
    let mut story = story_at("16T08:59");
    let file = dentist_reminder("17T10:00", "# my own words\ndescription: \"the dentist\"\n");
    story.write_file("reminders/call.md", &file).advance_time("1s");
    say_to_schedule(&mut story, "move dentist to thursday 11:00");
    assert_ne!(story.read_file("reminders/call.md"), file);
    say_to_schedule(&mut story, "undo");
    story.advance_time("1s");
    assert_eq!(story.list_files("reminders"), ["call.md"]);
    let after = story.read_file("reminders/call.md");
    assert!(after.contains("# my own words") && after.contains("2026-11-17T10:00:00"), "{after}");
    assert!(
        replies(&story).ends_with("✓ tue 17 nov 10:00 · in 25 h 1 min · the dentist"),
        "{}",
        replies(&story)
    );
}
