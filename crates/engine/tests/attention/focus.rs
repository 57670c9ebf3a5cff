//! Focus sessions, lighter days and "what now?".

use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{count, mail_routine, pinging_model, story_at};

/// A focus defers the pings of runs, survives a crash, shows one notice at half-time, and ends with
/// a question.
#[test]
fn focus_defers_pings_and_ends_with_a_question() {
    let mut story = story_at("16T10:00", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("10 10")).user_commands("/focus 25 on taxes");
    assert!(story.transcript().contains("told> 25 min on taxes, until 10:25."), "{}", story.transcript());
    story.advance_time("12m");
    assert_eq!(count(&story, "half-way"), 0, "{}", story.transcript());
    story.advance_time("3m").crash().advance_time("9m");
    assert_eq!(count(&story, "notice> half-way: 12 min left on taxes."), 1, "{}", story.transcript());
    assert!(story.transcript().contains("The human is focused on something"), "{}", story.transcript());
    assert_eq!(count(&story, "how did it go?"), 0, "{}", story.transcript());
    story.advance_time("5m").advance_time("1h");
    assert_eq!(count(&story, "25 min are up. how did it go?"), 1, "{}", story.transcript());
    story.advance_time("8h");
    assert_eq!(count(&story, "my mail: ping 1 (10:10, you were focused)"), 1, "{}", story.transcript());
    story.user_commands("/focus off");
    assert!(story.transcript().contains("refused> there is no focus to end."), "{}", story.transcript());
}

/// A focus that ended long ago while the assistant was off is not asked about.
#[test]
fn focus_that_ended_long_ago_is_not_asked_about() {
    let mut story = story_at("16T10:00", pinging_model());
    story.user_commands("/focus 25").stop_for("5h").advance_time("10m");
    assert_eq!(count(&story, "how did it go?"), 0, "{}", story.transcript());
}

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-{time}:00+01:00\n---\n{words}\n")
}

/// The model forwards the user's text to the schedule.
fn say_to_schedule(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.script([ModelOutcome::tool_call("schedule", &input), ModelOutcome::text("Yes.")]).user(words);
}

/// A lighter day moves all that can wait to tomorrow, and one undo restores it.
#[test]
fn lighter_day_moves_what_can_wait() {
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.write_file("reminders/a.md", &reminder("a1", "16T12:00", "call mum"));
    story.write_file("reminders/b.md", &reminder("b1", "16T15:30", "take the pill"));
    story.write_file("reminders/c.md", &reminder("c1", "16T18:00", "groceries"));
    story.write_file("reminders/e.md", &reminder("e1", "16T10:20", "tea"));
    story.write_file("reminders/d.md", &reminder("d1", "17T09:00", "dentist"));
    say_to_schedule(&mut story, "bad day");
    let told = "a lighter day. moved to tomorrow:\n- call mum\n- groceries\nthis stays today: tea, take the pill\n\
                `undo` brings it back.";
    assert!(story.transcript().contains(told), "{}", story.transcript());
    assert!(story.read_file("reminders/a.md").contains("2026-11-17T12:00:00+01:00"));
    assert!(story.read_file("reminders/b.md").contains("2026-11-16T15:30:00+01:00"));
    say_to_schedule(&mut story, "undo");
    let files: String = story
        .list_files("reminders")
        .iter()
        .map(|name| story.read_file(&format!("reminders/{name}")))
        .collect();
    assert!(
        files.contains("2026-11-16T12:00:00+01:00") && files.contains("2026-11-16T18:00:00+01:00"),
        "{files}"
    );
    let mut story = Story::new("2026-11-16T20:00[Europe/Madrid]");
    story.user_commands("/lighter");
    assert!(story.transcript().contains("told> nothing of today can be moved."), "{}", story.transcript());
}

/// "What now?" returns one item, the reason, and its first step; an item without a step gets a
/// generic one.
#[test]
fn what_now_returns_one_item_and_its_first_step() {
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.write_file("reminders/a.md", &reminder("a1", "16T10:40", "call mum\nfirst step: find her number"));
    story.write_file("reminders/b.md", &reminder("b1", "16T12:00", "groceries"));
    say_to_schedule(&mut story, "what now?");
    let told =
        "today 10:40 · in 40 min · call mum\nwhy: it is the next thing planned.\nfirst step: find her number";
    assert!(story.transcript().contains(told), "{}", story.transcript());
    say_to_schedule(&mut story, "cancel call mum");
    say_to_schedule(&mut story, "buy milk tomorrow at 9, first step: take the bag");
    say_to_schedule(&mut story, "cancel groceries");
    say_to_schedule(&mut story, "what now?");
    let told = "buy milk\nwhy: nothing comes before it, and the inbox is empty.\nfirst step: take the bag";
    assert!(story.transcript().contains(told), "{}", story.transcript());
    say_to_schedule(&mut story, "cancel buy milk");
    say_to_schedule(&mut story, "laundry tonight");
    say_to_schedule(&mut story, "what now?");
    let told = "why: nothing comes before it, and the inbox is empty.\nfirst step: ";
    assert_eq!(count(&story, told), 2, "{}", story.transcript());
}
