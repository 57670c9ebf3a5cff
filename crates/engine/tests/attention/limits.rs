//! Ping limits: the preamble of a run states exactly how its pings are treated.

use domain::conversation::EntryContent;
use domain::label::{Label, Realm};
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::Story;

use crate::{count, mail_routine, story_at, text_of};

/// A model whose background runs try an ordinary ping and then a critical one.
fn try_ordinary_then_critical_ping() -> ScriptedModel {
    ScriptedModel::answering(|context| {
        let is_prompt = |said: &EntryContent| text_of(said).contains("[routine-bg:");
        let since = context.entries.iter().rev().take_while(|said| !is_prompt(said));
        let tried = since.filter(|said| matches!(&***said, EntryContent::Tools(_))).count();
        let is_run = context.entries.iter().any(|said| is_prompt(said));
        match (is_run, tried) {
            (true, 0) => ModelOutcome::tool_call("ping_user", r#"{"message":"an ordinary ping"}"#),
            (true, 1) => {
                ModelOutcome::tool_call("ping_user", r#"{"message":"a critical ping","critical":true}"#)
            }
            _ => ModelOutcome::text("Done."),
        }
    })
}

/// Returns the preamble of the last run.
fn preamble(story: &Story) -> String {
    let contexts = story.contexts();
    let prompts =
        contexts.iter().rev().flat_map(|context| context.entries.iter().rev()).map(|said| text_of(said));
    prompts.into_iter().find(|words| words.contains("[routine-bg:")).unwrap_or_default()
}

/// The preamble predicts the outcome of `ping_user` for every kind of limit.
#[test]
fn preamble_predicts_the_outcome_of_pings() {
    // Name, start time, earlier commands of the user, minutes and hours of the routine, time to
    // simulate.
    let table: [(&str, &str, &[&str], &str, &str); 7] = [
        ("free", "16T11:55", &[], "0 12", "10m"),
        ("quiet hours", "16T22:50", &[], "0 23", "20m"),
        ("quiet for a while", "16T11:55", &["/quiet for 2h"], "0 12", "10m"),
        ("focus", "16T11:55", &["/focus 60"], "0 12", "10m"),
        ("gap", "16T11:55", &["/ping-budget 20 10"], "0,20 12", "30m"),
        ("enough", "16T11:55", &["/ping-budget 20 10", "/config ping_caps 1 1"], "0,20 12", "30m"),
        ("no limits", "16T11:55", &["/quiet off", "/config ping_caps off"], "0 12", "10m"),
    ];
    for (name, time, commands, minutes, wait) in table {
        let mut story = story_at(time, try_ordinary_then_critical_ping());
        for command in commands {
            story.user_commands(command);
        }
        story.write_file("routines/mail.md", &mail_routine(minutes)).advance_time(wait);
        let runs = minutes.split(',').count();
        let preamble = preamble(&story);
        let ordinary = count(&story, "to the human> an ordinary ping") == runs;
        assert_eq!(preamble.contains("An ordinary ping now would ring."), ordinary, "{name}: {preamble}");
        assert_eq!(
            preamble.contains("An ordinary ping now would not ring: "),
            !ordinary,
            "{name}: {preamble}"
        );
        assert_eq!(ordinary, ["free", "no limits"].contains(&name), "{name}: {}", story.transcript());
        assert!(preamble.contains("A critical ping now would ring: "), "{name}: {preamble}");
        assert_eq!(count(&story, "to the human> a critical ping"), runs, "{name}: {}", story.transcript());
    }
}

/// The fourth critical ping of a day is refused, as the preamble states.
#[test]
fn fourth_critical_ping_is_refused_as_predicted() {
    let mut story = story_at("16T10:55", try_ordinary_then_critical_ping());
    story
        .user_commands("/ping-budget 20 10")
        .write_file("routines/mail.md", &mail_routine("0 11-14"))
        .advance_time("3h 30m");
    assert_eq!(count(&story, "to the human> a critical ping"), 3, "{}", story.transcript());
    let told = preamble(&story);
    assert!(told.contains("A critical ping now would be refused: all 3 of today are used."), "{told}");
}

/// A critical ping is refused in a run that contains outside text, as the preamble states.
#[test]
fn critical_ping_after_outside_text_is_refused_as_predicted() {
    for (label, rings) in [(Label::private(Realm::Tasks), 1), (Label::both(Realm::Mail), 0)] {
        let mut story = story_at("16T11:55", try_ordinary_then_critical_ping());
        story.leave_update_with_label("routine:post", "a letter came", label);
        story.write_file("routines/mail.md", &mail_routine("0 12")).advance_time("10m");
        let told = preamble(&story);
        let refused = "A critical ping would be refused: text from outside is in this run.";
        assert_eq!(told.contains(refused), rings == 0, "{told}");
        assert_eq!(told.contains("A critical ping now would ring: "), rings == 1, "{told}");
        assert_eq!(count(&story, "to the human> a critical ping"), rings, "{}", story.transcript());
        assert_eq!(count(&story, "to the human> an ordinary ping"), 1, "{}", story.transcript());
    }
}

/// An ordinary ping is refused when the budget is used up, as the preamble states.
#[test]
fn empty_budget_refuses_as_predicted() {
    let mut story = story_at("16T10:55", try_ordinary_then_critical_ping());
    story.user_commands("/ping-budget 1 600").user_commands("/config ping_caps off");
    story.write_file("routines/mail.md", &mail_routine("0 11-12")).advance_time("1h 30m");
    assert_eq!(count(&story, "to the human> an ordinary ping"), 1, "{}", story.transcript());
    let told = preamble(&story);
    assert!(told.contains("An ordinary ping now would be refused: the ping budget is used up."), "{told}");
}
