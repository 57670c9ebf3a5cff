//! Quiet hours and ping caps: pings of runs wait, reminders set by the user ring.

use testkit::puppet::{Line, Puppet};

use crate::{at, count, mail, pinging};

/// A ping at night is deferred, the run is notified, and the digest of the morning shows it.
#[test]
fn a_ping_at_night_waits_until_the_morning() {
    let mut story = at("16T22:50", pinging());
    story.file("routines/mail.md", &mail("0 23")).passes("20m");
    assert!(
        story.told().contains("It is quiet time, so nothing rang. Your words are kept"),
        "{}",
        story.told()
    );
    assert_eq!(count(&story, "to the human>"), 0, "{}", story.told());
    story.passes("9h");
    assert_eq!(count(&story, "ping 1 (23:00, it was quiet)"), 0, "it is not 8:30 yet: {}", story.told());
    story.passes("30m");
    assert_eq!(count(&story, "my mail: ping 1 (23:00, it was quiet)"), 1, "{}", story.told());
}

/// The user can change the quiet hours or switch them off.
#[test]
fn quiet_hours_can_be_set() {
    let mut story = at("16T22:50", pinging());
    story.file("routines/mail.md", &mail("0,50 22-23")).human_commands("/quiet 23:30-7");
    story.passes("20m");
    assert_eq!(count(&story, "to the human> ping 1"), 1, "{}", story.told());
    story.passes("45m");
    assert!(story.told().contains("It is quiet time"), "{}", story.told());
    story.human_commands("/quiet off").human_commands("/quiet");
    assert!(story.told().contains("told> there are no quiet hours."), "{}", story.told());
    story.human_commands("/config quiet later");
    assert!(
        story.told().contains("quiet: it cannot be `later`. use two times such as `22-8`"),
        "{}",
        story.told()
    );
}

/// The user can ask for two hours of quiet by day, and can end them early.
#[test]
fn quiet_for_a_while_is_over_after_that() {
    let mut story = at("16T10:00", pinging());
    story.file("routines/mail.md", &mail("30 10,12")).human_commands("/quiet for 2h");
    assert!(story.told().contains("it is quiet until today 12:00 · in 2 h."), "{}", story.told());
    story.passes("1h").crash().passes("30m");
    assert_eq!(count(&story, "to the human>"), 0, "{}", story.told());
    story.passes("1h 10m");
    assert_eq!(count(&story, "to the human> ping 2"), 1, "{}", story.told());
    story.human_commands("/quiet for 1h").human_commands("/quiet off").human_commands("/quiet");
    assert!(
        story.told().ends_with("told> quiet hours are 22:00-08:00. what you set for a time still rings.\n"),
        "{}",
        story.told()
    );
}

/// A critical ping rings at night.
#[test]
fn what_is_critical_rings_at_night() {
    let puppet = Puppet::answering(|context| {
        let last = context.said.last().map(|said| crate::words(said)).unwrap_or_default();
        if last.contains("[routine-bg:") {
            Line::calls("ping_user", r#"{"message":"it burns","critical":true}"#)
        } else {
            Line::says("Done.")
        }
    });
    let mut story = at("16T22:50", puppet);
    story.file("routines/mail.md", &mail("0 23")).passes("20m");
    assert_eq!(count(&story, "to the human> it burns"), 1, "{}", story.told());
}

#[test]
fn a_reminder_for_the_night_rings_at_night() {
    let mut story = at("16T22:50", pinging());
    story.file("reminders/pill.md", "---\nid: p1\nrun-at: 2026-11-17T02:00:00+01:00\n---\ntake the pill\n");
    story.passes("3h 15m");
    assert!(story.occurrences().contains("done"), "{}", story.occurrences());
}

/// Pings are capped: one that follows another within minutes is deferred, and so is the seventh of
/// a day.
#[test]
fn enough_is_enough() {
    let mut story = at("16T09:55", pinging());
    story.human_commands("/ping-budget 20 10");
    story.file("routines/mail.md", &mail("0,20 10")).passes("30m");
    assert_eq!(count(&story, "to the human>"), 1, "{}", story.told());
    assert!(story.told().contains("Something else has just reached the human"), "{}", story.told());
    let mut story = at("16T08:55", pinging());
    story.human_commands("/ping-budget 20 10").file("routines/mail.md", &mail("0 9-16")).passes("7h 30m");
    assert_eq!(count(&story, "to the human>"), 6, "{}", story.told());
    assert_eq!(count(&story, "Enough has reached the human today"), 2, "{}", story.told());
    story.human_commands("/config ping_caps off").file("routines/mail.md", &mail("0,20 17")).passes("40m");
    assert_eq!(count(&story, "to the human>"), 7, "{}", story.told());
}
