//! `/why` reports deferred pings and reminders that rang, and never calls them silent.

use domain::card::Act;

use crate::{at, count, mail, pinging};

/// A deferred ping is reported with its number, and as shown after the digest.
#[test]
fn what_is_held_is_not_called_silent() {
    let mut story = at("16T22:50", pinging());
    story.file("routines/mail.md", &mail("0 23")).passes("20m");
    story.human_commands("/why routine:mail").human_commands("/why held:1");
    assert_eq!(
        count(&story, "held as held:1 until the next digest, since it was quiet"),
        2,
        "{}",
        story.told()
    );
    story.passes("11h").human_commands("/why held:1");
    assert_eq!(
        count(&story, "held as held:1 and told in a digest, since it was quiet"),
        1,
        "{}",
        story.told()
    );
    story.human_commands("/why held:9");
    assert!(story.told().contains("nothing was held under the number 9."), "{}", story.told());
    assert_eq!(count(&story, "silent"), 0, "{}", story.told());
}

/// A reminder on main uses no ping, and is reported as having rung.
#[test]
fn a_reminder_that_rang_is_not_called_silent() {
    let mut story = at("16T09:59", pinging());
    let reminder = "---\nid: d1\nrun-at: 2026-11-16T10:00:00+01:00\n---\ncall the dentist\n";
    story.file("reminders/call.md", reminder).passes("5m").human_commands("/why reminder:d1");
    assert_eq!(count(&story, "rang: it is open"), 1, "{}", story.told());
    story.human_presses_card("d1", Act::Done);
    story.human_commands("/why reminder:d1").human_commands("/why reminder:d1@2026-11-16T10:00");
    assert_eq!(count(&story, "rang: you did it"), 1, "{}", story.told());
    assert_eq!(count(&story, "it rang on 2026-11-16 at 10:00:00: you did it."), 1, "{}", story.told());
    assert_eq!(count(&story, "silent") + count(&story, "did not reach you"), 0, "{}", story.told());
}
