//! Outages of the model: requests that need no model are handled, others wait, and none is answered
//! twice.

use domain::conversation::Said;
use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::Line;

use crate::{Teller, story};

fn overloaded() -> Line {
    Line::fails(Failure::Busy(None))
}

/// A question waits and is answered after the outage. Meanwhile a reminder is created, rings and is
/// completed, the day is listed, and one notice about the outage is shown.
pub fn the_model_goes_away_for_an_hour(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Morning.")]).human("good morning");

    // Retried after 5 s, then with doubled delays of up to 10 minutes.
    story.model((0..12).map(|_| overloaded()));
    story.human_adds("what should i cook for six people?").hears("overloaded");
    story.human("call mum at 8:30").human("today");
    story.passes("31m").human("done").human("undo").human("done");
    story.passes("25m").model([Line::says("Risotto.")]).passes("10m");
    story.model([Line::says("Rice, broth, cheese.")]).human("what do i need?");

    expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> what should i cook for six people?
        notice> the model is overloaded right now. your message is kept, and answered when it is back; your reminders still work.
        human> call mum at 8:30
        main> assistant: ✓ today 08:30 · in 30 min · call mum
        human> today
        main> assistant: today 08:30 · in 30 min · call mum
        main> still waits
        main> still waits
        main> still waits
        main> still waits
        main> still waits
        main> still waits
        main> still waits
        main> still waits
        notice> ⏰ call mum
        main> still waits
        -- sun 08:31
        human> done
        main> assistant: done: call mum. `undo` takes it back
        human> undo
        main> assistant: taken back: call mum is still to do.
        human> done
        main> assistant: done: call mum. `undo` takes it back
        main> still waits
        main> still waits
        -- sun 08:56
        main> assistant: Risotto.
        -- sun 09:06
        notice> catching up: 3 updates from the background.
        human> what do i need?
        main> assistant: Rice, broth, cheese.
    "#]].assert_eq(&story.told());
    let contexts = story.contexts();
    let last =
        contexts[contexts.len() - 2].said.last().cloned().unwrap_or_else(|| panic!("nothing was read"));
    let Said::Human(note) = &*last else { panic!("{last:?}") };
    assert!(note.preface.contains("answer it now: what should i cook for six people?"), "{}", note.preface);
    assert_eq!(story.tree().matches("assistant: Risotto.").count(), 1);
}

/// Requests that the offline assistant understands are handled at once, also during a known outage.
/// The first question after it is tried with the model again.
pub fn words_that_need_no_model_are_done_at_once(told_by: Teller) {
    let mut story = story(told_by);
    story.model([overloaded()]).human("call mum at 9:30").human("today");
    let asked = story.contexts().len();
    story.human("move mum to 10:30");
    assert_eq!(story.contexts().len(), asked, "nobody asks a model that is away");
    story.model([Line::says("Here again.")]).human("are you back?");

    expect![[r#"
        human> call mum at 9:30
        notice> can't reach the model right now, so i answer what i can without it. your reminders still work.
        main> assistant: ✓ today 09:30 · in 1 h 30 min · call mum
        human> today
        main> assistant: today 09:30 · in 1 h 30 min · call mum
        human> move mum to 10:30
        main> assistant: ✓ today 10:30 · in 2 h 30 min · call mum
        human> are you back?
        main> assistant: Here again.
    "#]]
    .assert_eq(&story.told());
}

/// A message that waits for the model survives a crash, and is answered once.
pub fn what_waits_for_the_model_survives_a_crash(told_by: Teller) {
    let mut story = story(told_by);
    story.model([overloaded(), overloaded()]);
    story.human_adds("what should i cook?").hears("overloaded").human("call mum at 8:30");
    story.crash().hears_last("overloaded").crash();
    story.model([Line::says("Risotto.")]).passes("5m");
    let last = story.contexts().last().and_then(|context| context.said.last().cloned());
    let words = match last.as_deref() {
        Some(Said::Human(heard)) => domain::context::heard(heard),
        _ => String::new(),
    };
    assert!(words.contains("answer it now: what should i cook?"), "{words}");
    assert_eq!(story.tree().matches("assistant: Risotto.").count(), 1, "{}", story.tree());
}

/// A reminder that becomes due between the retries does not wait for the model.
pub fn a_reminder_rings_past_a_model_that_goes_away(told_by: Teller) {
    let mut story = story(told_by);
    story.model((0..8).map(|_| overloaded()));
    story.human_adds("what should i cook?").hears("overloaded").human("call mum at 8:01");
    story.passes("15m");
    assert_eq!(story.told().matches("⏰ call mum").count(), 1, "{}", story.told());
}

/// A plan that the model made before the outage is not repeated by the offline assistant, also
/// after a restart.
pub fn what_the_model_planned_is_not_planned_again(told_by: Teller) {
    let mut story = story(told_by);
    let plan = Line::calls("schedule", r#"{"words":"call mum at 9:30"}"#);
    story.model([plan, overloaded(), overloaded(), overloaded()]);
    story.human_adds("call mum at 9:30").hears("overloaded");
    story.crash().hears_last("overloaded").crash();
    story.model([Line::says("It is planned.")]).passes("5m");
    assert_eq!(story.files("reminders").len(), 1, "{}", story.told());
}

/// A failing server counts as unreachable: requests that need no model are handled, others wait.
pub fn a_model_that_breaks_is_away(told_by: Teller) {
    let mut story = story(told_by);
    let broken = || Line::fails(Failure::Broken("502".to_owned()));
    story.model([broken()]);
    story.human_adds("what should i cook?").hears("failed on its side").human("call mum at 9:30");
    for command in ["/fork", "/compact", "/status"] {
        story.human_commands(command);
    }
    story.model([Line::says("Risotto.")]).passes("5m");
    let told = story.told();
    assert!(told.contains("✓ today 09:30"), "{told}");
    assert_eq!(told.matches("the model can't be reached right now").count(), 3, "{told}");
    assert!(!told.contains("key"), "nobody blames the key: {told}");
    assert_eq!(told.matches("assistant: Risotto.").count(), 1, "{told}");
}

/// After a short overload the question is retried a few seconds after the tries of its turn have
/// ended, or at the time that the server named.
pub fn an_answer_comes_soon_after_an_overload(told_by: Teller) {
    let mut story = story(told_by);
    story.model([overloaded(), Line::says("Risotto.")]);
    story.human_adds("what should i cook?").hears("overloaded").passes("10s");
    assert!(story.told().contains("assistant: Risotto."), "{}", story.told());

    story.model([Line::fails(Failure::Busy(Some(20))), Line::says("Rice.")]);
    story.human_adds("what do i need?").hears("overloaded").passes("10s");
    assert!(!story.told().contains("assistant: Rice."), "the server is not asked before: {}", story.told());
    story.passes("20s");
    assert!(story.told().contains("assistant: Rice."), "{}", story.told());
}

/// A server that asks for a day, or names an absurd time, is retried after six hours.
pub fn a_server_that_asks_for_a_long_wait_is_tried_again_after_six_hours(told_by: Teller) {
    for seconds in [86_400, u64::MAX] {
        let mut story = story(told_by);
        story.model([Line::fails(Failure::Busy(Some(seconds))), Line::says("Risotto.")]);
        story.human_adds("what should i cook?").hears("overloaded").passes("5h");
        assert!(
            !story.told().contains("assistant: Risotto."),
            "the server is not asked before: {}",
            story.told()
        );
        story.passes("61m");
        assert!(story.told().contains("assistant: Risotto."), "{}", story.told());
    }
}
