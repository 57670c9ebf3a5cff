//! Outages of the model: requests that need no model are handled, others wait, and none is answered
//! twice.

use domain::conversation::EntryContent;
use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;

use crate::{ModelKind, story};

fn overloaded() -> ModelOutcome {
    ModelOutcome::fail(Failure::Overloaded(None))
}

/// A question waits and is answered after the outage. Meanwhile a reminder is created, rings and is
/// completed, the day is listed, and one notice about the outage is shown.
pub fn model_is_unreachable_for_an_hour(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Morning.")]).user("good morning");

    // Retried after 5 s, then with doubled delays of up to 10 minutes.
    story.script((0..12).map(|_| overloaded()));
    story.user_sends("what should i cook for six people?").wait_for_line("overloaded");
    story.user("call mum at 8:30").user("today");
    story.advance_time("31m").user("done").user("undo").user("done");
    story.advance_time("25m").script([ModelOutcome::text("Risotto.")]).advance_time("10m");
    story.script([ModelOutcome::text("Rice, broth, cheese.")]).user("what do i need?");

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
    "#]].assert_eq(&story.transcript());
    let contexts = story.contexts();
    let last =
        contexts[contexts.len() - 2].entries.last().cloned().unwrap_or_else(|| panic!("nothing was read"));
    let EntryContent::User(note) = &*last else { panic!("{last:?}") };
    assert!(note.preface.contains("answer it now: what should i cook for six people?"), "{}", note.preface);
    assert_eq!(story.tree().matches("assistant: Risotto.").count(), 1);
}

/// Requests that the offline assistant understands are handled at once, also during a known outage.
/// The first question after it is tried with the model again.
pub fn requests_without_a_model_are_handled_at_once(model: ModelKind) {
    let mut story = story(model);
    story.script([overloaded()]).user("call mum at 9:30").user("today");
    let asked = story.contexts().len();
    story.user("move mum to 10:30");
    assert_eq!(story.contexts().len(), asked, "nobody asks a model that is away");
    story.script([ModelOutcome::text("Here again.")]).user("are you back?");

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
    .assert_eq(&story.transcript());
}

/// A message that waits for the model survives a crash, and is answered once.
pub fn message_waiting_for_the_model_survives_a_crash(model: ModelKind) {
    let mut story = story(model);
    story.script([overloaded(), overloaded()]);
    story.user_sends("what should i cook?").wait_for_line("overloaded").user("call mum at 8:30");
    story.crash().wait_for_last_line("overloaded").crash();
    story.script([ModelOutcome::text("Risotto.")]).advance_time("5m");
    let last = story.contexts().last().and_then(|context| context.entries.last().cloned());
    let words = match last.as_deref() {
        Some(EntryContent::User(heard)) => domain::context::user_text(heard),
        _ => String::new(),
    };
    assert!(words.contains("answer it now: what should i cook?"), "{words}");
    assert_eq!(story.tree().matches("assistant: Risotto.").count(), 1, "{}", story.tree());
}

/// A reminder that becomes due between the retries does not wait for the model.
pub fn reminder_rings_during_an_outage(model: ModelKind) {
    let mut story = story(model);
    story.script((0..8).map(|_| overloaded()));
    story.user_sends("what should i cook?").wait_for_line("overloaded").user("call mum at 8:01");
    story.advance_time("15m");
    assert_eq!(story.transcript().matches("⏰ call mum").count(), 1, "{}", story.transcript());
}

/// A plan that the model made before the outage is not repeated by the offline assistant, also
/// after a restart.
pub fn plan_of_the_model_is_not_repeated_offline(model: ModelKind) {
    let mut story = story(model);
    let plan = ModelOutcome::tool_call("schedule", r#"{"words":"call mum at 9:30"}"#);
    story.script([plan, overloaded(), overloaded(), overloaded()]);
    story.user_sends("call mum at 9:30").wait_for_line("overloaded");
    story.crash().wait_for_last_line("overloaded").crash();
    story.script([ModelOutcome::text("It is planned.")]).advance_time("5m");
    assert_eq!(story.list_files("reminders").len(), 1, "{}", story.transcript());
}

/// A failing server counts as unreachable: requests that need no model are handled, others wait.
pub fn failing_server_counts_as_unreachable(model: ModelKind) {
    let mut story = story(model);
    let broken = || ModelOutcome::fail(Failure::VendorError("502".to_owned()));
    story.script([broken()]);
    story.user_sends("what should i cook?").wait_for_line("failed on its side").user("call mum at 9:30");
    for command in ["/fork", "/compact", "/status"] {
        story.user_commands(command);
    }
    story.script([ModelOutcome::text("Risotto.")]).advance_time("5m");
    let told = story.transcript();
    assert!(told.contains("✓ today 09:30"), "{told}");
    assert_eq!(told.matches("the model can't be reached right now").count(), 3, "{told}");
    assert!(!told.contains("key"), "nobody blames the key: {told}");
    assert_eq!(told.matches("assistant: Risotto.").count(), 1, "{told}");
}

/// After a short overload the question is retried a few seconds after the tries of its turn have
/// ended, or at the time that the server named.
pub fn answer_comes_soon_after_an_overload(model: ModelKind) {
    let mut story = story(model);
    story.script([overloaded(), ModelOutcome::text("Risotto.")]);
    story.user_sends("what should i cook?").wait_for_line("overloaded").advance_time("10s");
    assert!(story.transcript().contains("assistant: Risotto."), "{}", story.transcript());

    story.script([ModelOutcome::fail(Failure::Overloaded(Some(20))), ModelOutcome::text("Rice.")]);
    story.user_sends("what do i need?").wait_for_line("overloaded").advance_time("10s");
    assert!(
        !story.transcript().contains("assistant: Rice."),
        "the server is not asked before: {}",
        story.transcript()
    );
    story.advance_time("20s");
    assert!(story.transcript().contains("assistant: Rice."), "{}", story.transcript());
}

/// A server that asks for a day, or names an absurd time, is retried after six hours.
pub fn long_wait_of_a_server_is_limited_to_six_hours(model: ModelKind) {
    for seconds in [86_400, u64::MAX] {
        let mut story = story(model);
        story
            .script([ModelOutcome::fail(Failure::Overloaded(Some(seconds))), ModelOutcome::text("Risotto.")]);
        story.user_sends("what should i cook?").wait_for_line("overloaded").advance_time("5h");
        assert!(
            !story.transcript().contains("assistant: Risotto."),
            "the server is not asked before: {}",
            story.transcript()
        );
        story.advance_time("61m");
        assert!(story.transcript().contains("assistant: Risotto."), "{}", story.transcript());
    }
}
