//! Stories about faults: failed writes, panics, and crashes at any write.

use domain::dice::Dice;
use expect_test::{Expect, expect};
use testkit::oracle::{Ledger, examine};
use testkit::puppet::{Line, Puppet};
use testkit::story::{BREAK, Story, Trouble};

use crate::{MORNING, Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

fn assert_whole(story: &mut Story) {
    let wrong = wrong(story, &Ledger::default());
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", story.told());
}

/// Ignores findings about file permissions, which depend on the umask of the test process.
fn wrong(story: &mut Story, ledger: &Ledger) -> Vec<String> {
    let root = story.die().paths();
    let wrong = examine(root.root()).into_iter().chain(ledger.check(root.root()));
    wrong.filter(|wrong| !wrong.contains("has the mode")).collect()
}

/// B3: a message that cannot be written is refused, and nothing of it is stored.
pub fn a_message_that_cannot_be_written_is_refused_and_leaves_nothing(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning.")]);

    story.trouble(1, Trouble::Fails).human("good morning").human("good morning again");

    check(
        &story.told(),
        &expect![[r#"
            refused> i can't write that down: the disk is full.
            human> good morning again
            main> assistant: Morning.
        "#]],
    );
    assert_whole(&mut story);
}

/// B5: an announcement of the program is shown once it is written for the user; otherwise the
/// program gets an error.
pub fn what_the_program_announces_is_written_or_refused(told_by: Teller) {
    let mut story = story(told_by);
    story.with_messages().crash();
    story.trouble(1, Trouble::Fails).program_announces("the journal was damaged.").crash();
    story.program_announces("the journal was damaged.");

    check(
        &story.told(),
        &expect![[r#"
            -- crash
            refused> i can't write that down: the disk is full.
            -- crash
            notice> the journal was damaged.
        "#]],
    );
    assert_whole(&mut story);
}

/// B3: an answer that cannot be written is retried, and the user is notified once.
pub fn an_answer_that_cannot_be_written_is_tried_until_it_can(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning."), Line::says("Still here.")]);

    story.trouble(2, Trouble::Fails).trouble(3, Trouble::Fails).trouble(4, Trouble::Fails);
    story.human_adds("good morning").hears("i keep trying");
    for minute in 1..=20 {
        story.clock(&format!("08:{minute:02}"));
    }
    story.settle().human("still there?");

    let told: String =
        story.told().lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
    check(
        &told,
        &expect![[r#"
            human> good morning
            notice> i can't write things down right now: the disk is full. i keep trying.
            main> assistant: Morning.
            human> still there?
            main> assistant: Still here."#]],
    );
    assert_whole(&mut story);
}

/// B3: a tool whose decision cannot be written does not run.
pub fn a_tool_whose_decision_cannot_be_written_does_not_run(told_by: Teller) {
    let mut story = story(told_by);
    story.model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#),
        Line::calls("inbox_list", "{}"),
        Line::says("It is not there."),
    ]);

    story.trouble(2, Trouble::Fails).human("remember milk").human("what did you keep?");

    check(
        &story.told(),
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
    assert_whole(&mut story);
}

/// B3: the result of a tool that ran is not lost if it cannot be written at once.
pub fn a_result_that_cannot_be_written_at_once_is_not_lost(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::calls("status", "{}"), Line::says("Fine.")]);

    story.trouble(3, Trouble::Fails).human("how are you?").human("go on");

    check(
        &story.told(),
        &expect![[r#"
            human> how are you?
            main> calls status {}
            main> status: inbox: 0. messages waiting: 0.
            main> failed: i can't write that down: the disk is full.
            human> go on
            main> assistant: Fine.
        "#]],
    );
    assert_whole(&mut story);
}

pub fn a_model_that_breaks_ends_only_its_own_turn(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::Panics("Good mor".to_owned()), Line::says("Here again.")]);

    story.human("good morning").human("what happened?");

    check(
        &story.told(),
        &expect![[r#"
            human> good morning
            main> failed: something broke on my side; your message is kept.
            human> what happened?
            main> assistant: Here again.
        "#]],
    );
    assert_whole(&mut story);
}

pub fn a_tool_that_breaks_ends_only_its_own_turn_and_its_calls_are_answered(told_by: Teller) {
    let mut story = story(told_by);
    let broken = format!(r#"{{"text":"{BREAK}"}}"#);
    story.model([Line::calls_all(&[("inbox_add", &broken), ("status", "{}")]), Line::says("Here again.")]);

    story.human("remember this").human("what happened?");

    check(
        &story.told(),
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
    assert_whole(&mut story);
}

/// For a crash before or after any write the pending answer is given, and nothing is repeated.
pub fn a_death_at_any_writing_loses_nothing(told_by: Teller) {
    for (nth, trouble) in (1..=5).flat_map(|nth| [(nth, Trouble::DiesBefore), (nth, Trouble::DiesAfter)]) {
        let mut story = story(told_by);
        story.model([
            Line::calls("inbox_add", r#"{"text":"milk"}"#),
            Line::says("Kept."),
            Line::says("Kept."),
            Line::says("Kept."),
        ]);
        story.trouble(nth, trouble).human("remember milk").crash().settle().human("thanks");
        assert_whole(&mut story);
        let told = story.told();
        let heard = told.matches("human> remember milk").count();
        assert!(heard <= 1, "{told}");
        assert!(told.matches("inbox_add: kept as 1").count() <= 1 && !told.contains("kept as 2"), "{told}");
    }
}

#[test]
fn two_hundred_random_conversations_stay_whole() {
    for seed in 0..200 {
        converse(seed);
    }
}

#[test]
fn a_random_conversation_is_told_the_same_way_for_the_same_dice() {
    for seed in 1000..1010 {
        assert_eq!(converse(seed), converse(seed), "seed {seed}");
    }
}

/// Runs a random conversation with failures, failed writes and crashes. Returns its transcript.
fn converse(seed: u64) -> String {
    let mut story = Story::played_by(MORNING, Puppet::random(seed));
    let mut dice = Dice::new(seed);
    let mut ledger = Ledger::default();
    for number in 1..=4 {
        let text = format!("message {number}");
        let nth = usize::try_from(dice.roll() % 5).unwrap_or_default() + 1;
        match dice.roll() % 5 {
            0 => drop(story.trouble(nth, Trouble::DiesBefore).human(&text).crash().settle()),
            1 => drop(story.trouble(nth, Trouble::DiesAfter).human(&text).crash().settle()),
            2 => drop(story.trouble(1, Trouble::Fails).human(&text)),
            _ => drop(story.human(&text)),
        }
        if story.told().contains(&format!("human> {text}\n")) {
            ledger.acknowledged.push(text);
        }
    }
    let told = story.told();
    let wrong = wrong(&mut story, &ledger);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{told}");
    told
}
