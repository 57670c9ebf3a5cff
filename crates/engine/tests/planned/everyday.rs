//! Everyday use of plans: listing, completing and undoing changes.

use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::story_at;

/// Forwards the user's text to the schedule. Returns the reply.
fn say_to_schedule(story: &mut Story, words: &str) -> String {
    let input = format!(r#"{{"words":"{words}"}}"#);
    let before = story.transcript().len();
    story.script([ModelOutcome::tool_call("schedule", &input), ModelOutcome::text("Yes.")]).user(words);
    let told = story.transcript()[before..].to_owned();
    let (_, answer) = told.split_once("main> schedule: ").unwrap_or_else(|| panic!("no answer: {told}"));
    answer.split_once("\nmain> ").map_or(answer, |(answer, _)| answer).to_owned()
}

/// Changes are undone one by one, the last one first, also after a restart, until none is left.
#[test]
fn changes_are_undone_one_by_one() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "first friday 9:00");
    say_to_schedule(&mut story, "second friday 9:30");
    say_to_schedule(&mut story, "move first to friday 10:00");
    say_to_schedule(&mut story, "cancel first");
    story.crash();
    let told: Vec<String> = (0..5).map(|_| say_to_schedule(&mut story, "undo")).collect();
    expect![[r#"
        ✓ fri 20 nov 10:00 · in 4 days · first
        ✓ fri 20 nov 09:00 · in 4 days · first
        taken back: second
        taken back: first
        Error: there is nothing left to take back: i keep the last 10 changes in mind, for 24 hours."#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// Changes older than 24 hours cannot be undone.
#[test]
fn change_of_yesterday_cannot_be_undone() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "dentist friday 9:00");
    story.advance_time("25h");
    assert!(say_to_schedule(&mut story, "undo").starts_with("Error: there is nothing left to take back"));
    assert_eq!(say_to_schedule(&mut story, "when is dentist"), "fri 20 nov 09:00 · in 3 days · dentist");
}

/// A pause or a setting cannot be undone, and no older change is undone instead.
#[test]
fn undo_of_a_pause_or_setting_is_refused() {
    let mut story = story_at("16T08:59");
    say_to_schedule(&mut story, "first friday 9:00");
    say_to_schedule(&mut story, "pause");
    let paused = say_to_schedule(&mut story, "undo");
    story.user_commands("/config quiet 21-7");
    let set = say_to_schedule(&mut story, "undo");
    expect![[r#"
        Error: the last change was that all that repeats rests. `resume` lets it go on.
        Error: the last change was to the setting `quiet`, and i take back only what is planned or kept. `config quiet VALUE` sets it."#]]
    .assert_eq(&format!("{paused}\n{set}"));
    assert_eq!(say_to_schedule(&mut story, "when is first"), "fri 20 nov 09:00 · in 4 days · first");
}

/// A list is complete: several times of one day are one line.
#[test]
fn list_is_complete() {
    let mut story = story_at("17T20:00");
    let told = [
        say_to_schedule(&mut story, "drink every hour 10-16"),
        say_to_schedule(&mut story, "what do i have tomorrow"),
        say_to_schedule(&mut story, "cancel drink"),
        say_to_schedule(&mut story, "standup every weekday 9:45"),
        say_to_schedule(&mut story, "this week"),
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
