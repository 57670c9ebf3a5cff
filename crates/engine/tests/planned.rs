//! What is planned happens: once, in time or as late as its file allows, and one can see what became of it.

use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

const MAIL: &str =
    "---\nid: mail\ncron: 0 9 * * *\nbackground: true\ndescription: my mail\n---\nTriage my mail.\n";
const DENTIST: &str = "---\nid: d1\nrun-at: 2026-11-16T10:00:00+01:00\n---\ncall the dentist\n";

fn sunday() -> Story {
    Story::new("2026-11-15T20:00[Europe/Madrid]")
}

#[test]
fn a_routine_runs_in_the_background_and_a_reminder_is_heard_on_main() {
    let mut story = sunday();
    story.model([Line::says("Nothing new."), Line::says("Time to call the dentist.")]);
    story.file("routines/mail.md", MAIL).file("reminders/call-the-dentist.md", DENTIST);
    story.passes("14h 30m");
    expect![[r#"
        fork/e6984080> assistant: Nothing new.
        main> assistant: Time to call the dentist.
        -- mon 10:30
    "#]]
    .assert_eq(&story.told());
    expect![[r#"
        mon 09:00:00 routine:mail try 1 done
        mon 10:00:00 reminder:d1 try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// A7: while a job is being done, one time waits and the next is left out; none of that begins a second run.
#[test]
fn a_time_that_is_left_out_does_not_let_the_waiting_one_begin() {
    let mut story = Story::new("2026-11-15T20:00[Europe/Madrid]");
    story.model([Line::holds("still at it")]);
    story.file(
        "routines/slow.md",
        "---\nid: slow\ncron: \"*/10 * * * *\"\nbackground: true\noverlap: queue\n---\nTake your time.\n",
    );
    story.passes("35m");
    expect![[r#"
        sun 20:10:00 routine:slow try 1 running
        sun 20:20:00 routine:slow try 0 queued
        sun 20:30:00 routine:slow try 0 skipped: the one before it was still being done"#]]
    .assert_eq(&story.occurrences());
}
