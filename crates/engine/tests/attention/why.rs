//! `/why` reports deferred pings and reminders that rang, and never calls them silent.

use domain::card::CardAction;

use crate::{count, mail_routine, pinging_model, story_at};

/// A deferred ping is reported with its number, and as shown after the digest.
#[test]
fn deferred_ping_is_not_called_silent() {
    let mut story = story_at("16T22:50", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("0 23")).advance_time("20m");
    story.user_commands("/why routine:mail").user_commands("/why held:1");
    assert_eq!(
        count(&story, "held as held:1 until the next digest, since it was quiet"),
        2,
        "{}",
        story.transcript()
    );
    story.advance_time("11h").user_commands("/why held:1");
    assert_eq!(
        count(&story, "held as held:1 and told in a digest, since it was quiet"),
        1,
        "{}",
        story.transcript()
    );
    story.user_commands("/why held:9");
    assert!(story.transcript().contains("nothing was held under the number 9."), "{}", story.transcript());
    assert_eq!(count(&story, "silent"), 0, "{}", story.transcript());
}

/// A reminder on main uses no ping, and is reported as having rung.
#[test]
fn reminder_that_rang_is_not_called_silent() {
    let mut story = story_at("16T09:59", pinging_model());
    let reminder = "---\nid: d1\nrun-at: 2026-11-16T10:00:00+01:00\n---\ncall the dentist\n";
    story.write_file("reminders/call.md", reminder).advance_time("5m").user_commands("/why reminder:d1");
    assert_eq!(count(&story, "rang: it is open"), 1, "{}", story.transcript());
    story.user_presses_card("d1", CardAction::Done);
    story.user_commands("/why reminder:d1").user_commands("/why reminder:d1@2026-11-16T10:00");
    assert_eq!(count(&story, "rang: you did it"), 1, "{}", story.transcript());
    assert_eq!(count(&story, "it rang on 2026-11-16 at 10:00:00: you did it."), 1, "{}", story.transcript());
    assert_eq!(count(&story, "silent") + count(&story, "did not reach you"), 0, "{}", story.transcript());
}
