//! Stories about pending updates: main reads each once, forks see them, and none is lost.

use domain::conversation::EntryContent;
use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Returns the last user entry of the n-th model call, including its preface.
fn read_by_model(story: &Story, nth: usize) -> String {
    let contexts = story.contexts();
    match contexts[nth]
        .entries
        .iter()
        .rev()
        .find(|said| matches!(***said, EntryContent::User(_)))
        .map(|said| &**said)
    {
        Some(EntryContent::User(heard)) => domain::context::user_text(heard),
        Some(
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_),
        )
        | None => String::new(),
    }
}

/// PU-5, PU-7, PU-8, PU-10, PU-13, MC-14, MC-15: a fork sees updates, main reads them oldest first
/// with a notice, and then they are no longer pending.
pub fn fork_sees_updates_and_main_reads_them(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here.", "Yes.", "Ok."].map(ModelOutcome::text));
    story.user("good morning").leave_update("routine:mail", "two mails");
    story.clock("08:31").leave_update("routine:rent", "rent is due");
    story
        .user_begins_command("/fork")
        .wait_for_line("I am here.")
        .wait_for_answers()
        .user_begins_command("/exit");
    story.wait_for_line("discarded").user("what is new?").user("more?");
    let caught_up = story
        .transcript()
        .matches("notice> catching up: 2 updates from the background.\nhuman> what")
        .count();
    assert_eq!(caught_up, 1, "{}", story.transcript());
    let texts: Vec<String> = (1..4).map(|nth| read_by_model(&story, nth)).collect();
    check(
        &texts.join("\n----\n"),
        &expect![[r#"
        [2026-11-15 Sun 08:31 AM CET] RECENT BACKGROUND UPDATES (only for you to know; the main conversation will see them too):
        - (31m ago) two mails
        - (just now) rent is due

        [fork-started] you are now in an interactive fork of our conversation: nothing said here reaches main unless you leave with `report_updates` or `save_context`. the human will lead: say in a few words that you are here, and wait.
        ----
        [2026-11-15 Sun 08:31 AM CET] RECENT BACKGROUND UPDATES (mention what matters of these in your answer; you see them only this once):
        - (31m ago) two mails
        - (just now) rent is due

        what is new?
        ----
        [2026-11-15 Sun 08:31 AM CET] more?"#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: (reads 2 updates) [fork-started]
              assistant: I am here.  (fork/b0643a4e dropped)
              human: (reads 2 updates) what is new?
              assistant: Yes.
              human: more?
              assistant: Ok.  <- main
        "#]],
    );
}

/// IF-22: saving a fork consumes the updates it has seen; later ones stay pending.
pub fn saved_fork_consumes_the_updates_it_has_seen(model: ModelKind) {
    let mut story = story(model);
    story.script(["I am here.", "Ok."].map(ModelOutcome::text));
    story.leave_update("routine:mail", "two mails");
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.leave_update("routine:rent", "rent is due");
    story.user_begins_command("/save").wait_for_line("saved").user("what is new?");
    check(
        &read_by_model(&story, 1),
        &expect![[r#"
        [2026-11-15 Sun 08:00 AM CET] RECENT BACKGROUND UPDATES (mention what matters of these in your answer; you see them only this once):
        - (just now) rent is due

        what is new?"#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: (reads 1 update) [fork-started]
            assistant: I am here.  (fork/73d33b66 promoted)
            human: (reads 1 update) what is new?
            assistant: Ok.  <- main
        "#]],
    );
}

/// PU-14, E1: the updates read by a failed turn stay in its entry, so the next answer knows them.
pub fn updates_of_a_failed_turn_are_not_lost(model: ModelKind) {
    let mut story = story(model);
    let away = domain::failure::Failure::Unreachable("connection refused".to_owned());
    story.script([ModelOutcome::fail(away), ModelOutcome::text("Two mails.")]);
    story.leave_update("routine:mail", "two mails").user("what is new?").user("again?");
    let context = &story.contexts()[1];
    let told = context.entries.iter().filter(|said| match &***said {
        EntryContent::User(heard) => heard.preface.contains("two mails"),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => false,
    });
    assert_eq!(told.count(), 1, "{}", story.tree());
}

/// PU-2, PU-3: updates beyond the limit are counted instead of quoted, and none is deleted.
pub fn too_many_updates_are_counted(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("A lot."), ModelOutcome::text("No more.")]);
    for number in 1..=103 {
        story.leave_update("routine:mail", &format!("mail {number}"));
    }
    story.user("what is new?").user("more?");
    let first = read_by_model(&story, 0);
    let counted = "\n- (3 earlier ones are not quoted; `ollim-bot updates --all` lists them)\n";
    assert!(first.contains(counted), "{first}");
    assert!(!first.contains(") mail 3\n"), "{first}");
    for number in 4..=103 {
        assert!(first.contains(&format!(") mail {number}\n")), "{number}: {first}");
    }
    assert!(!read_by_model(&story, 1).contains("UPDATES"), "{}", read_by_model(&story, 1));
}

/// PU-6, PU-9: the user can list pending updates, and main still reads them.
pub fn user_can_list_pending_updates(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("Two mails.")]);
    story.user_commands("/updates").leave_update("routine:mail", "two mails").clock("09:31");
    story.user_commands("/updates").user("what is new?").user_commands("/updates");
    check(
        &story.transcript(),
        &expect![[r#"
            human> /updates
            told> nothing waits to be told.
            -- 09:31
            human> /updates
            told> (1h ago, routine:mail) two mails
            notice> catching up: 1 update from the background.
            human> what is new?
            main> assistant: Two mails.
            human> /updates
            told> nothing waits to be told.
        "#]],
    );
}
