//! A reminder is shown verbatim at its due instant, whatever else is running.

use std::borrow::Cow;

use domain::failure::Failure;
use domain::tool::{Class, ToolSpec};
use jiff::{Timestamp, Zoned};
use testkit::oracle::examine;
use testkit::puppet::Line;
use testkit::story::{Story, Trouble};

use crate::{at, dentist};

/// A tool that takes 100 seconds.
const SLOW: ToolSpec = ToolSpec {
    name: "slow",
    description: Cow::Borrowed("Takes its time."),
    schema: r#"{"type":"object"}"#,
    class: Class::Own,
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
fn dead() -> impl Iterator<Item = Line> {
    (0..40).map(|_| Line::fails(Failure::Unreachable("refused".to_owned())))
}

/// Starts the work that may delay the reminder.
type Begins = fn(&mut Story);

/// The work of main when the reminder is due at 09:00.
const TROUBLES: [(&str, Begins); 8] = [
    ("an answer that does not end", |story| {
        story.model([Line::holds("Once upon")]).human_begins("tell me a story");
    }),
    ("a tool that takes 100 s", |story| {
        story.model([Line::calls("slow", "{}"), Line::says("Done.")]);
        story.human_adds("take your time");
    }),
    ("an open card", |story| {
        story.model([Line::calls("inbox_add", r#"{"text":"milk"}"#), Line::says("Kept.")]);
        story.human("remember milk").human_commands("/permissions default");
        story.model([Line::calls("inbox_remove", r#"{"number":1}"#)]);
        story.human_adds("drop the milk").hears("asks 1>");
    }),
    ("a compaction", |story| {
        story.model([Line::says("Morning."), Line::holds("It was")]).human("good morning");
        story.human_begins_command("/compact");
    }),
    ("a side conversation that is being answered", |story| {
        story.model([Line::says("Morning."), Line::holds("Well,")]).human("good morning");
        story.human_begins_command("/fork taxes");
    }),
    ("a model that is dead", |story| {
        story.model(dead()).human_adds("good morning");
    }),
    ("a model that is silent", |story| {
        story.model([Line::holds(""), Line::holds(""), Line::holds("")]);
    }),
    ("nothing at all", |story| {
        story.model([Line::says("Time to call the dentist.")]);
    }),
];

/// The reminder is shown once, at its instant, on the surfaces and in the outbox, and ends within
/// the time that the model has to rephrase it.
#[test]
fn a_reminder_is_shown_when_it_is_due_whatever_goes_on() {
    for (name, trouble) in TROUBLES {
        let mut story = at("16T08:59");
        story.lend(&[SLOW]).with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
        trouble(&mut story);
        let left = instant("08:59:59.900").duration_since(story.now());
        story.passes(&format!("{}ms", left.as_millis()));
        assert_eq!(story.rang(), [], "{name}");
        story.passes("110ms");
        let told = story.told();
        let rang = story.rang();
        assert_eq!(rang.len(), 1, "{name}: {told}");
        assert!(is_in_time(rang[0].1), "{name}: {rang:?}");
        assert_eq!(told.matches("⏰ call the dentist").count(), 1, "{name}: {told}");
        let posted = story.posted();
        let rang = |posted: &[String]| posted.iter().filter(|words| words.contains("the dentist")).count();
        assert_eq!(rang(&posted), 1, "{name}: {posted:?}");
        story.passes("61s");
        assert!(story.occurrences().contains("done"), "{name}: {}", story.occurrences());
        assert!(!story.has_file("reminders/call.md"), "{name}");
        assert_eq!(story.told().matches("⏰ call the dentist").count(), 1, "{name}: {}", story.told());
        if name.contains("card") {
            story.human_commands("/deny 1").passes("1s");
        }
        story.die();
        assert_eq!(examine(story.paths().root()), [""; 0], "{name}");
    }
}

/// The model's text replaces the reminder if it arrives within a minute after the due time.
#[test]
fn the_models_words_take_the_place_of_the_reminder_in_time() {
    let mut story = at("16T08:59:50");
    story.lend(&[SLOW]).with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::says("Time to call the dentist!")]).passes("20s");
    assert_eq!(story.posted(), ["Time to call the dentist!"]);
    assert_eq!(story.cards(), ["Time to call the dentist! [Done] [In 10 min] [Break it down]"]);

    // The model gets its turn too late, or not at all.
    let mut story = at("16T08:59:50");
    story.lend(&[SLOW]).with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::holds("Once upon"), Line::says("Time to call the dentist!")]);
    story.human_begins("tell me a story").passes("75s").human_stops().passes("1m");
    assert_eq!(story.posted(), ["⏰ call the dentist"]);
    assert_eq!(story.cards(), ["⏰ call the dentist [Done] [In 10 min] [Break it down]"]);
    assert!(!story.told().contains("Time to call"), "{}", story.told());
    assert_eq!(story.contexts().len(), 1);

    // The user has completed it meanwhile.
    let mut story = at("16T08:59:50");
    story.lend(&[SLOW]).with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::holds("Once upon"), Line::says("Time to call the dentist!")]);
    story.human_begins("tell me a story").passes("20s").human_presses_card("d1", domain::card::Act::Done);
    story.human_stops().passes("1m");
    assert!(!story.told().contains("Time to call"), "{}", story.told());
    assert_eq!(story.contexts().len(), 1);
}

/// The minute counts from the due time, not from the start of the turn.
#[test]
fn the_minute_of_the_model_counts_from_the_due_time() {
    let mut story = at("16T08:59:50");
    story.with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::holds("Once upon"), Line::holds("Time to call"), Line::says("Fine.")]);
    story.human_begins("tell me a story").passes("50s").human_stops().passes("15s");
    assert_eq!(story.contexts().len(), 2, "{}", story.told());
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.passes("6s");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
    assert_eq!(story.posted(), ["⏰ call the dentist"]);
    assert_eq!(story.told().matches("⏰ call the dentist").count(), 1, "{}", story.told());
    story.human("how are you?");
    assert!(story.told().contains("Fine."), "{}", story.told());
}

