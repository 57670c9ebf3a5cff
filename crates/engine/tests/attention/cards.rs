//! Unanswered reminders: one smaller follow-up, then the digest, and nothing after that. Also plans
//! and suggestions on cards.

use domain::card::CardAction;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::count;

fn reminder(id: &str, time: &str, words: &str) -> String {
    format!("---\nid: {id}\nrun-at: 2026-11-{time}:00+01:00\n---\n{words}\n")
}

/// Starts a story at `time`, with a model that phrases one reminder as "Now.".
fn at(time: &str) -> Story {
    let mut story = Story::new(&format!("2026-11-{time}[Europe/Madrid]"));
    story.script([ModelOutcome::text("Now.")]);
    story
}

/// An unanswered reminder is followed up once in smaller words; then it waits for the evening
/// digest.
#[test]
fn unanswered_reminder_is_followed_up_once() {
    let mut story = at("16T09:59");
    story
        .write_file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist"))
        .advance_time("20m");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.transcript());
    story.advance_time("2m").crash().advance_time("5h");
    assert_eq!(count(&story, "assistant: smaller version: "), 1, "{}", story.transcript());
    assert_eq!(count(&story, "without an answer"), 0, "{}", story.transcript());
    story.advance_time("3h").crash().advance_time("20h");
    let told = "1 thing without an answer. keep, move or drop?\n- call the dentist";
    assert_eq!(count(&story, told), 1, "{}", story.transcript());
    assert_eq!(count(&story, "smaller version"), 1, "{}", story.transcript());
}

/// A reminder that the user completes or moves in a message is not followed up.
#[test]
fn reminder_answered_in_a_message_is_not_followed_up() {
    for words in ["done", "snooze 3h"] {
        let mut story = at("16T09:59");
        story
            .write_file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist"))
            .advance_time("5m");
        let input = format!(r#"{{"words":"{words}"}}"#);
        let lines = [ModelOutcome::tool_call("schedule", &input), ModelOutcome::text("Yes.")];
        story.user_commands("/config digest off").script(lines).user(words).advance_time("2h");
        assert_eq!(count(&story, "smaller version"), 0, "{words}: {}", story.transcript());
        story.user_commands("/held");
        assert!(story.transcript().ends_with("told> nothing is held.\n"), "{words}: {}", story.transcript());
    }
}

/// A reminder at night is not followed up; it is in the morning digest.
#[test]
fn no_follow_up_at_night() {
    let mut story = at("16T21:49");
    story
        .write_file("reminders/call.md", &reminder("d1", "16T21:50", "call the dentist"))
        .advance_time("11h");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.transcript());
    assert_eq!(count(&story, "without an answer"), 1, "{}", story.transcript());
}

/// Follow-ups can be switched off; the digest still lists the reminder.
#[test]
fn follow_ups_can_be_switched_off() {
    let mut story = at("16T09:59");
    story.user_commands("/config follow_up off");
    story.write_file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).advance_time("9h");
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.transcript());
    assert_eq!(count(&story, "without an answer"), 1, "{}", story.transcript());
}

/// Several reminders due in the same minute become one message without a follow-up.
#[test]
fn reminders_of_one_minute_are_one_message() {
    let mut story = at("16T09:59");
    for (id, words) in [("a1", "call mum"), ("b1", "pay the rent"), ("c1", "water the plants")] {
        story.write_file(&format!("reminders/{id}.md"), &reminder(id, "16T10:00", words));
    }
    story.advance_time("2h");
    let told = "assistant: ⏰ 3 things for now\n1. call mum\n2. pay the rent\n3. water the plants";
    assert_eq!(count(&story, told), 1, "{}", story.transcript());
    assert_eq!(count(&story, "smaller version"), 0, "{}", story.transcript());
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    story.advance_time("7h");
    assert_eq!(count(&story, "3 things without an answer"), 1, "{}", story.transcript());
}

