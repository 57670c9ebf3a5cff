//! Crashes during runs, at every write: no entry is lost, and no message is sent twice.

use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{JournalFault, Story, forked_job};

use crate::{check, ping_call, story};

fn run_mail(story: &mut Story) {
    story.script([
        ping_call("two mails"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Done."),
    ]);
    story
        .run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."))
        .wait_for_answers();
}

/// SE-11, MT-2: a run continues after a crash, and its earlier ping stays tracked.
#[test]
fn run_continues_after_a_crash() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ping_call("two mails"),
        ModelOutcome::hang("Let me"),
        ModelOutcome::text("Done."),
    ]);
    story
        .user("good morning")
        .start_in_background([forked_job("routine:mail", "[routine-bg:mail] Triage my mail.")]);
    story.wait_for_line("to the human").wait_for_model_calls(3).crash().wait_for_answers();
    check(
        &story.transcript(),
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
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]],
    );
}

/// SE-11, MT-5: a run during which the program crashes repeatedly ends visibly.
#[test]
fn run_ends_visibly_after_repeated_crashes() {
    let mut story = story();
    story.script([
        ping_call("up"),
        ModelOutcome::hang("1"),
        ModelOutcome::hang("2"),
        ModelOutcome::hang("3"),
    ]);
    story
        .start_in_background([forked_job("routine:mail", "[routine-bg:mail] Triage my mail.")])
        .wait_for_model_calls(2);
    story
        .crash()
        .wait_for_model_calls(3)
        .crash()
        .wait_for_model_calls(4)
        .crash()
        .wait_for_line("could not be finished");
    check(
        &story.transcript(),
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
fn run_leaves_one_event_wherever_the_program_crashes() {
    for nth in 1..=7 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail] {
            let mut story = story();
            story.inject_journal_fault(nth, trouble);
            run_mail(&mut story);
            story.crash().wait_for_answers().stop();
            let events = story.state_file("session_history.jsonl").matches("bg_fork").count();
            let sent = story.origins().matches("message_id").count();
            let begun = usize::from(!(nth == 1 && trouble != JournalFault::CrashAfter));
            assert_eq!(events, begun, "{nth} {trouble:?}: {}", story.transcript());
            assert!(sent <= 1, "{nth} {trouble:?}");
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// MT-6: the file of sent messages is repaired at the next start after a crash, and foreign entries
/// are kept.
#[test]
fn file_is_repaired_after_a_crash() {
    let mut story = story();
    run_mail(&mut story);
    story.stop();
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
    story.script([ModelOutcome::text("Who?")]);
    story.user_replies(1_340_012_345_678_901_234, "hello");
    assert!(
        story.transcript().contains("notice> i don't know the session of that message"),
        "{}",
        story.transcript()
    );

    story.stop();
    std::fs::write(&file, "[{").unwrap();
    story.crash();
    assert!(story.transcript().contains("fork_messages.json was damaged"), "{}", story.transcript());
    assert_eq!(story.origins().matches("message_id").count(), 2);
}
