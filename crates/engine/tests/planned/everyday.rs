//! Everyday use of plans: listing, completing and undoing changes.

use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::at;

/// Forwards the user's text to the schedule. Returns the reply.
fn said(story: &mut Story, words: &str) -> String {
    let input = format!(r#"{{"words":"{words}"}}"#);
    let before = story.told().len();
    story.model([Line::calls("schedule", &input), Line::says("Yes.")]).human(words);
    let told = story.told()[before..].to_owned();
    let (_, answer) = told.split_once("main> schedule: ").unwrap_or_else(|| panic!("no answer: {told}"));
    answer.split_once("\nmain> ").map_or(answer, |(answer, _)| answer).to_owned()
}

/// Changes are undone one by one, the last one first, also after a restart, until none is left.
#[test]
fn changes_are_taken_back_one_after_the_other() {
    let mut story = at("16T08:59");
    said(&mut story, "first friday 9:00");
    said(&mut story, "second friday 9:30");
    said(&mut story, "move first to friday 10:00");
    said(&mut story, "cancel first");
    story.crash();
    let told: Vec<String> = (0..5).map(|_| said(&mut story, "undo")).collect();
    expect![[r#"
        ✓ fri 20 nov 10:00 · in 4 days · first
        ✓ fri 20 nov 09:00 · in 4 days · first
        taken back: second
        taken back: first
        Error: there is nothing left to take back: i keep the last 10 changes in mind, for 24 hours."#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// Changes older than 24 hours cannot be undone.
#[test]
fn what_was_changed_yesterday_stays() {
    let mut story = at("16T08:59");
    said(&mut story, "dentist friday 9:00");
    story.passes("25h");
    assert!(said(&mut story, "undo").starts_with("Error: there is nothing left to take back"));
    assert_eq!(said(&mut story, "when is dentist"), "fri 20 nov 09:00 · in 3 days · dentist");
}

/// A pause or a setting cannot be undone, and no older change is undone instead.
#[test]
fn what_cannot_be_taken_back_is_told_and_nothing_older_goes() {
    let mut story = at("16T08:59");
    said(&mut story, "first friday 9:00");
    said(&mut story, "pause");
    let paused = said(&mut story, "undo");
    story.human_commands("/config quiet 21-7");
    let set = said(&mut story, "undo");
    expect![[r#"
        Error: the last change was that all that repeats rests. `resume` lets it go on.
        Error: the last change was to the setting `quiet`, and i take back only what is planned or kept. `config quiet VALUE` sets it."#]]
    .assert_eq(&format!("{paused}\n{set}"));
    assert_eq!(said(&mut story, "when is first"), "fri 20 nov 09:00 · in 4 days · first");
}

/// A list is complete: several times of one day are one line.
#[test]
fn a_list_leaves_no_time_out() {
    let mut story = at("17T20:00");
    let told = [
        said(&mut story, "drink every hour 10-16"),
        said(&mut story, "what do i have tomorrow"),
        said(&mut story, "cancel drink"),
        said(&mut story, "standup every weekday 9:45"),
        said(&mut story, "this week"),
    ];
    expect![[r#"
        ✓ every hour 10:00-16:00 · next wed 18 nov 10:00, 11:00, 12:00 · drink
        wed 18 nov 10:00, 11:00, 12:00 and 4 more · in 14 h · drink
        cancelled: drink. `undo` brings it back
        ✓ weekdays 09:45 · next wed 18 nov, thu 19 nov, fri 20 nov · standup
        wed 18 nov 09:45 · in 13 h 45 min · standup
        thu 19 nov 09:45 · in 37 h 45 min · standup
        fri 20 nov 09:45 · in 3 days · standup
        mon 23 nov 09:45 · in 6 days · standup"#]]
    .assert_eq(&told.join("\n"));
}