/// Reminders that became due while the assistant was off become one message, with the due time of
/// each.
#[test]
fn reminders_missed_while_off_are_one_message() {
    let mut story = at("16T09:00");
    story.write_file("reminders/a.md", &reminder("a1", "16T10:00", "call mum"));
    story.write_file("reminders/b.md", &reminder("b1", "16T10:30", "pay the rent"));
    story.stop_for("130m").advance_time("2m");
    let told = "⏰ 2 things for now\n1. call mum · was for mon 10:00\n2. pay the rent · was for mon 10:30";
    assert_eq!(count(&story, told), 1, "{}", story.transcript());
}

/// A daily routine that was missed for ten days runs once.
#[test]
fn missed_daily_routine_runs_once() {
    let mut story = at("06T09:00");
    story.write_file(
        "routines/meds.md",
        "---\nid: meds\ncron: 0 10 * * *\ndescription: meds\n---\ntake the meds\n",
    );
    story.advance_time("1m").stop_for("243h").advance_time("20m");
    assert_eq!(count(&story, "main> assistant: Now."), 1, "{}", story.transcript());
    assert_eq!(story.occurrences().lines().count(), 2, "ten that passed, and one: {}", story.occurrences());
}

/// Returns the id in the file of the reminder planned last.
fn planned_id(story: &Story, file: &str) -> String {
    let text = story.read_file(file);
    let line = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    line.trim_matches('"').to_owned()
}

/// A reminder that was snoozed once offers one plan tied to an event. One press accepts it, a crash
/// changes nothing, it rings when the event is over, and it can be undone.
#[test]
fn snoozed_reminder_offers_one_plan() {
    let file = "reminders/call-the-dentist.md";
    let mut story = at("16T09:59");
    story.script((0..9).map(|_| ModelOutcome::text("Now.")));
    story.write_file(
        "routines/standup.md",
        "---\nid: standup\ncron: 0 11 * * *\ndescription: standup\n---\nstandup\n",
    );
    story.write_file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).advance_time("2m");
    assert!(story.cards()[0].ends_with("[Done] [In 10 min] [Break it down]"), "{:?}", story.cards());
    story.user_presses_card("d1", CardAction::Later);
    let again = planned_id(&story, file);
    story.advance_time("11m");
    let offered = "a plan: when standup is over → call the dentist [Done] [In 10 min] [After standup]";
    assert!(story.cards()[0].ends_with(offered), "{:?}", story.cards());
    story.crash().user_presses_card(&again, CardAction::Plan);
    assert_eq!(story.cards()[0], "call the dentist · when standup is over [Undo]");
    story.user_presses_card(&again, CardAction::Undo);
    assert!(
        story.cards()[0].ends_with(offered) && story.list_files("reminders").is_empty(),
        "{:?}",
        story.cards()
    );
    story.user_presses_card(&again, CardAction::Plan);
    assert!(story.read_file(file).contains("after standup"), "{}", story.read_file(file));
    story.crash().advance_time("40m");
    assert_eq!(story.cards().len(), 2, "not before standup: {:?}", story.cards());
    story.advance_time("20m");
    assert!(
        story.cards()[0].contains("this one keeps moving"),
        "the third question is another: {:?}",
        story.cards()
    );
}

/// Without a planned event the offered plan is tied to the next message of the user.
#[test]
fn plan_is_tied_to_the_next_message_without_an_event() {
    let mut story = at("16T09:59");
    story.script((0..9).map(|_| ModelOutcome::text("Now.")));
    story.write_file("reminders/call.md", &reminder("d1", "16T10:00", "call the dentist")).advance_time("2m");
    story.user_presses_card("d1", CardAction::Later);
    let again = planned_id(&story, "reminders/call-the-dentist.md");
    story.advance_time("11m");
    assert!(story.cards()[0].ends_with("[When we talk next]"), "{:?}", story.cards());
    story.user_presses_card(&again, CardAction::Plan).advance_time("1h");
    assert_eq!(story.cards().len(), 2, "{:?}", story.cards());
    story.user("hello").advance_time("1m");
    assert_eq!(story.cards().len(), 3, "{:?}", story.cards());
}

