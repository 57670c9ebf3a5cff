//! Pings with pressing words: the run is asked once to rephrase them.

use testkit::scripted_model::{ModelOutcome, ScriptedModel};

use crate::{count, mail_routine, story_at, text_of};

/// A model whose runs send these pings, one after the other.
fn scripted_pings(pings: &'static [&'static str]) -> ScriptedModel {
    let mut next = pings.iter();
    ScriptedModel::answering(move |context| {
        let last = context.entries.last().map(|said| text_of(said)).unwrap_or_default();
        let asked = last.contains("[routine-bg:") || last.contains("Nothing was sent: ");
        match next.next().filter(|_| asked) {
            Some(ping) => ModelOutcome::tool_call("ping_user", &format!(r#"{{"message":"{ping}"}}"#)),
            None => ModelOutcome::text("Done."),
        }
    })
}

/// A ping with pressing words is refused; the rephrased one is sent.
#[test]
fn pressing_words_are_rephrased() {
    let mut story = story_at(
        "16T09:59",
        scripted_pings(&["your taxes are overdue!", "the taxes can be done in two minutes"]),
    );
    story.write_file("routines/mail.md", &mail_routine("0 10")).advance_time("5m");
    assert!(
        story.transcript().contains("Nothing was sent: `!` presses the human."),
        "{}",
        story.transcript()
    );
    assert_eq!(count(&story, "to the human> the taxes can be done"), 1, "{}", story.transcript());
    assert_eq!(count(&story, "to the human>"), 1, "{}", story.transcript());
}

/// A second attempt is sent even if its text still puts pressure on the user, so that no ping is
/// lost.
#[test]
fn second_attempt_is_sent() {
    let mut story =
        story_at("16T09:59", scripted_pings(&["your backup failed", "your backup failed, look at the disk"]));
    story.write_file("routines/mail.md", &mail_routine("0 10")).advance_time("5m");
    assert_eq!(
        count(&story, "to the human> your backup failed, look at the disk"),
        1,
        "{}",
        story.transcript()
    );
}