/// A reminder in a chain gets its turn however late. Its text is then a separate message.
#[test]
fn a_reminder_that_is_more_than_words_has_its_turn_later() {
    let mut story = at("16T08:59:50");
    story
        .lend(&[SLOW])
        .with_messages()
        .crash()
        .file("reminders/call.md", &dentist("16T09:00", "max-chain: 2"));
    story.model([
        Line::holds("Once upon"),
        Line::calls("follow_up_chain", r#"{"minutes_from_now":30}"#),
        Line::says("I look again at half past."),
    ]);
    story.human_begins("tell me a story").passes("5m");
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    story.human_stops().passes("10s");
    assert!(story.told().contains("I look again at half past."), "{}", story.told());
    assert!(
        story.occurrences().starts_with("mon 09:00:00 reminder:d1 try 1 done"),
        "{}",
        story.occurrences()
    );
    assert_eq!(story.posted(), ["⏰ call the dentist", "I look again at half past."]);
    assert_eq!(story.files("reminders").len(), 1, "the next check");
}

/// Within the minute the text of a reminder in a chain replaces it, and is not posted twice.
#[test]
fn the_words_of_a_reminder_in_a_chain_take_its_place_in_time() {
    let mut story = at("16T08:59:50");
    story.with_messages().crash().file("reminders/call.md", &dentist("16T09:00", "max-chain: 2"));
    story.model([
        Line::calls("follow_up_chain", r#"{"minutes_from_now":30}"#),
        Line::says("Call the dentist. I look again at half past."),
    ]);
    story.passes("20s");
    assert_eq!(story.posted(), ["Call the dentist. I look again at half past."]);
}

/// The model's text is posted even if the user has completed the card meanwhile.
#[test]
fn what_the_model_found_is_posted_if_the_card_is_settled() {
    for (keys, expected) in [
        ("max-chain: 2", &["~~call the dentist~~ done 09:00", "They open at ten."][..]),
        ("", &["~~call the dentist~~ done 09:00"][..]),
    ] {
        let mut story = at("16T08:59:50");
        story.with_messages().crash().file("reminders/call.md", &dentist("16T09:00", keys));
        story.model([Line::holds("They open at ten.")]).passes("20s");
        story.human_presses_card("d1", domain::card::Act::Done).passes("2m");
        assert_eq!(story.posted(), expected, "{keys}: {}", story.told());
    }
}

/// After a downtime the model does not rephrase a reminder that was shown long before.
#[test]
fn a_reminder_that_was_shown_before_a_long_downtime_is_not_put_to_the_model() {
    let mut story = at("16T08:59:50");
    story.with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
    story.model([Line::holds("Once upon"), Line::says("And they lived."), Line::says("Call the dentist!")]);
    story.human_begins("tell me a story").passes("20s");
    story.die();
    story.clock_set("1h").crash().passes("1m");
    assert_eq!(story.contexts().len(), 2, "{}", story.told());
    assert!(!story.told().contains("Call the dentist!"), "{}", story.told());
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// Two hundred reminders of one instant are shown then in one message, during an answer.
#[test]
fn two_hundred_reminders_are_shown_at_once() {
    let mut story = at("16T08:59");
    for number in 0..200 {
        let text = format!("---\nid: m{number:03}\nrun-at: 2026-11-16T09:00:00+01:00\n---\nmind {number}\n");
        story.file_unseen(&format!("reminders/m{number}.md"), &text);
    }
    story.with_messages().crash().model([Line::holds("Once upon")]).human_begins("tell me a story");
    story.passes("61s");
    let rang = story.rang();
    assert_eq!(rang.len(), 200);
    assert!(rang.iter().all(|(_, at)| is_in_time(*at)), "{:?}", rang.first());
    assert_eq!(story.told().matches("notice> ⏰ 200 things for now").count(), 1);
    assert_eq!(story.files("reminders"), Vec::<String>::new());
    assert_eq!(story.contexts().len(), 1);
}

/// The reminder is shown once for a crash around the write that shows it.
#[test]
fn a_crash_right_after_the_reminder_was_due_shows_it_once() {
    for (nth, trouble) in (1..=4).flat_map(|nth| [(nth, Trouble::DiesBefore), (nth, Trouble::DiesAfter)]) {
        for line in [Line::holds("Once upon"), Line::says("Once.")] {
            let mut story = at("16T08:59:50");
            story.lend(&[SLOW]).with_messages().crash().file("reminders/call.md", &dentist("16T09:00", ""));
            story.model([line, Line::holds("And"), Line::holds("And")]).human_adds("tell me a story");
            story.passes("9s").trouble(nth, trouble).passes("5s").crash().passes("2m");
            let rang = story.rang();
            assert_eq!(rang.len(), 1, "{nth} {trouble:?}: {}", story.told());
            let posted = story.posted();
            let count = posted.iter().filter(|words| words.contains("⏰ call the dentist")).count();
            assert_eq!(count, 1, "{nth} {trouble:?}: {posted:?}");
            assert!(story.occurrences().contains("done"), "{nth} {trouble:?}: {}", story.occurrences());
            assert!(!story.has_file("reminders/call.md"), "{nth} {trouble:?}");
            story.die();
            assert_eq!(examine(story.paths().root()), [""; 0], "{nth} {trouble:?}");
        }
    }
}
