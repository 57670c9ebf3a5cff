//! Plans in natural language, and files that change at a bad moment: only the intended plan is
//! affected.

use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{at, dentist, mail, persistent, session};

/// The model forwards the user's text to the schedule.
fn said(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.model([Line::calls("schedule", &input), Line::says("Yes.")]).human(words);
}

/// Returns the replies of the schedule, one per line.
fn answers(story: &Story) -> String {
    let answers = story.told();
    let answers = answers.lines().filter_map(|line| line.strip_prefix("main> schedule: "));
    answers.collect::<Vec<_>>().join("\n")
}

/// `done` and `snooze` refer to the last reminder that rang, never to the next one.
#[test]
fn it_is_what_rang_and_not_what_comes_next() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("17T10:00", ""));
    said(&mut story, "done");
    said(&mut story, "stretch in 10 min");
    story.model([Line::says("Stretch.")]).passes("11m");
    said(&mut story, "done");
    said(&mut story, "snooze 1h");
    said(&mut story, "undo");
    said(&mut story, "cancel tis");
    expect![[r#"
        Error: nothing rang in the last two hours. say which one, like `done dentist`; `week` lists what is planned.
        ✓ today 09:09 · in 10 min · stretch
        done: stretch. `undo` takes it back
        ✓ today 10:10 · in 1 h · stretch
        taken back: stretch
        Error: nothing planned is called `tis`. `week` lists what is."#]]
    .assert_eq(&answers(&story));
    assert!(story.has_file("reminders/call.md"), "nobody meant the dentist");
}

/// A name refers to a reminder that has just rung before an upcoming one of the same name.
#[test]
fn what_rang_is_done_and_not_its_namesake_of_tonight() {
    let mut story = at("16T08:59");
    said(&mut story, "meds at 9:05");
    said(&mut story, "meds at 20:00");
    story.model([Line::says("Meds.")]).passes("7m");
    said(&mut story, "done meds");
    said(&mut story, "today");
    let told = answers(&story);
    assert!(told.contains("done: meds. `undo` takes it back\ntoday 20:00 · "), "{told}");
}

/// `drop it` refers to the last reminder that rang, if that is newer than the last change; dropping
/// differs from completing.
#[test]
fn what_rang_is_dropped_and_not_what_was_planned_before() {
    let mut story = at("16T08:59");
    said(&mut story, "stretch in 10 min");
    said(&mut story, "dentist friday 10:00");
    story.model([Line::says("Stretch.")]).passes("11m");
    said(&mut story, "drop it");
    said(&mut story, "undo");
    said(&mut story, "cancel stretch");
    said(&mut story, "week");
    let told = answers(&story);
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
fn undo_does_not_bring_back_what_has_rung() {
    let mut story = at("16T08:59");
    said(&mut story, "stretch at 9:30");
    said(&mut story, "move stretch to 9:05");
    story.model([Line::says("Stretch.")]).passes("7m");
    said(&mut story, "undo");
    let told = answers(&story);
    assert!(told.ends_with("that has rung already, so there is nothing to take back."), "{told}");
    story.passes("40m");
    assert_eq!(story.told().matches("main> assistant: Stretch.").count(), 1, "{}", story.told());
}

/// `today` alone lists the day, also right after a question for a time. `today` as a time yields
/// one in the future.
#[test]
fn listing_the_day_plans_nothing_and_nothing_is_planned_in_the_past() {
    let mut story = at("16T14:30");
    said(&mut story, "after standup: send notes");
    said(&mut story, "today");
    assert_eq!(story.inbox(), "1. send notes", "a look takes nothing out");
    said(&mut story, "tomorrow");
    said(&mut story, "undo");
    said(&mut story, "move inbox:1 to today");
    let told = answers(&story);
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
    story.passes("1m");
    assert_eq!(story.cards(), Vec::<String>::new(), "nothing rings at once");
}

/// An item that was moved back to the inbox is not asked about again, even if it rang meanwhile.
#[test]
fn what_rang_and_is_taken_back_is_in_the_inbox_alone() {
    let mut story = at("16T14:30");
    said(&mut story, "after standup: send notes");
    said(&mut story, "move inbox:1 to 14:40");
    story.model([Line::says("Notes.")]).passes("11m");
    assert!(story.cards()[0].contains("[Done]"), "{:?}", story.cards());
    said(&mut story, "undo");
    said(&mut story, "what now");
    assert_eq!(story.inbox(), "1. send notes");
    assert!(!story.cards()[0].contains("[Done]"), "{:?}", story.cards());
    assert!(story.told().contains("it has waited longest in your inbox"), "{}", story.told());
}

/// A command with an unreadable time changes nothing and adds nothing to the inbox.
#[test]
fn a_time_that_cannot_be_read_is_told_and_nothing_is_kept() {
    let mut story = at("16T14:30");
    said(&mut story, "call mum at 17:30");
    for words in ["move mum to purple", "move mum to yesterday", "pause until purple", "move sofa to purple"]
    {
        said(&mut story, words);
    }
    expect![[r#"
        ✓ today 17:30 · in 3 h · call mum
        Error: `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`.
        Error: yesterday is over; say a time to come, like `tomorrow at 9`.
        Error: `purple` is no time that i know; say one like `thu 11` or `tomorrow evening`.
        Error: nothing planned is called `sofa`. `week` lists what is."#]]
    .assert_eq(&answers(&story));
    assert_eq!(story.inbox(), "the inbox is empty.");
}

/// An id takes precedence over a matching name.
#[test]
fn an_id_is_not_taken_for_a_name() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("17T10:00", ""));
    let plants = "---\nid: call\nrun-at: \"2026-11-17T09:00:00+01:00\"\n---\nwater the plants\n";
    story.file("reminders/plants.md", plants);
    said(&mut story, "done call");
    assert_eq!(answers(&story), "done: water the plants. `undo` takes it back");
}

/// A6: a reminder that rang and was cancelled is not rephrased by the model.
#[test]
fn what_is_called_off_after_it_rang_is_not_put_in_words() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::holds("Well"), Line::says("Gone.")]).human_begins("tell me a story").passes("62s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.file_gone("reminders/call.md").passes("50s");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 cancelled: its file is gone");
    assert_eq!(story.cards(), ["~~call the dentist~~ dropped [Undo]"], "nobody asks about it once more");
    story.human_stops().passes("1m");
    assert_eq!(story.told().matches("⏰ call the dentist").count(), 1, "{}", story.told());
    assert!(!story.told().contains("Gone."), "{}", story.told());
}

