//! Stories about `/undo` of saved and cleared conversations.

use expect_test::{Expect, expect};
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Design 3: undoing a save moves main back, and the updates that the fork took over are pending
/// again.
pub fn a_saved_fork_is_taken_back(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Morning.", "I am here.", "Noted.", "Yes.", "Back."].map(Line::says));
    story.human("good morning").leaves_for_main("routine:mail", "two mails");
    story.human_begins_command("/fork").hears("I am here.").settle().human("it costs 80");
    story.human_begins_command("/save").hears("saved:").human("still there?");

    story.crash().human_commands("/undo").human("and now?").human_commands("/undo");

    check(
        &story.told(),
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
pub fn a_cleared_conversation_comes_back(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["Noted.", "Hello.", "Tea."].map(Line::says));
    story.human("i like tea").leaves_for_main("routine:mail", "two mails").human_commands("/clear");
    story.human("hello").human_commands("/undo").crash().human("what do i like?");
    check(
        &story.told(),
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
pub fn changes_are_taken_back_in_order(told_by: Teller) {
    let mut story = story(told_by);
    story.model(["One.", "I am here.", "Two."].map(Line::says));
    story.human("first").human_begins_command("/fork").hears("I am here.").settle();
    story.human_begins_command("/save").hears("saved:").human("second").human_commands("/clear");
    story.crash().human_commands("/undo").crash().human_commands("/undo").human_commands("/undo");
    check(
        &story.told(),
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
pub fn after_thirty_days_nothing_is_taken_back(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("One.")]);
    story.human("first").human_commands("/clear");
    days(&mut story, 31);
    story.human_commands("/undo");
    assert!(story.told().ends_with(
        "refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.\n"
    ));
}

/// `/undo` is refused in a fork and during an answer.
pub fn nothing_is_taken_back_in_a_fork_or_in_the_middle_of_an_answer(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("One."), Line::holds("Well"), Line::says("I am here.")]);
    story
        .human("first")
        .human_commands("/clear")
        .human_begins("second")
        .human_commands("/undo")
        .human_stops();
    story.human_begins_command("/fork").hears("I am here.").settle().human_commands("/undo");
    check(
        &story.told(),
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

fn days(story: &mut Story, days: u32) {
    for _ in 0..days {
        story.clock("07:00").clock("08:00");
    }
}
