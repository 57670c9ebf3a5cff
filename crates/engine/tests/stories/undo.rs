//! Stories about `/undo` of saved and cleared conversations.

use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Design 3: undoing a save moves main back, and the updates that the fork took over are pending
/// again.
pub fn saved_fork_can_be_undone(model: ModelKind) {
    let mut story = story(model);
    story.script(["Morning.", "I am here.", "Noted.", "Yes.", "Back."].map(ModelOutcome::text));
    story.user("good morning").leave_update("routine:mail", "two mails");
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers().user("it costs 80");
    story.user_begins_command("/save").wait_for_line("saved:").user("still there?");

    story.crash().user_commands("/undo").user("and now?").user_commands("/undo");

    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            human> /fork
            -- fork/b0643a4e begins
            fork/b0643a4e> assistant: I am here.
            human> it costs 80
            fork/b0643a4e> assistant: Noted.
            human> /save
            -- fork/b0643a4e saved: it is the main conversation now. /undo takes that back.
            human> still there?
            main> assistant: Yes.
            -- crash
            human> /undo
            main> undone
            told> taken back: the main conversation is where it was before the side conversation was saved. what was said since stays in the tree.
            notice> catching up: 1 update from the background.
            human> and now?
            main> assistant: Back.
            human> /undo
            refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: (reads 1 update) [fork-started]
              assistant: I am here.
              human: it costs 80
              assistant: Noted.  (fork/b0643a4e promoted)
              human: still there?
              assistant: Yes.
              human: (reads 1 update) and now?
              assistant: Back.  <- main
        "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 63cbe1e4 · 4 entries
            ↶    undone 2026-11-15 08:00 · back to 63cbe1e4 · 6 entries left behind · took the saving back
            ┃◀╮  fork/b0643a4e saved 2026-11-15 08:00 · 4 entries · main 63cbe1e4 → 9e5651b0
            ┣─╯  fork/b0643a4e started 2026-11-15 08:00 · 9e5651b0
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// MC-21, MC-24, PU-15: `/clear` keeps pending updates, and `/undo` restores the conversation.
pub fn cleared_conversation_can_be_restored(model: ModelKind) {
    let mut story = story(model);
    story.script(["Noted.", "Hello.", "Tea."].map(ModelOutcome::text));
    story.user("i like tea").leave_update("routine:mail", "two mails").user_commands("/clear");
    story.user("hello").user_commands("/undo").crash().user("what do i like?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> i like tea
            main> assistant: Noted.
            human> /clear
            main> cleared
            told> cleared: we start over with the next message. /undo brings the conversation back.
            notice> catching up: 1 update from the background.
            human> hello
            main> assistant: Hello.
            human> /undo
            main> undone
            told> taken back: this is our old conversation again. what was said since stays in the tree.
            -- crash
            notice> catching up: 1 update from the background.
            human> what do i like?
            main> assistant: Tea.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
              human: i like tea
              assistant: Noted.  (main cleared)
              human: (reads 1 update) what do i like?
              assistant: Tea.  <- main
              human: (reads 1 update) hello
              assistant: Hello.
        "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●  main · now · 63cbe1e4 · 4 entries
            ↶  undone 2026-11-15 08:00 · back to 63cbe1e4 · 2 entries left behind · took the clearing back
            ○  created 2026-11-15 08:00 · 9e5651b0
            ╳  cleared 2026-11-15 08:00 · 63cbe1e4 · 2 entries
            ○  created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// Design 3: changes are undone one by one, the last one first, also across restarts.
pub fn changes_are_undone_in_order(model: ModelKind) {
    let mut story = story(model);
    story.script(["One.", "I am here.", "Two."].map(ModelOutcome::text));
    story.user("first").user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers();
    story.user_begins_command("/save").wait_for_line("saved:").user("second").user_commands("/clear");
    story.crash().user_commands("/undo").crash().user_commands("/undo").user_commands("/undo");
    check(
        &story.transcript(),
        &expect![[r#"
        human> first
        main> assistant: One.
        human> /fork
        -- fork/3fdabe86 begins
        fork/3fdabe86> assistant: I am here.
        human> /save
        -- fork/3fdabe86 saved: it is the main conversation now. /undo takes that back.
        human> second
        main> assistant: Two.
        human> /clear
        main> cleared
        told> cleared: we start over with the next message. /undo brings the conversation back.
        -- crash
        human> /undo
        main> undone
        told> taken back: this is our old conversation again. what was said since stays in the tree.
        -- crash
        human> /undo
        main> undone
        told> taken back: the main conversation is where it was before the side conversation was saved. what was said since stays in the tree.
        human> /undo
        refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: first
            assistant: One.  <- main
            human: [fork-started]
            assistant: I am here.  (fork/3fdabe86 promoted)
            human: second
            assistant: Two.  (main cleared)
        "#]],
    );
}

/// Design 3: changes older than thirty days cannot be undone.
pub fn nothing_can_be_undone_after_thirty_days(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("One.")]);
    story.user("first").user_commands("/clear");
    pass_days(&mut story, 31);
    story.user_commands("/undo");
    assert!(story.transcript().ends_with(
        "refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.\n"
    ));
}

/// `/undo` is refused in a fork and during an answer.
pub fn undo_is_refused_in_a_fork_and_during_an_answer(model: ModelKind) {
    let mut story = story(model);
    story.script([ModelOutcome::text("One."), ModelOutcome::hang("Well"), ModelOutcome::text("I am here.")]);
    story.user("first").user_commands("/clear").user_begins("second").user_commands("/undo").user_stops();
    story.user_begins_command("/fork").wait_for_line("I am here.").wait_for_answers().user_commands("/undo");
    check(
        &story.transcript(),
        &expect![[r#"
        human> first
        main> assistant: One.
        human> /clear
        main> cleared
        told> cleared: we start over with the next message. /undo brings the conversation back.
        human> second
        human> /undo
        refused> i am in the middle of something. stop me, or ask again when i am done.
        main> assistant: Well (cut)
        main> stopped
        human> /fork
        -- fork/225ec07a begins
        fork/225ec07a> assistant: I am here.
        human> /undo
        refused> we are in a side conversation. leave it first: /save, /report or /exit.
    "#]],
    );
}

fn pass_days(story: &mut Story, days: u32) {
    for _ in 0..days {
        story.clock("07:00").clock("08:00");
    }
}
