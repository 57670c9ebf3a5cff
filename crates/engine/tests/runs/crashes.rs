//! Crashes during runs, at every write: no entry is lost, and no message is sent twice.

use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::Line;
use testkit::story::{Story, Trouble, forked};

use crate::{check, pings, story};

fn mail(story: &mut Story) {
    story.model([pings("two mails"), Line::says("Done."), Line::says("Done."), Line::says("Done.")]);
    story.background(forked("routine:mail", "[routine-bg:mail] Triage my mail.")).settle();
}

/// SE-11, MT-2: a run continues after a crash, and its earlier ping stays tracked.
#[test]
fn a_run_goes_on_after_a_crash() {
    let mut story = story();
    story.model([Line::says("Morning."), pings("two mails"), Line::holds("Let me"), Line::says("Done.")]);
    story
        .human("good morning")
        .background_begins([forked("routine:mail", "[routine-bg:mail] Triage my mail.")]);
    story.hears("to the human").asked(3).crash().settle();
    check(
        &story.told(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        -- routine:mail runs: [routine-bg:mail] Triage my mail.
        fork/3fdabe86> calls ping_user {"message":"two mails"}
        fork/3fdabe86> ping_user: Message sent.
        routine:mail (5) to the human> two mails
        -- crash
        fork/3fdabe86> assistant: Done.
    "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da","message_id":5,"parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
    "#]],
    );
    check(
        &story.state("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]],
    );
}

/// SE-11, MT-5: a run during which the program crashes repeatedly ends visibly.
#[test]
fn a_run_ends_visibly_when_the_program_keeps_dying() {
    let mut story = story();
    story.model([pings("up"), Line::holds("1"), Line::holds("2"), Line::holds("3")]);
    story.background_begins([forked("routine:mail", "[routine-bg:mail] Triage my mail.")]).asked(2);
    story.crash().asked(3).crash().asked(4).crash().hears("could not be finished");
    check(
        &story.told(),
        &expect![[r#"
        -- routine:mail runs: [routine-bg:mail] Triage my mail.
        fork/e6984080> calls ping_user {"message":"up"}
        fork/e6984080> ping_user: Message sent.
        routine:mail (3) to the human> up
        -- crash
        -- crash
        -- crash
        notice> routine:mail could not be finished: i stopped 3 times in the middle of it, so i left it.
        fork/e6984080> failed: i stopped 3 times in the middle of it, so i left it.
    "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","message_id":3,"parent_session_id":null}
    "#]],
    );
}

/// SE-11, MT-6: for a crash or failed write at any point there is one event, and at most one record
/// of the ping.
#[test]
fn a_run_leaves_one_event_wherever_the_program_dies() {
    for nth in 1..=7 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter, Trouble::Fails] {
            let mut story = story();
            story.trouble(nth, trouble);
            mail(&mut story);
            story.crash().settle().die();
            let events = story.state("session_history.jsonl").matches("bg_fork").count();
            let sent = story.origins().matches("message_id").count();
            let begun = usize::from(!(nth == 1 && trouble != Trouble::DiesAfter));
            assert_eq!(events, begun, "{nth} {trouble:?}: {}", story.told());
            assert!(sent <= 1, "{nth} {trouble:?}");
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// MT-6: the file of sent messages is repaired at the next start after a crash, and foreign entries
/// are kept.
#[test]
fn the_file_follows_after_a_crash() {
    let mut story = story();
    mail(&mut story);
    story.die();
    let file = story.paths().state().join("fork_messages.json");
    let other = r#"[{"message_id":1340012345678901234,"fork_session_id":"9d1e","parent_session_id":null,"ts":1794726000.5}]"#;
    std::fs::write(&file, other).unwrap();
    story.crash();
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","message_id":3,"parent_session_id":null}
        {"fork_session_id":"9d1e","message_id":1340012345678901234,"parent_session_id":null}
    "#]],
    );
    story.model([Line::says("Who?")]);
    story.human_replies(1_340_012_345_678_901_234, "hello");
    assert!(story.told().contains("notice> i don't know the session of that message"), "{}", story.told());

    story.die();
    std::fs::write(&file, "[{").unwrap();
    story.crash();
    assert!(story.told().contains("fork_messages.json was damaged"), "{}", story.told());
    assert_eq!(story.origins().matches("message_id").count(), 2);
}
