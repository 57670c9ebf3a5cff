//! Unanswered reminders: one smaller follow-up, then the digest, and nothing after that. Also plans
//! and suggestions on cards.

use domain::card::Act;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::count;

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-{time}:00+01:00\n---\n{words}\n")
}

/// Starts a story at `time`, with a model that phrases one reminder as "Now.".
fn at(time: &str) -> Story {
    let mut story = Story::new(&format!("2026-11-{time}[Europe/Madrid]"));
    story.model([Line::says("Now.")]);
    story
}

/// An unanswered reminder is followed up once in smaller words; then it waits for the evening
/// digest.
#[test]
fn a_reminder_without_an_answer_is_put_otherwise_once() {
    let mut story = at("16T09:59");
    story.file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).passes("20m");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.told());
    story.passes("2m").crash().passes("5h");
    assert_eq!(count(&story, "assistant: smaller version: "), 1, "{}", story.told());
    assert_eq!(count(&story, "without an answer"), 0, "{}", story.told());
    story.passes("3h").crash().passes("20h");
    let told = "1 thing without an answer. keep, move or drop?\n- call the dentist";
    assert_eq!(count(&story, told), 1, "{}", story.told());
    assert_eq!(count(&story, "smaller version"), 1, "{}", story.told());
}

/// A reminder that the user completes or moves in a message is not followed up.
#[test]
fn what_was_answered_in_words_is_not_brought_up() {
    for words in ["done", "snooze 3h"] {
        let mut story = at("16T09:59");
        story.file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).passes("5m");
        let input = format!(r#"{{"words":"{words}"}}"#);
        let lines = [Line::calls("schedule", &input), Line::says("Yes.")];
        story.human_commands("/config digest off").model(lines).human(words).passes("2h");
        assert_eq!(count(&story, "smaller version"), 0, "{words}: {}", story.told());
        story.human_commands("/held");
        assert!(story.told().ends_with("told> nothing is held.\n"), "{words}: {}", story.told());
    }
}

/// A reminder at night is not followed up; it is in the morning digest.
#[test]
fn nobody_is_asked_twice_at_night() {
    let mut story = at("16T21:49");
    story.file("reminders/call.md", &reminder("d1", "16T21:50", "call the dentist")).passes("11h");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.told());
    assert_eq!(count(&story, "without an answer"), 1, "{}", story.told());
}

/// Follow-ups can be switched off; the digest still lists the reminder.
#[test]
fn following_up_can_be_switched_off() {
    let mut story = at("16T09:59");
    story.human_commands("/config follow_up off");
    story.file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).passes("9h");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.told());
    assert_eq!(count(&story, "without an answer"), 1, "{}", story.told());
}

/// Several reminders due in the same minute become one message without a follow-up.
#[test]
fn several_at_once_are_one_message() {
    let mut story = at("16T09:59");
    for (id, words) in [("a1", "call mum"), ("b1", "pay the rent"), ("c1", "water the plants")] {
        story.file(&format!("reminders/{id}.md"), &reminder(id, "16T10:00", words));
    }
    story.passes("2h");
    let told = "assistant: ⏰ 3 things for now\n1. call mum\n2. pay the rent\n3. water the plants";
    assert_eq!(count(&story, told), 1, "{}", story.told());
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.told());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    story.passes("7h");
    assert_eq!(count(&story, "3 things without an answer"), 1, "{}", story.told());
}

/// Reminders that became due while the assistant was off become one message, with the due time of
/// each.
#[test]
fn what_came_due_meanwhile_is_one_message() {
    let mut story = at("16T09:00");
    story.file("reminders/a.md", &reminder("a1", "16T10:00", "call mum"));
    story.file("reminders/b.md", &reminder("b1", "16T10:30", "pay the rent"));
    story.away("130m").passes("2m");
    let told = "⏰ 2 things for now\n1. call mum · was for mon 10:00\n2. pay the rent · was for mon 10:30";
    assert_eq!(count(&story, told), 1, "{}", story.told());
}

/// A daily routine that was missed for ten days runs once.
#[test]
fn what_repeats_does_not_pile_up() {
    let mut story = at("06T09:00");
    story
        .file("routines/meds.md", "---\nid: meds\ncron: 0 10 * * *\ndescription: meds\n---\ntake the meds\n");
    story.passes("1m").away("243h").passes("20m");
    assert_eq!(count(&story, "main> assistant: Now."), 1, "{}", story.told());
    assert_eq!(story.occurrences().lines().count(), 2, "ten that passed, and one: {}", story.occurrences());
}

/// Returns the id in the file of the reminder planned last.
fn planned_as(story: &Story, file: &str) -> String {
    let text = story.reads_file(file);
    let line = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    line.trim_matches('"').to_owned()
}