/// B8: a reminder's file that is being edited when its run ends is not removed.
#[test]
fn a_file_that_is_being_edited_is_not_taken_away() {
    let mut story = at("16T08:59");
    story.file("reminders/call.md", &dentist("16T09:00", "background: true\nupdate-main-session: freely"));
    story.model([Line::holds("Well")]).passes("2m");
    story.file_unseen("reminders/call.md", "---\nid: d1\nrun-at: tomorr\n---\ncall her\n");
    story.passes("31m");
    assert!(story.occurrences().contains("failed: it timed out"), "{}", story.occurrences());
    assert_eq!(story.reads_file("reminders/call.md"), "---\nid: d1\nrun-at: tomorr\n---\ncall her\n");
}

/// RP-29: a job whose file was removed while the program was off is cancelled even if another file
/// is broken. A file without a readable id may be the missing one.
#[test]
fn what_has_no_file_is_called_off_though_another_cannot_be_read() {
    for (broken, until_mended) in
        [("---\nid: other\ncron: never\n---\nx\n", "cancelled"), ("\u{0}---", "again")]
    {
        let mut story = at("16T08:59:50");
        story.model([Line::fails(Failure::Broken("500".to_owned()))]);
        story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("20s").die();
        std::fs::remove_file(story.paths().root().join("routines/mail.md")).unwrap();
        story.file_unseen("routines/other.md", broken).away("10m").passes("10s");
        assert!(story.occurrences().contains(until_mended), "{broken:?}: {}", story.occurrences());
        story.file_gone("routines/other.md").passes("20s");
        assert!(story.occurrences().ends_with("cancelled: its file is gone"), "{}", story.occurrences());
    }
}

/// RP-29: an unreadable folder ends no session.
#[test]
fn a_folder_that_cannot_be_read_takes_nothing_away() {
    let mut story = at("16T10:00");
    story.file("routines/watch.md", &persistent("cron: 0 9 * * *\nupdate-main-session: freely")).passes("1s");
    story.model([Line::says("Bread costs 3.")]).runs_now("routine:watch");
    let before = session(&story);
    assert_ne!(before, "");
    let folder = story.paths().root().join("routines");
    story.die();
    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
    std::fs::write(&folder, "not a folder").unwrap();
    story.away("1m").passes("1m");
    assert_eq!(session(&story), before);
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(folder.with_extension("away"), &folder).unwrap();
    story.passes("1m").model([Line::says("Bread costs 4.")]).runs_now("routine:watch");
    assert_eq!(session(&story), before);
}

/// RP-13, RP-16: a session survives a crash before its file was written.
#[test]
fn a_session_whose_file_did_not_follow_is_kept() {
    let mut story = at("16T10:00");
    story.file("routines/watch.md", &persistent("cron: 0 9 * * *\nupdate-main-session: freely"));
    story
        .file("routines/mail.md", &mail("cron: 0 9 * * *\nsession: persistent\nupdate-main-session: freely"));
    story.passes("1s").model([Line::says("Bread costs 3."), Line::says("No mail.")]);
    story.runs_now("routine:watch").runs_now("routine:mail");
    let watch = session(&story);
    let mail = story.reads_file("state/routine_sessions/mail");
    assert_ne!(watch, mail);
    story.die();
    let database = rusqlite::Connection::open(story.paths().database()).unwrap();
    database.execute("UPDATE routine_sessions SET filed = NULL WHERE routine = 'watch'", []).unwrap();
    drop(database);
    std::fs::remove_file(story.paths().state().join("routine_sessions/watch")).unwrap();
    std::fs::remove_file(story.paths().state().join("routine_sessions/mail")).unwrap();
    story.away("1m");
    assert_eq!(session(&story), watch, "it died before its file was written");
    assert_eq!(story.reads_file("state/routine_sessions/mail"), "", "somebody took its file away");
}

/// Undoing a move keeps everything else in the file as the user wrote it.
#[test]
fn moving_back_leaves_the_file_as_it_was() {
    let mut story = at("16T08:59");
    let file = dentist("17T10:00", "# my own words\ndescription: \"the dentist\"\n");
    story.file("reminders/call.md", &file).passes("1s");
    said(&mut story, "move dentist to thursday 11:00");
    assert_ne!(story.reads_file("reminders/call.md"), file);
    said(&mut story, "undo");
    story.passes("1s");
    assert_eq!(story.files("reminders"), ["call.md"]);
    let after = story.reads_file("reminders/call.md");
    assert!(after.contains("# my own words") && after.contains("2026-11-17T10:00:00"), "{after}");
    assert!(
        answers(&story).ends_with("✓ tue 17 nov 10:00 · in 25 h 1 min · the dentist"),
        "{}",
        answers(&story)
    );
}
