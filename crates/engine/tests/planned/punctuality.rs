//! A reminder is shown verbatim at its due instant, whatever else is running.

use std::borrow::Cow;

use domain::failure::Failure;
use domain::tool::{ToolClass, ToolSpec};
use jiff::{Timestamp, Zoned};
use testkit::oracle::find_violations;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{JournalFault, Story};

use crate::{dentist_reminder, story_at};

/// A tool that takes 100 seconds.
const SLOW: ToolSpec = ToolSpec {
    name: "slow",
    description: Cow::Borrowed("Takes its time."),
    schema: r#"{"type":"object"}"#,
    class: ToolClass::Own,
};

/// Returns an instant of the 16th of November 2026 in Madrid.
fn instant(time: &str) -> Timestamp {
    let zoned = format!("2026-11-16T{time}[Europe/Madrid]").parse::<Zoned>();
    zoned.unwrap_or_else(|error| panic!("{time}: {error}")).timestamp()
}

/// Returns whether `at` is nine o'clock, up to the precision of a timer.
fn is_in_time(at: Timestamp) -> bool {
    (instant("09:00")..=instant("09:00:00.002")).contains(&at)
}

/// A model that is never reachable.
fn unreachable_model() -> impl Iterator<Item = ModelOutcome> {
    (0..40).map(|_| ModelOutcome::fail(Failure::Unreachable("refused".to_owned())))
}

/// Starts the work that may delay the reminder.
type StartWork = fn(&mut Story);

