//! Focus sessions, lighter days and "what now?".

use testkit::puppet::Line;
use testkit::story::Story;

use crate::{at, count, mail, pinging};

/// A focus defers the pings of runs, survives a crash, shows one notice at half-time, and ends with
/// a question.
#[test]
fn a_focus_holds_and_ends_with_a_question() {
    let mut story = at("16T10:00", pinging());
    story.file("routines/mail.md", &mail("10 10")).human_commands("/focus 25 on taxes");
    assert!(story.told().contains("told> 25 min on taxes, until 10:25."), "{}", story.told());
    story.passes("12m");
    assert_eq!(count(&story, "half-way"), 0, "{}", story.told());
    story.passes("3m").crash().passes("9m");
    assert_eq!(count(&story, "notice> half-way: 12 min left on taxes."), 1, "{}", story.told());
    assert!(story.told().contains("The human is focused on something"), "{}", story.told());
    assert_eq!(count(&story, "how did it go?"), 0, "{}", story.told());
    story.passes("5m").passes("1h");
    assert_eq!(count(&story, "25 min are up. how did it go?"), 1, "{}", story.told());
    story.passes("8h");
    assert_eq!(count(&story, "my mail: ping 1 (10:10, you were focused)"), 1, "{}", story.told());
    story.human_commands("/focus off");
    assert!(story.told().contains("refused> there is no focus to end."), "{}", story.told());
}

/// A focus that ended long ago while the assistant was off is not asked about.
#[test]
fn a_focus_that_ended_long_ago_is_forgotten() {
    let mut story = at("16T10:00", pinging());
    story.human_commands("/focus 25").away("5h").passes("10m");
    assert_eq!(count(&story, "how did it go?"), 0, "{}", story.told());
}

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-{time}:00+01:00\n---\n{words}\n")
}

/// The model forwards the user's text to the schedule.
fn said(story: &mut Story, words: &str) {
    let input = format!(r#"{{"words":"{words}"}}"#);
    story.model([Line::calls("schedule", &input), Line::says("Yes.")]).human(words);
}

/// A lighter day moves all that can wait to tomorrow, and one undo restores it.
#[test]
fn a_lighter_day_moves_what_can_wait() {
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.file("reminders/a.md", &reminder("a1", "16T12:00", "call mum"));
    story.file("reminders/b.md", &reminder("b1", "16T15:30", "take the pill"));
    story.file("reminders/c.md", &reminder("c1", "16T18:00", "groceries"));
    story.file("reminders/e.md", &reminder("e1", "16T10:20", "tea"));
    story.file("reminders/d.md", &reminder("d1", "17T09:00", "dentist"));
    said(&mut story, "bad day");
    let told = "a lighter day. moved to tomorrow:\n- call mum\n- groceries\nthis stays today: tea, take the pill\n\
                `undo` brings it back.";
    assert!(story.told().contains(told), "{}", story.told());
    assert!(story.reads_file("reminders/a.md").contains("2026-11-17T12:00:00+01:00"));
    assert!(story.reads_file("reminders/b.md").contains("2026-11-16T15:30:00+01:00"));
    said(&mut story, "undo");
    let files: String =
        story.files("reminders").iter().map(|name| story.reads_file(&format!("reminders/{name}"))).collect();
    assert!(
        files.contains("2026-11-16T12:00:00+01:00") && files.contains("2026-11-16T18:00:00+01:00"),
        "{files}"
    );
    let mut story = Story::new("2026-11-16T20:00[Europe/Madrid]");
    story.human_commands("/lighter");
    assert!(story.told().contains("told> nothing of today can be moved."), "{}", story.told());
}

/// "What now?" returns one item, the reason, and its first step; an item without a step gets a
/// generic one.
#[test]
fn what_now_is_one_thing_and_its_first_step() {
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.file("reminders/a.md", &reminder("a1", "16T10:40", "call mum\nfirst step: find her number"));
    story.file("reminders/b.md", &reminder("b1", "16T12:00", "groceries"));
    said(&mut story, "what now?");
    let told =
        "today 10:40 · in 40 min · call mum\nwhy: it is the next thing planned.\nfirst step: find her number";
    assert!(story.told().contains(told), "{}", story.told());
    said(&mut story, "cancel call mum");
    said(&mut story, "buy milk tomorrow at 9, first step: take the bag");
    said(&mut story, "cancel groceries");
    said(&mut story, "what now?");
    let told = "buy milk\nwhy: nothing comes before it, and the inbox is empty.\nfirst step: take the bag";
    assert!(story.told().contains(told), "{}", story.told());
    said(&mut story, "cancel buy milk");
    said(&mut story, "laundry tonight");
    said(&mut story, "what now?");
    let told = "why: nothing comes before it, and the inbox is empty.\nfirst step: ";
    assert_eq!(count(&story, told), 2, "{}", story.told());
}
