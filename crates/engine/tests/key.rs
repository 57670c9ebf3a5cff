//! Stories about a model that refuses the key.

use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn refused() -> ModelOutcome {
    ModelOutcome::fail(Failure::BadKey("401: expired".to_owned()))
}

/// E5: one notice is shown, messages are queued, and after the login each is answered in order.
#[test]
fn messages_wait_for_the_key_and_are_answered_in_order() {
    let mut story = story();
    story.script([
        refused(),
        refused(),
        refused(),
        ModelOutcome::text("One."),
        ModelOutcome::text("Two."),
        ModelOutcome::text("Three."),
    ]);

    story
        .user_sends("first")
        .wait_for_line("refused the key")
        .user_sends("second")
        .wait_for_last_line("still waits");
    story.user_sends("third").wait_for_last_line("still waits").user_renews_the_key().wait_for_answers();

    expect![[r#"
        human> first
        notice> The model refused the key (401: expired). Your messages are kept and answered in order once it accepts a key. `ollim-bot doctor` checks the key. I try again after a while, and at once when the key file changes or you send a message.
        main> still waits
        main> still waits
        main> assistant: One.
        human> second
        main> assistant: Two.
        human> third
        main> assistant: Three.
    "#]]
    .assert_eq(&story.transcript());
    expect![[r#"
        human: first
        assistant: One.
        human: second
        assistant: Two.
        human: third
        assistant: Three.  <- main
    "#]]
    .assert_eq(&story.tree());
}

/// E5: a new key is detected without a message of the user, and a later refusal is shown again.
#[test]
fn new_key_is_detected_and_a_later_refusal_is_shown_again() {
    let mut story = story();
    story.script([refused(), ModelOutcome::text("One."), refused(), ModelOutcome::text("Two.")]);
    story.user_sends("first").wait_for_line("refused the key").user_renews_the_key().wait_for_answers();
    story.user_sends("second").wait_for_line("human> second").user_renews_the_key().wait_for_answers();

    let told = story.transcript();
    assert_eq!(told.matches("notice> The model refused the key").count(), 2, "{told}");
    assert!(told.contains("assistant: One.") && told.contains("assistant: Two."), "{told}");
}

/// E5: after a temporary refusal of a good key the answer comes without a message of the user, and
/// the vendor gets only a few requests an hour.
#[test]
fn refused_key_is_retried_automatically() {
    let mut story = story();
    story.script((0..6).map(|_| refused()));
    story.user_sends("first").wait_for_line("refused the key");
    story.advance_time("1h");
    assert_eq!(story.contexts().len(), 6, "tried again after 1, 2, 4, 8 and 16 minutes");
    story.script([ModelOutcome::text("One.")]).advance_time("31m");
    let told = story.transcript();
    assert!(told.contains("assistant: One."), "{told}");
    assert_eq!(told.matches("notice> The model refused the key").count(), 1, "{told}");
}

/// E5: a tool that ran before the refusal does not run again, and a partial answer is not stored
/// beside the complete one.
#[test]
fn turn_refused_in_the_middle_continues_where_it_stopped() {
    let mut story = story();
    story.with_retries().script([
        ModelOutcome::tool_call("inbox_add", r#"{"text":"milk"}"#),
        ModelOutcome::Fail("Ke".to_owned(), Failure::CutOff("gone".to_owned())),
        refused(),
        ModelOutcome::text("Kept."),
    ]);
    story
        .user_sends("remember milk")
        .wait_for_line("refused the key")
        .user_commands("/retry")
        .wait_for_answers();

    expect![[r#"
        human: remember milk
        assistant: calls inbox_add
        tools: kept as 1
        assistant: Kept.  <- main
    "#]]
    .assert_eq(&story.tree());
}

/// E5, A1: queued messages survive any number of restarts and are answered once the key is
/// accepted.
#[test]
fn messages_waiting_for_a_key_survive_restarts() {
    let mut story = story();
    story.script(std::iter::repeat_with(refused).take(7));
    story
        .user_sends("first")
        .wait_for_line("refused the key")
        .user_sends("second")
        .wait_for_line("still waits");
    for _ in 0..5 {
        story.crash().wait_for_last_line("notice> The model refused the key");
    }
    story.script([ModelOutcome::text("One."), ModelOutcome::text("Two.")]);
    story.crash().wait_for_answers();

    expect![[r#"
        human: first
        assistant: One.
        human: second
        assistant: Two.  <- main
    "#]]
    .assert_eq(&story.tree());
}

#[test]
fn stopping_a_blocked_turn_starts_the_next_message() {
    let mut story = story();
    story.script([refused(), refused(), ModelOutcome::text("Two.")]);
    story
        .user_sends("first")
        .wait_for_line("refused the key")
        .user_sends("second")
        .wait_for_line("still waits");
    story.user_stops();
    let told = story.transcript();
    let stopped = "main> stopped\nnotice> stopped: i will not answer `first`. messages still waiting: 1.\n";
    assert!(told.ends_with(&format!("{stopped}human> second\nmain> assistant: Two.\n")), "{told}");
}

/// A model that was unreachable refuses the key during a compaction: the turn waits for the key,
/// and is not retried at the times planned for an unreachable model.
#[test]
fn turn_blocked_by_the_key_after_a_full_context_is_not_retried_as_unreachable() {
    let mut story = story();
    let full = ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::fail(Failure::Overloaded(None)),
        full,
        refused(),
    ]);
    story
        .user("my booking to Lisbon is LH4711")
        .user_sends("what was my booking?")
        .wait_for_line("overloaded");
    story.advance_time("10s");
    let asked = story.contexts().len();
    assert_eq!(asked, 4, "{}", story.transcript());
    story.user_commands("/compact").advance_time("50s");
    assert!(
        story.transcript().contains("the model refuses the key, so i can't sum anything up"),
        "{}",
        story.transcript()
    );
    assert_eq!(story.contexts().len(), asked, "{}", story.transcript());
    story.script([ModelOutcome::text("LH4711.")]).advance_time("30s");
    assert!(story.transcript().contains("main> assistant: LH4711.\n"), "{}", story.transcript());
}