/// The work of main when the reminder is due at 09:00.
const CONCURRENT_WORK: [(&str, StartWork); 8] = [
    ("an answer that does not end", |story| {
        story.script([ModelOutcome::hang("Once upon")]).user_begins("tell me a story");
    }),
    ("a tool that takes 100 s", |story| {
        story.script([ModelOutcome::tool_call("slow", "{}"), ModelOutcome::text("Done.")]);
        story.user_sends("take your time");
    }),
    ("an open card", |story| {
        story.script([
            ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
            ModelOutcome::text("Kept."),
        ]);
        story.user("remember milk").user_commands("/permissions default");
        story.script([ModelOutcome::tool_call("inbox_remove", r#"{"number":1}"#)]);
        story.user_sends("drop the milk").wait_for_line("asks 1>");
    }),
    ("a compaction", |story| {
        story.script([ModelOutcome::text("Morning."), ModelOutcome::hang("It was")]).user("good morning");
        story.user_begins_command("/compact");
    }),
    ("a side conversation that is being answered", |story| {
        story.script([ModelOutcome::text("Morning."), ModelOutcome::hang("Well,")]).user("good morning");
        story.user_begins_command("/fork taxes");
    }),
    ("a model that is dead", |story| {
        story.script(unreachable_model()).user_sends("good morning");
    }),
    ("a model that is silent", |story| {
        story.script([ModelOutcome::hang(""), ModelOutcome::hang(""), ModelOutcome::hang("")]);
    }),
    ("nothing at all", |story| {
        story.script([ModelOutcome::text("Time to call the dentist.")]);
    }),
];

/// The reminder is shown once, at its instant, on the surfaces and in the outbox, and ends within
/// the time that the model has to rephrase it.
#[test]
fn reminder_is_shown_when_due_whatever_is_running() {
    for (name, start_work) in CONCURRENT_WORK {
        let mut story = story_at("16T08:59");
        story
            .with_extra_tools(&[SLOW])
            .reachable_by_messages()
            .crash()
            .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
        start_work(&mut story);
        let left = instant("08:59:59.900").duration_since(story.now());
        story.advance_time(&format!("{}ms", left.as_millis()));
        assert_eq!(story.rung_reminders(), [], "{name}");
        story.advance_time("110ms");
        let told = story.transcript();
        let rang = story.rung_reminders();
        assert_eq!(rang.len(), 1, "{name}: {told}");
        assert!(is_in_time(rang[0].1), "{name}: {rang:?}");
        assert_eq!(told.matches("⏰ call the dentist").count(), 1, "{name}: {told}");
        let posted = story.pending_posts();
        let rang = |posted: &[String]| posted.iter().filter(|words| words.contains("the dentist")).count();
        assert_eq!(rang(&posted), 1, "{name}: {posted:?}");
        story.advance_time("61s");
        assert!(story.occurrences().contains("done"), "{name}: {}", story.occurrences());
        assert!(!story.has_file("reminders/call.md"), "{name}");
        assert_eq!(
            story.transcript().matches("⏰ call the dentist").count(),
            1,
            "{name}: {}",
            story.transcript()
        );
        if name.contains("card") {
            story.user_commands("/deny 1").advance_time("1s");
        }
        story.stop();
        assert_eq!(find_violations(story.paths().root()), [""; 0], "{name}");
    }
}

/// The model's text replaces the reminder if it arrives within a minute after the due time.
#[test]
fn text_of_the_model_replaces_the_reminder_within_a_minute() {
    let mut story = story_at("16T08:59:50");
    story
        .with_extra_tools(&[SLOW])
        .reachable_by_messages()
        .crash()
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.script([ModelOutcome::text("Time to call the dentist!")]).advance_time("20s");
    assert_eq!(story.pending_posts(), ["Time to call the dentist!"]);
    assert_eq!(story.cards(), ["Time to call the dentist! [Done] [In 10 min] [Break it down]"]);

    // The model gets its turn too late, or not at all.
    let mut story = story_at("16T08:59:50");
    story
        .with_extra_tools(&[SLOW])
        .reachable_by_messages()
        .crash()
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.script([ModelOutcome::hang("Once upon"), ModelOutcome::text("Time to call the dentist!")]);
    story.user_begins("tell me a story").advance_time("75s").user_stops().advance_time("1m");
    assert_eq!(story.pending_posts(), ["⏰ call the dentist"]);
    assert_eq!(story.cards(), ["⏰ call the dentist [Done] [In 10 min] [Break it down]"]);
    assert!(!story.transcript().contains("Time to call"), "{}", story.transcript());
    assert_eq!(story.contexts().len(), 1);

    // The user has completed it meanwhile.
    let mut story = story_at("16T08:59:50");
    story
        .with_extra_tools(&[SLOW])
        .reachable_by_messages()
        .crash()
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.script([ModelOutcome::hang("Once upon"), ModelOutcome::text("Time to call the dentist!")]);
    story
        .user_begins("tell me a story")
        .advance_time("20s")
        .user_presses_card("d1", domain::card::CardAction::Done);
    story.user_stops().advance_time("1m");
    assert!(!story.transcript().contains("Time to call"), "{}", story.transcript());
    assert_eq!(story.contexts().len(), 1);
}

/// The minute counts from the due time, not from the start of the turn.
#[test]
fn minute_of_the_model_counts_from_the_due_time() {
    let mut story = story_at("16T08:59:50");
    story.reachable_by_messages().crash().write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.script([
        ModelOutcome::hang("Once upon"),
        ModelOutcome::hang("Time to call"),
        ModelOutcome::text("Fine."),
    ]);
    story.user_begins("tell me a story").advance_time("50s").user_stops().advance_time("15s");
    assert_eq!(story.contexts().len(), 2, "{}", story.transcript());
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.advance_time("6s");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    assert_eq!(story.pending_posts(), ["⏰ call the dentist"]);
    assert_eq!(story.transcript().matches("⏰ call the dentist").count(), 1, "{}", story.transcript());
    story.user("how are you?");
    assert!(story.transcript().contains("Fine."), "{}", story.transcript());
}

/// A reminder in a chain gets its turn however late. Its text is then a separate message.
#[test]
fn reminder_in_a_chain_gets_its_turn_later() {
    let mut story = story_at("16T08:59:50");
    story
        .with_extra_tools(&[SLOW])
        .reachable_by_messages()
        .crash()
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "max-chain: 2"));
    story.script([
        ModelOutcome::hang("Once upon"),
        ModelOutcome::tool_call("follow_up_chain", r#"{"minutes_from_now":30}"#),
        ModelOutcome::text("I look again at half past."),
    ]);
    story.user_begins("tell me a story").advance_time("5m");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.user_stops().advance_time("10s");
    assert!(story.transcript().contains("I look again at half past."), "{}", story.transcript());
    assert!(
        story.occurrences().starts_with("mon 09:00:00 reminder:d1 try 1 done"),
        "{}",
        story.occurrences()
    );
    assert_eq!(story.pending_posts(), ["⏰ call the dentist", "I look again at half past."]);
    assert_eq!(story.list_files("reminders").len(), 1, "the next check");
}

/// Within the minute the text of a reminder in a chain replaces it, and is not posted twice.
#[test]
fn text_of_a_chained_reminder_replaces_it_within_a_minute() {
    let mut story = story_at("16T08:59:50");
    story
        .reachable_by_messages()
        .crash()
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", "max-chain: 2"));
    story.script([
        ModelOutcome::tool_call("follow_up_chain", r#"{"minutes_from_now":30}"#),
        ModelOutcome::text("Call the dentist. I look again at half past."),
    ]);
    story.advance_time("20s");
    assert_eq!(story.pending_posts(), ["Call the dentist. I look again at half past."]);
}

/// The model's text is posted even if the user has completed the card meanwhile.
#[test]
fn text_of_the_model_is_posted_after_the_card_is_settled() {
    for (keys, expected) in [
        ("max-chain: 2", &["~~call the dentist~~ done 09:00", "They open at ten."][..]),
        ("", &["~~call the dentist~~ done 09:00"][..]),
    ] {
        let mut story = story_at("16T08:59:50");
        story
            .reachable_by_messages()
            .crash()
            .write_file("reminders/call.md", &dentist_reminder("16T09:00", keys));
        story.script([ModelOutcome::hang("They open at ten.")]).advance_time("20s");
        story.user_presses_card("d1", domain::card::CardAction::Done).advance_time("2m");
        assert_eq!(story.pending_posts(), expected, "{keys}: {}", story.transcript());
    }
}

/// After a downtime the model does not rephrase a reminder that was shown long before.
#[test]
fn reminder_shown_before_a_downtime_is_not_rephrased() {
    let mut story = story_at("16T08:59:50");
    story.reachable_by_messages().crash().write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
    story.script([
        ModelOutcome::hang("Once upon"),
        ModelOutcome::text("And they lived."),
        ModelOutcome::text("Call the dentist!"),
    ]);
    story.user_begins("tell me a story").advance_time("20s");
    story.stop();
    story.set_clock("1h").crash().advance_time("1m");
    assert_eq!(story.contexts().len(), 2, "{}", story.transcript());
    assert!(!story.transcript().contains("Call the dentist!"), "{}", story.transcript());
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// Two hundred reminders of one instant are shown then in one message, during an answer.
#[test]
fn two_hundred_reminders_are_shown_at_once() {
    let mut story = story_at("16T08:59");
    for number in 0..200 {
        let text = format!("---\nid: m{number:03}\nrun-at: 2026-11-16T09:00:00+01:00\n---\nmind {number}\n");
        story.write_file_unnoticed(&format!("reminders/m{number}.md"), &text);
    }
    story
        .reachable_by_messages()
        .crash()
        .script([ModelOutcome::hang("Once upon")])
        .user_begins("tell me a story");
    story.advance_time("61s");
    let rang = story.rung_reminders();
    assert_eq!(rang.len(), 200);
    assert!(rang.iter().all(|(_, at)| is_in_time(*at)), "{:?}", rang.first());
    assert_eq!(story.transcript().matches("notice> ⏰ 200 things for now").count(), 1);
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
    assert_eq!(story.contexts().len(), 1);
}

/// The reminder is shown once for a crash around the write that shows it.
#[test]
fn crash_around_the_due_time_shows_the_reminder_once() {
    for (nth, trouble) in
        (1..=4).flat_map(|nth| [(nth, JournalFault::CrashBefore), (nth, JournalFault::CrashAfter)])
    {
        for line in [ModelOutcome::hang("Once upon"), ModelOutcome::text("Once.")] {
            let mut story = story_at("16T08:59:50");
            story
                .with_extra_tools(&[SLOW])
                .reachable_by_messages()
                .crash()
                .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""));
            story
                .script([line, ModelOutcome::hang("And"), ModelOutcome::hang("And")])
                .user_sends("tell me a story");
            story
                .advance_time("9s")
                .inject_journal_fault(nth, trouble)
                .advance_time("5s")
                .crash()
                .advance_time("2m");
            let rang = story.rung_reminders();
            assert_eq!(rang.len(), 1, "{nth} {trouble:?}: {}", story.transcript());
            let posted = story.pending_posts();
            let count = posted.iter().filter(|words| words.contains("⏰ call the dentist")).count();
            assert_eq!(count, 1, "{nth} {trouble:?}: {posted:?}");
            assert!(story.occurrences().contains("done"), "{nth} {trouble:?}: {}", story.occurrences());
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            story.stop();
            assert_eq!(find_violations(story.paths().root()), [""; 0], "{nth} {trouble:?}");
        }
    }
}
