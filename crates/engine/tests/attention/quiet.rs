//! Quiet hours and ping caps: pings of runs wait, reminders set by the user ring.

use testkit::scripted_model::{ModelOutcome, ScriptedModel};

use crate::{count, mail_routine, pinging_model, story_at};

/// A ping at night is deferred, the run is notified, and the digest of the morning shows it.
#[test]
fn ping_at_night_waits_until_the_morning() {
    let mut story = story_at("16T22:50", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("0 23")).advance_time("20m");
    assert!(
        story.transcript().contains("It is quiet time, so nothing rang. Your words are kept"),
        "{}",
        story.transcript()
    );
    assert_eq!(count(&story, "to the human>"), 0, "{}", story.transcript());
    story.advance_time("9h");
    assert_eq!(
        count(&story, "ping 1 (23:00, it was quiet)"),
        0,
        "it is not 8:30 yet: {}",
        story.transcript()
    );
    story.advance_time("30m");
    assert_eq!(count(&story, "my mail: ping 1 (23:00, it was quiet)"), 1, "{}", story.transcript());
}

/// The user can change the quiet hours or switch them off.
#[test]
fn quiet_hours_can_be_set() {
    let mut story = story_at("16T22:50", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("0,50 22-23")).user_commands("/quiet 23:30-7");
    story.advance_time("20m");
    assert_eq!(count(&story, "to the human> ping 1"), 1, "{}", story.transcript());
    story.advance_time("45m");
    assert!(story.transcript().contains("It is quiet time"), "{}", story.transcript());
    story.user_commands("/quiet off").user_commands("/quiet");
    assert!(story.transcript().contains("told> there are no quiet hours."), "{}", story.transcript());
    story.user_commands("/config quiet later");
    assert!(
        story.transcript().contains("quiet: it cannot be `later`. use two times such as `22-8`"),
        "{}",
        story.transcript()
    );
}

/// The user can ask for two hours of quiet by day, and can end them early.
#[test]
fn temporary_quiet_ends() {
    let mut story = story_at("16T10:00", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("30 10,12")).user_commands("/quiet for 2h");
    assert!(story.transcript().contains("it is quiet until today 12:00 · in 2 h."), "{}", story.transcript());
    story.advance_time("1h").crash().advance_time("30m");
    assert_eq!(count(&story, "to the human>"), 0, "{}", story.transcript());
    story.advance_time("1h 10m");
    assert_eq!(count(&story, "to the human> ping 2"), 1, "{}", story.transcript());
    story.user_commands("/quiet for 1h").user_commands("/quiet off").user_commands("/quiet");
    assert!(
        story
            .transcript()
            .ends_with("told> quiet hours are 22:00-08:00. what you set for a time still rings.\n"),
        "{}",
        story.transcript()
    );
}

/// A critical ping rings at night.
#[test]
fn critical_ping_rings_at_night() {
    let model = ScriptedModel::answering(|context| {
        let last = context.entries.last().map(|said| crate::text_of(said)).unwrap_or_default();
        if last.contains("[routine-bg:") {
            ModelOutcome::tool_call("ping_user", r#"{"message":"it burns","critical":true}"#)
        } else {
            ModelOutcome::text("Done.")
        }
    });
    let mut story = story_at("16T22:50", model);
    story.write_file("routines/mail.md", &mail_routine("0 23")).advance_time("20m");
    assert_eq!(count(&story, "to the human> it burns"), 1, "{}", story.transcript());
}

#[test]
fn reminder_for_the_night_rings_at_night() {
    let mut story = story_at("16T22:50", pinging_model());
    story.write_file(
        "reminders/pill.md",
        "---\nid: p1\nrun-at: 2026-11-17T02:00:00+01:00\n---\ntake the pill\n",
    );
    story.advance_time("3h 15m");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// Pings are capped: one that follows another within minutes is deferred, and so is the seventh of
/// a day.
#[test]
fn pings_are_capped_by_gap_and_per_day() {
    let mut story = story_at("16T09:55", pinging_model());
    story.user_commands("/ping-budget 20 10");
    story.write_file("routines/mail.md", &mail_routine("0,20 10")).advance_time("30m");
    assert_eq!(count(&story, "to the human>"), 1, "{}", story.transcript());
    assert!(
        story.transcript().contains("Something else has just reached the human"),
        "{}",
        story.transcript()
    );
    let mut story = story_at("16T08:55", pinging_model());
    story
        .user_commands("/ping-budget 20 10")
        .write_file("routines/mail.md", &mail_routine("0 9-16"))
        .advance_time("7h 30m");
    assert_eq!(count(&story, "to the human>"), 6, "{}", story.transcript());
    assert_eq!(count(&story, "Enough has reached the human today"), 2, "{}", story.transcript());
    story
        .user_commands("/config ping_caps off")
        .write_file("routines/mail.md", &mail_routine("0,20 17"))
        .advance_time("40m");
    assert_eq!(count(&story, "to the human>"), 7, "{}", story.transcript());
}
