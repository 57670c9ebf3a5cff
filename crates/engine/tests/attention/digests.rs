//! Digests: all deferred messages are shown once at a set time, whatever happens to the program.

use testkit::story::Trouble;

use crate::{at, count, mail, pinging};

#[test]
fn a_day_on_which_nothing_was_held_has_no_digest() {
    let mut story = at("16T08:00", pinging());
    story.file("routines/mail.md", &mail("0 10,12")).passes("12h");
    assert_eq!(count(&story, "waited for a good moment"), 0, "{}", story.told());
}

/// Messages deferred over several nights while the assistant was off become one digest after the
/// start.
#[test]
fn a_late_start_tells_one_digest() {
    let mut story = at("16T22:50", pinging());
    story.file("routines/mail.md", &mail("0 23,1,3")).passes("5h");
    story.away("50h").passes("10m");
    assert_eq!(count(&story, "waited for a good moment"), 1, "{}", story.told());
    assert_eq!(count(&story, "ping 1 (23:00, it was quiet)"), 1, "{}", story.told());
    story.passes("2h");
    assert_eq!(count(&story, "ping 1 (23:00, it was quiet)"), 1, "{}", story.told());
}

/// A digest is shown exactly once for every point at which the program crashes.
#[test]
fn a_digest_is_told_once_wherever_the_program_dies() {
    for nth in 1..=9 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter, Trouble::Fails] {
            let mut story = at("16T07:29", pinging());
            story.human_commands("/config digest 7:35").file("routines/mail.md", &mail("30 7"));
            story.trouble(nth, trouble).passes("10m").crash().passes("10m");
            let tree = story.tree();
            let held = tree.matches("Your words are kept").count();
            let told = tree.matches("my mail: ping ").count();
            // A crash before the ping was deferred leaves nothing to show.
            assert!(
                told <= 1 && held <= told && (told == 1 || nth < 6),
                "{nth} {trouble:?}: {tree}\n{}",
                story.told()
            );
        }
    }
}

/// `/held` shows the deferred messages at once, and the digest does not repeat them.
#[test]
fn what_is_held_is_told_to_who_asks() {
    let mut story = at("16T22:50", pinging());
    story
        .file("routines/mail.md", &mail("0 23"))
        .human_commands("/held")
        .passes("20m")
        .human_commands("/held");
    assert!(story.told().contains("told> nothing is held."), "{}", story.told());
    assert_eq!(count(&story, "my mail: ping 1 (23:00, it was quiet)"), 1, "{}", story.told());
    story.passes("12h");
    assert_eq!(count(&story, "my mail: ping 1"), 1, "{}", story.told());
}

/// Without digests, deferred messages wait until the user asks for them.
#[test]
fn without_digests_nothing_is_told_by_itself() {
    let mut story = at("16T22:50", pinging());
    story.human_commands("/config digest off").file("routines/mail.md", &mail("0 23")).passes("30h");
    assert_eq!(count(&story, "waited for a good moment"), 0, "{}", story.told());
    story.human_commands("/held");
    assert_eq!(count(&story, "2 things waited for a good moment"), 1, "{}", story.told());
}

/// SC-13: with a message surface, missed times are part of the digest and not a message of their
/// own, also after a crash. Without digests they are shown at once.
#[test]
fn what_was_missed_waits_for_the_digest() {
    let call = "---\nid: d1\nrun-at: 2026-11-16T09:05:00+01:00\n---\ncall the dentist\n";
    let missing = |digest: &str| {
        let mut story = at("16T08:00", pinging());
        story.with_messages().human_commands(&format!("/config digest {digest}"));
        story.file("reminders/call.md", call).passes("1s").away("8d 2h").passes("1m");
        story
    };
    let mut story = missing("8:30 17:30");
    assert_eq!(count(&story, "while i was away"), 0, "{}", story.told());
    assert_eq!(story.inbox(), "1. call the dentist");
    story.crash().passes("8h");
    let told = "main> assistant: while i was away these times passed, and it is too late for them now:\n- call the \
                dentist: mon 16 nov 09:05";
    assert_eq!(count(&story, told), 1, "{}", story.told());
    story.passes("24h");
    assert_eq!(count(&story, "while i was away"), 1, "{}", story.told());
    let story = missing("off");
    assert_eq!(count(&story, "notice> while i was away these times passed"), 1, "{}", story.told());
}
