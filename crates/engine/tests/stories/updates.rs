//! Stories about pending updates: main reads each once, forks see them, and none is lost.

use domain::conversation::Said;
use expect_test::{Expect, expect};
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Returns the last user entry of the n-th model call, including its preface.
fn heard(story: &Story, nth: usize) -> String {
    let contexts = story.contexts();
    match contexts[nth].said.iter().rev().find(|said| matches!(***said, Said::Human(_))).map(|said| &**said) {
        Some(Said::Human(heard)) => domain::context::heard(heard),
        Some(Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_)) | None => {
            String::new()
        }
    }
}

/// PU-5, PU-7, PU-8, PU-10, PU-13, MC-14, MC-15: a fork sees updates, main reads them oldest first
/// with a notice, and then they are no longer pending.
pub fn a_fork_looks_at_updates_and_main_reads_them(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Morning.", "I am here.", "Yes.", "Ok."].map(Line::says));
    story.human("good morning").leaves_for_main("routine:mail", "two mails");
    story.clock("08:31").leaves_for_main("routine:rent", "rent is due");
    story.human_begins_command("/fork").hears("I am here.").settle().human_begins_command("/exit");
    story.hears("discarded").human("what is new?").human("more?");
    let caught_up =
        story.told().matches("notice> catching up: 2 updates from the background.\nhuman> what").count();
    assert_eq!(caught_up, 1, "{}", story.told());
    let texts: Vec<String> = (1..4).map(|nth| heard(&story, nth)).collect();
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
pub fn a_saved_fork_takes_over_what_it_has_seen(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["I am here.", "Ok."].map(Line::says));
    story.leaves_for_main("routine:mail", "two mails");
    story.human_begins_command("/fork").hears("I am here.").settle();
    story.leaves_for_main("routine:rent", "rent is due");
    story.human_begins_command("/save").hears("saved").human("what is new?");
    check(
        &heard(&story, 1),
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
pub fn updates_of_a_failed_turn_are_not_lost(told_by: Teller) {
    let mut story = story(told_by);
    let away = domain::failure::Failure::Unreachable("connection refused".to_owned());
    story.model([Line::fails(away), Line::says("Two mails.")]);
    story.leaves_for_main("routine:mail", "two mails").human("what is new?").human("again?");
    let context = &story.contexts()[1];
    let told = context.said.iter().filter(|said| match &***said {
        Said::Human(heard) => heard.preface.contains("two mails"),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => false,
    });
    assert_eq!(told.count(), 1, "{}", story.tree());
}

/// PU-2, PU-3: updates beyond the limit are counted instead of quoted, and none is deleted.
pub fn too_many_updates_are_counted(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("A lot."), Line::says("No more.")]);
    for number in 1..=103 {
        story.leaves_for_main("routine:mail", &format!("mail {number}"));
    }
    story.human("what is new?").human("more?");
    let first = heard(&story, 0);
    let counted = "\n- (3 earlier ones are not quoted; `ollim-bot updates --all` lists them)\n";
    assert!(first.contains(counted), "{first}");
    assert!(!first.contains(") mail 3\n"), "{first}");
    for number in 4..=103 {
        assert!(first.contains(&format!(") mail {number}\n")), "{number}: {first}");
    }
    assert!(!heard(&story, 1).contains("UPDATES"), "{}", heard(&story, 1));
}

/// PU-6, PU-9: the user can list pending updates, and main still reads them.
pub fn the_human_sees_what_waits(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Two mails.")]);
    story.human_commands("/updates").leaves_for_main("routine:mail", "two mails").clock("09:31");
    story.human_commands("/updates").human("what is new?").human_commands("/updates");
    check(
        &story.told(),
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
