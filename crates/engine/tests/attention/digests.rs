//! Digests: all deferred messages are shown once at a set time, whatever happens to the program.

use testkit::story::JournalFault;

use crate::{count, mail_routine, pinging_model, story_at};

#[test]
fn day_without_deferred_messages_has_no_digest() {
    let mut story = story_at("16T08:00", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("0 10,12")).advance_time("12h");
    assert_eq!(count(&story, "waited for a good moment"), 0, "{}", story.transcript());
}

/// Messages deferred over several nights while the assistant was off become one digest after the
/// start.
#[test]
fn late_start_shows_one_digest() {
    let mut story = story_at("16T22:50", pinging_model());
    story.write_file("routines/mail.md", &mail_routine("0 23,1,3")).advance_time("5h");
    story.stop_for("50h").advance_time("10m");
    assert_eq!(count(&story, "waited for a good moment"), 1, "{}", story.transcript());
    assert_eq!(count(&story, "ping 1 (23:00, it was quiet)"), 1, "{}", story.transcript());
    story.advance_time("2h");
    assert_eq!(count(&story, "ping 1 (23:00, it was quiet)"), 1, "{}", story.transcript());
}

/// A digest is shown exactly once for every point at which the program crashes.
#[test]
fn digest_is_shown_once_wherever_the_program_crashes() {
    for nth in 1..=9 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail] {
            let mut story = story_at("16T07:29", pinging_model());
            story.user_commands("/config digest 7:35").write_file("routines/mail.md", &mail_routine("30 7"));
            story.inject_journal_fault(nth, trouble).advance_time("10m").crash().advance_time("10m");
            let tree = story.tree();
            let held = tree.matches("Your words are kept").count();
            let told = tree.matches("my mail: ping ").count();
            // A crash before the ping was deferred leaves nothing to show.
            assert!(
                told <= 1 && held <= told && (told == 1 || nth < 6),
                "{nth} {trouble:?}: {tree}\n{}",
                story.transcript()
            );
        }
    }
}

/// `/held` shows the deferred messages at once, and the digest does not repeat them.
#[test]
fn held_command_shows_deferred_messages_once() {
    let mut story = story_at("16T22:50", pinging_model());
    story
        .write_file("routines/mail.md", &mail_routine("0 23"))
        .user_commands("/held")
        .advance_time("20m")
        .user_commands("/held");
    assert!(story.transcript().contains("told> nothing is held."), "{}", story.transcript());
    assert_eq!(count(&story, "my mail: ping 1 (23:00, it was quiet)"), 1, "{}", story.transcript());
    story.advance_time("12h");
    assert_eq!(count(&story, "my mail: ping 1"), 1, "{}", story.transcript());
}

/// Without digests, deferred messages wait until the user asks for them.
#[test]
fn deferred_messages_wait_for_the_user_without_digests() {
    let mut story = story_at("16T22:50", pinging_model());
    story
        .user_commands("/config digest off")
        .write_file("routines/mail.md", &mail_routine("0 23"))
        .advance_time("30h");
    assert_eq!(count(&story, "waited for a good moment"), 0, "{}", story.transcript());
    story.user_commands("/held");
    assert_eq!(count(&story, "2 things waited for a good moment"), 1, "{}", story.transcript());
}

/// SC-13: with a message surface, missed times are part of the digest and not a message of their
/// own, also after a crash. Without digests they are shown at once.
#[test]
fn missed_times_wait_for_the_digest() {
    let call = "---\nid: d1\nrun-at: 2026-11-16T09:05:00+01:00\n---\ncall the dentist\n";
    let missing = |digest: &str| {
        let mut story = story_at("16T08:00", pinging_model());
        story.reachable_by_messages().user_commands(&format!("/config digest {digest}"));
        story.write_file("reminders/call.md", call).advance_time("1s").stop_for("8d 2h").advance_time("1m");
        story
    };
    let mut story = missing("8:30 17:30");
    assert_eq!(count(&story, "while i was away"), 0, "{}", story.transcript());
    assert_eq!(story.inbox(), "1. call the dentist");
    story.crash().advance_time("8h");
    let told = "main> assistant: while i was away these times passed, and it is too late for them now:\n- call the \
                dentist: mon 16 nov 09:05";
    assert_eq!(count(&story, told), 1, "{}", story.transcript());
    story.advance_time("24h");
    assert_eq!(count(&story, "while i was away"), 1, "{}", story.transcript());
    let story = missing("off");
    assert_eq!(count(&story, "notice> while i was away these times passed"), 1, "{}", story.transcript());
}