/// A reminder that was snoozed once offers one plan tied to an event. One press accepts it, a crash
/// changes nothing, it rings when the event is over, and it can be undone.
#[test]
fn what_was_put_off_once_is_offered_one_plan() {
    let file = "reminders/call-the-dentist.md";
    let mut story = at("16T09:59");
    story.model((0..9).map(|_| Line::says("Now.")));
    story.file(
        "routines/standup.md",
        "---\nid: standup\ncron: 0 11 * * *\ndescription: standup\n---\nstandup\n",
    );
    story.file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).passes("2m");
    assert!(story.cards()[0].ends_with("[Done] [In 10 min] [Break it down]"), "{:?}", story.cards());
    story.human_presses_card("d1", Act::Later);
    let again = planned_as(&story, file);
    story.passes("11m");
    let offered = "a plan: when standup is over → call the dentist [Done] [In 10 min] [After standup]";
    assert!(story.cards()[0].ends_with(offered), "{:?}", story.cards());
    story.crash().human_presses_card(&again, Act::Plan);
    assert_eq!(story.cards()[0], "call the dentist · when standup is over [Undo]");
    story.human_presses_card(&again, Act::Undo);
    assert!(
        story.cards()[0].ends_with(offered) && story.files("reminders").is_empty(),
        "{:?}",
        story.cards()
    );
    story.human_presses_card(&again, Act::Plan);
    assert!(story.reads_file(file).contains("after standup"), "{}", story.reads_file(file));
    story.crash().passes("40m");
    assert_eq!(story.cards().len(), 2, "not before standup: {:?}", story.cards());
    story.passes("20m");
    assert!(
        story.cards()[0].contains("this one keeps moving"),
        "the third question is another: {:?}",
        story.cards()
    );
}

/// Without a planned event the offered plan is tied to the next message of the user.
#[test]
fn a_plan_hangs_on_something_that_happens() {
    let mut story = at("16T09:59");
    story.model((0..9).map(|_| Line::says("Now.")));
    story.file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).passes("2m");
    story.human_presses_card("d1", Act::Later);
    let again = planned_as(&story, "reminders/call-the-dentist.md");
    story.passes("11m");
    assert!(story.cards()[0].ends_with("[When we talk next]"), "{:?}", story.cards());
    story.human_presses_card(&again, Act::Plan).passes("1h");
    assert_eq!(story.cards().len(), 2, "{:?}", story.cards());
    story.human("hello").passes("1m");
    assert_eq!(story.cards().len(), 3, "{:?}", story.cards());
}

/// A reminder that waits for an event rings only with it. If the event is removed or renamed, also
/// while the assistant is off, the user is notified once.
#[test]
fn what_waits_for_something_that_is_gone_is_told() {
    let standup = "---\nid: standup\ncron: 0 11 * * *\ndescription: standup\n---\nstandup\n";
    let notes = "---\nid: n1\nrun-at: 2026-11-16T09:00:00+01:00\ncue: after standup\n---\nsend notes\n";
    let told = "nothing planned is called `standup` any more, so `send notes` does not ring by itself.";
    let begin = || {
        let mut story = at("16T09:59");
        story.file("routines/standup.md", standup).file("reminders/notes.md", notes).passes("1m");
        assert_eq!(count(&story, told), 0, "{}", story.told());
        story
    };
    let mut story = begin();
    story
        .file("routines/standup.md", &standup.replace("description: standup", "description: coffee"))
        .passes("1m");
    assert_eq!(count(&story, told), 1, "renamed: {}", story.told());
    let mut story = begin();
    story.file_gone_unseen("routines/standup.md").away("1h").passes("1m");
    assert_eq!(count(&story, told), 1, "gone meanwhile: {}", story.told());
    story.crash().passes("1m");
    assert_eq!(count(&story, told), 1, "{}", story.told());
}

/// A routine that the user keeps moving to the same time gets one suggestion with the numbers. One
/// press changes its file, another undoes that. The next suggestion comes a week later at the
/// earliest.
#[test]
fn what_is_moved_again_and_again_is_suggested_once() {
    let file = "routines/stretch.md";
    let asks = "5 of 6 times you moved stretch from 11:00 to 14:00. move it?";
    let mut story = at("02T10:59");
    story.file(file, "---\nid: stretch # mine\ncron: 0 11 * * *\ndescription: stretch\n---\nstretch\n");
    for day in 0..6 {
        story.model((0..8).map(|_| Line::says("Now."))).passes("2m");
        if day != 2 {
            said_to_move(&mut story);
        }
        assert_eq!(count(&story, asks), usize::from(day == 5), "day {day}: {}", story.told());
        story.away("23h 58m");
    }
    let card = |story: &Story| {
        story.cards().into_iter().find(|card| card.starts_with("stretch ") || card.contains(asks))
    };
    assert_eq!(card(&story).unwrap(), format!("{asks} [Move it] [Leave it]"));
    story.human_presses_card("move.stretch", Act::Plan);
    assert!(
        story.reads_file(file).contains("id: stretch # mine\ncron: \"0 14 * * *\"\n"),
        "{}",
        story.reads_file(file)
    );
    assert_eq!(card(&story).unwrap(), "stretch comes from now on at 14:00. [Undo]");
    story.crash().human_presses_card("move.stretch", Act::Undo);
    assert!(story.reads_file(file).contains("cron: \"0 11 * * *\"\n"), "{}", story.reads_file(file));
    story.human_presses_card("move.stretch", Act::Drop);
    assert_eq!(card(&story).unwrap(), "stretch stays at 11:00. [Undo]");
    story.model((0..8).map(|_| Line::says("Now."))).passes("5m");
    said_to_move(&mut story);
    assert_eq!(count(&story, "times you moved"), 1, "once a week: {}", story.told());
}

/// The user asks to move the last reminder to 14:00, and the model forwards that.
fn said_to_move(story: &mut Story) {
    story
        .drops_lines()
        .model([Line::calls("schedule", r#"{"words":"move it to 14:00"}"#), Line::says("Yes.")]);
    story.human("move it to 14:00");
    story.model((0..8).map(|_| Line::says("Now.")));
}