/// A reminder that waits for an event rings only with it. If the event is removed or renamed, also
/// while the assistant is off, the user is notified once.
#[test]
fn reminder_with_a_missing_cue_is_reported_once() {
    let standup = "---\nid: standup\ncron: 0 11 * * *\ndescription: standup\n---\nstandup\n";
    let notes = "---\nid: n1\nrun-at: 2026-11-16T09:00:00+01:00\ncue: after standup\n---\nsend notes\n";
    let told = "nothing planned is called `standup` any more, so `send notes` does not ring by itself.";
    let begin = || {
        let mut story = at("16T09:59");
        story
            .write_file("routines/standup.md", standup)
            .write_file("reminders/notes.md", notes)
            .advance_time("1m");
        assert_eq!(count(&story, told), 0, "{}", story.transcript());
        story
    };
    let mut story = begin();
    story
        .write_file("routines/standup.md", &standup.replace("description: standup", "description: coffee"))
        .advance_time("1m");
    assert_eq!(count(&story, told), 1, "renamed: {}", story.transcript());
    let mut story = begin();
    story.remove_file_unnoticed("routines/standup.md").stop_for("1h").advance_time("1m");
    assert_eq!(count(&story, told), 1, "gone meanwhile: {}", story.transcript());
    story.crash().advance_time("1m");
    assert_eq!(count(&story, told), 1, "{}", story.transcript());
}

/// A routine that the user keeps moving to the same time gets one suggestion with the numbers. One
/// press changes its file, another undoes that. The next suggestion comes a week later at the
/// earliest.
#[test]
fn routine_moved_repeatedly_gets_one_suggestion() {
    let file = "routines/stretch.md";
    let asks = "5 of 6 times you moved stretch from 11:00 to 14:00. move it?";
    let mut story = at("02T10:59");
    story.write_file(file, "---\nid: stretch # mine\ncron: 0 11 * * *\ndescription: stretch\n---\nstretch\n");
    for day in 0..6 {
        story.script((0..8).map(|_| ModelOutcome::text("Now."))).advance_time("2m");
        if day != 2 {
            ask_to_move(&mut story);
        }
        assert_eq!(count(&story, asks), usize::from(day == 5), "day {day}: {}", story.transcript());
        story.stop_for("23h 58m");
    }
    let card = |story: &Story| {
        story.cards().into_iter().find(|card| card.starts_with("stretch ") || card.contains(asks))
    };
    assert_eq!(card(&story).unwrap(), format!("{asks} [Move it] [Leave it]"));
    story.user_presses_card("move.stretch", CardAction::Plan);
    assert!(
        story.read_file(file).contains("id: stretch # mine\ncron: \"0 14 * * *\"\n"),
        "{}",
        story.read_file(file)
    );
    assert_eq!(card(&story).unwrap(), "stretch comes from now on at 14:00. [Undo]");
    story.crash().user_presses_card("move.stretch", CardAction::Undo);
    assert!(story.read_file(file).contains("cron: \"0 11 * * *\"\n"), "{}", story.read_file(file));
    story.user_presses_card("move.stretch", CardAction::Drop);
    assert_eq!(card(&story).unwrap(), "stretch stays at 11:00. [Undo]");
    story.script((0..8).map(|_| ModelOutcome::text("Now."))).advance_time("5m");
    ask_to_move(&mut story);
    assert_eq!(count(&story, "times you moved"), 1, "once a week: {}", story.transcript());
}

/// The user asks to move the last reminder to 14:00, and the model forwards that.
fn ask_to_move(story: &mut Story) {
    story.clear_script().script([
        ModelOutcome::tool_call("schedule", r#"{"words":"move it to 14:00"}"#),
        ModelOutcome::text("Yes."),
    ]);
    story.user("move it to 14:00");
    story.script((0..8).map(|_| ModelOutcome::text("Now.")));
}
