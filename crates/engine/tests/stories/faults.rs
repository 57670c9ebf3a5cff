//! Stories about faults: failed writes, panics, and crashes at any write.

use domain::rng::Rng;
use expect_test::{Expect, expect};
use testkit::oracle::{Observations, find_violations};
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, PANIC_MARKER, Story};

use crate::{MORNING, ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

fn assert_consistent(story: &mut Story) {
    let wrong = findings(story, &Observations::default());
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", story.transcript());
}

/// Ignores findings about file permissions, which depend on the umask of the test process.
fn findings(story: &mut Story, ledger: &Observations) -> Vec<String> {
    let root = story.stop().paths();
    let wrong = find_violations(root.root()).into_iter().chain(ledger.check(root.root()));
    wrong.filter(|wrong| !wrong.contains("has the mode")).collect()
}

/// B3: a message that cannot be written is refused, and nothing of it is stored.
pub fn unwritable_message_is_refused_and_leaves_nothing(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Morning.")]);

    story.inject_journal_fault(1, JournalFault::Fail).user("good morning").user("good morning again");

    check(
        &story.transcript(),
        &expect![[r#"
            refused> i can't write that down: the disk is full.
            human> good morning again
            main> assistant: Morning.
        "#]],
    );
    assert_consistent(&mut story);
}

/// B5: an announcement of the program is shown once it is written for the user; otherwise the
/// program gets an error.
pub fn announcement_is_written_or_refused(model: ModelKind) {
    let mut story = story(model);
    story.reachable_by_messages().crash();
    story.inject_journal_fault(1, JournalFault::Fail).program_announces("the journal was damaged.").crash();
    story.program_announces("the journal was damaged.");

    check(
        &story.transcript(),
        &expect![[r#"
            -- crash
            refused> i can't write that down: the disk is full.
            -- crash
            notice> the journal was damaged.
        "#]],
    );
    assert_consistent(&mut story);
}

/// B3: an answer that cannot be written is retried, and the user is notified once.
pub fn unwritable_answer_is_retried_until_written(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Morning."), ModelOutcome::text("Still here.")]);

    story
        .inject_journal_fault(2, JournalFault::Fail)
        .inject_journal_fault(3, JournalFault::Fail)
        .inject_journal_fault(4, JournalFault::Fail);
    story.user_sends("good morning").wait_for_line("i keep trying");
    for minute in 1..=20 {
        story.clock(&format!("08:{minute:02}"));
    }
    story.wait_for_answers().user("still there?");

    let told: String =
        story.transcript().lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    check(
        &told,
        &expect![[r#"
            human> good morning
            notice> i can't write things down right now: the disk is full. i keep trying.
            main> assistant: Morning.
            human> still there?
            main> assistant: Still here."#]],
    );
    assert_consistent(&mut story);
}

/// B3: a tool whose decision cannot be written does not run.
pub fn tool_with_an_unwritable_decision_does_not_run(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
        ModelOutcome::tool_call("inbox_list", "{}"),
        ModelOutcome::text("It is not there."),
    ]);

    story.inject_journal_fault(2, JournalFault::Fail).user("remember milk").user("what did you keep?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> remember milk
            main> calls inbox_add {"text":"milk"}
            main> inbox_add: this was not run.
            main> failed: i can't write that down: the disk is full.
            human> what did you keep?
            main> calls inbox_list {}
            main> inbox_list: the inbox is empty.
            main> assistant: It is not there.
        "#]],
    );
    assert_consistent(&mut story);
}

/// B3: the result of a tool that ran is not lost if it cannot be written at once.
pub fn unwritable_result_is_not_lost(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::tool_call("status", "{}"), ModelOutcome::text("Fine.")]);

    story.inject_journal_fault(3, JournalFault::Fail).user("how are you?").user("go on");

    check(
        &story.transcript(),
        &expect![[r#"
            human> how are you?
            main> calls status {}
            main> status: inbox: 0. messages waiting: 0.
            main> failed: i can't write that down: the disk is full.
            human> go on
            main> assistant: Fine.
        "#]],
    );
    assert_consistent(&mut story);
}

pub fn panic_of_the_model_ends_only_its_turn(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::Panic("Good mor".to_owned()), ModelOutcome::text("Here again.")]);

    story.user("good morning").user("what happened?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> failed: something broke on my side; your message is kept.
            human> what happened?
            main> assistant: Here again.
        "#]],
    );
    assert_consistent(&mut story);
}

pub fn panic_of_a_tool_ends_only_its_turn_and_its_calls_are_answered(model: ModelKind) {
    let mut story = story(model);
    let broken = format!(r#"{{"text":"{PANIC_MARKER}"}}"#);
    story.script([
        ModelOutcome::tool_calls(&[("inbox_add", &broken), ("status", "{}")]),
        ModelOutcome::text("Here again."),
    ]);

    story.user("remember this").user("what happened?");

    check(
        &story.transcript(),
        &expect![[r#"
            human> remember this
            main> calls inbox_add {"text":"(break your hands)"}
            main> calls status {}
            main> inbox_add: the program was stopped while this ran, so nobody knows whether it happened. it was not repeated. tell the human, and check before doing it again.
            main> status: the program was stopped while this ran, so nobody knows whether it happened. it was not repeated. tell the human, and check before doing it again.
            main> failed: something broke on my side; your message is kept.
            human> what happened?
            main> assistant: Here again.
        "#]],
    );
    assert_consistent(&mut story);
}

/// For a crash before or after any write the pending answer is given, and nothing is repeated.
pub fn crash_at_any_write_loses_nothing(model: ModelKind) {
    for (nth, trouble) in
        (1..=5).flat_map(|nth| [(nth, JournalFault::CrashBefore), (nth, JournalFault::CrashAfter)])
    {
        let mut story = story(model);
        story.script([
            ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
            ModelOutcome::text("Kept."),
            ModelOutcome::text("Kept."),
            ModelOutcome::text("Kept."),
        ]);
        story
            .inject_journal_fault(nth, trouble)
            .user("remember milk")
            .crash()
            .wait_for_answers()
            .user("thanks");
        assert_consistent(&mut story);
        let told = story.transcript();
        let heard = told.matches("human> remember milk").count();
        assert!(heard <= 1, "{told}");
        assert!(told.matches("inbox_add: kept as 1").count() <= 1 && !told.contains("kept as 2"), "{told}");
    }
}

#[test]
fn two_hundred_random_conversations_stay_consistent() {
    for seed in 0..200 {
        run_random_conversation(seed);
    }
}

#[test]
fn random_conversation_is_deterministic_for_a_seed() {
    for seed in 1000..1010 {
        assert_eq!(run_random_conversation(seed), run_random_conversation(seed), "seed {seed}");
    }
}

/// Runs a random conversation with failures, failed writes and crashes. Returns its transcript.
fn run_random_conversation(seed: u64) -> String {
    let mut story = Story::with_model(MORNING, ScriptedModel::random(seed));
    let mut dice = Rng::new(seed);
    let mut ledger = Observations::default();
    for number in 1..=4 {
        let text = format!("message {number}");
        let nth = usize::try_from(dice.next_u64() % 5).unwrap_or_default() + 1;
        match dice.next_u64() % 5 {
            0 => drop(
                story
                    .inject_journal_fault(nth, JournalFault::CrashBefore)
                    .user(&text)
                    .crash()
                    .wait_for_answers(),
            ),
            1 => drop(
                story
                    .inject_journal_fault(nth, JournalFault::CrashAfter)
                    .user(&text)
                    .crash()
                    .wait_for_answers(),
            ),
            2 => drop(story.inject_journal_fault(1, JournalFault::Fail).user(&text)),
            _ => drop(story.user(&text)),
        }
        if story.transcript().contains(&format!("human> {text}\n")) {
            ledger.acknowledged.push(text);
        }
    }
    let told = story.transcript();
    let wrong = findings(&mut story, &ledger);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{told}");
    told
}
