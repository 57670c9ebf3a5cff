//! Stories about a model that refuses the key.

use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::Line;
use testkit::story::Story;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn refused() -> Line {
    Line::fails(Failure::BadKey("401: expired".to_owned()))
}

/// E5: one notice is shown, messages are queued, and after the login each is answered in order.
#[test]
fn what_is_said_while_the_key_is_refused_waits_and_is_answered_in_order() {
    let mut story = story();
    story.model([
        refused(),
        refused(),
        refused(),
        Line::says("One."),
        Line::says("Two."),
        Line::says("Three."),
    ]);

    story.human_adds("first").hears("refused the key").human_adds("second").hears_last("still waits");
    story.human_adds("third").hears_last("still waits").human_renews_the_key().settle();

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
    .assert_eq(&story.told());
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
fn a_renewed_key_is_noticed_and_a_later_refusal_is_told_anew() {
    let mut story = story();
    story.model([refused(), Line::says("One."), refused(), Line::says("Two.")]);
    story.human_adds("first").hears("refused the key").human_renews_the_key().settle();
    story.human_adds("second").hears("human> second").human_renews_the_key().settle();

    let told = story.told();
    assert_eq!(told.matches("notice> The model refused the key").count(), 2, "{told}");
    assert!(told.contains("assistant: One.") && told.contains("assistant: Two."), "{told}");
}

/// E5: after a temporary refusal of a good key the answer comes without a message of the user, and
/// the vendor gets only a few requests an hour.
#[test]
fn a_refused_key_is_tried_again_by_itself() {
    let mut story = story();
    story.model((0..6).map(|_| refused()));
    story.human_adds("first").hears("refused the key");
    story.passes("1h");
    assert_eq!(story.contexts().len(), 6, "tried again after 1, 2, 4, 8 and 16 minutes");
    story.model([Line::says("One.")]).passes("31m");
    let told = story.told();
    assert!(told.contains("assistant: One."), "{told}");
    assert_eq!(told.matches("notice> The model refused the key").count(), 1, "{told}");
}

/// E5: a tool that ran before the refusal does not run again, and a partial answer is not stored
/// beside the complete one.
#[test]
fn a_turn_that_is_refused_in_the_middle_goes_on_where_it_was() {
    let mut story = story();
    story.patient().model([
        Line::calls("inbox_add", r#"{"text":"milk"}"#),
        Line::Fails("Ke".to_owned(), Failure::CutOff("gone".to_owned())),
        refused(),
        Line::says("Kept."),
    ]);
    story.human_adds("remember milk").hears("refused the key").human_commands("/retry").settle();

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
fn what_waits_for_a_key_survives_any_number_of_restarts() {
    let mut story = story();
    story.model(std::iter::repeat_with(refused).take(7));
    story.human_adds("first").hears("refused the key").human_adds("second").hears("still waits");
    for _ in 0..5 {
        story.crash().hears_last("notice> The model refused the key");
    }
    story.model([Line::says("One."), Line::says("Two.")]);
    story.crash().settle();

    expect![[r#"
        human: first
        assistant: One.
        human: second
        assistant: Two.  <- main
    "#]]
    .assert_eq(&story.tree());
}

#[test]
fn the_human_can_give_up_on_what_waits_and_the_next_words_have_their_turn() {
    let mut story = story();
    story.model([refused(), refused(), Line::says("Two.")]);
    story.human_adds("first").hears("refused the key").human_adds("second").hears("still waits");
    story.human_stops();
    let told = story.told();
    let stopped = "main> stopped\nnotice> stopped: i will not answer `first`. messages still waiting: 1.\n";
    assert!(told.ends_with(&format!("{stopped}human> second\nmain> assistant: Two.\n")), "{told}");
}

/// A model that was unreachable refuses the key during a compaction: the turn waits for the key,
/// and is not retried at the times planned for an unreachable model.
#[test]
fn a_turn_that_waits_for_room_and_then_for_the_key_does_not_count_as_away() {
    let mut story = story();
    let full = Line::fails(Failure::Full("213,000 tokens".to_owned()));
    story.model([Line::says("Noted."), Line::fails(Failure::Busy(None)), full, refused()]);
    story.human("my booking to Lisbon is LH4711").human_adds("what was my booking?").hears("overloaded");
    story.passes("10s");
    let asked = story.contexts().len();
    assert_eq!(asked, 4, "{}", story.told());
    story.human_commands("/compact").passes("50s");
    assert!(
        story.told().contains("the model refuses the key, so i can't sum anything up"),
        "{}",
        story.told()
    );
    assert_eq!(story.contexts().len(), asked, "{}", story.told());
    story.model([Line::says("LH4711.")]).passes("30s");
    assert!(story.told().contains("main> assistant: LH4711.\n"), "{}", story.told());
}
