//! Replies to messages: they open a fork of the run that sent the message, or quote it.

use domain::context;
use domain::conversation::EntryContent;
use expect_test::expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{Story, forked_job, isolated_job};

use crate::{check, ping_call, read_last, report_call, story};

/// Starts a story in which the routine `mail` has sent the message 5.
fn story_with_ping() -> Story {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ping_call("two mails need you"),
        ModelOutcome::text("Done."),
    ]);
    story
        .user("good morning")
        .run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."));
    story
}

/// Starts a story in which the user replies to that message and the fork is reported to main.
fn story_with_reply() -> Story {
    let mut story = story_with_ping();
    story.script([
        ModelOutcome::text("Anna and Ben."),
        ping_call("again"),
        ModelOutcome::text("Sent."),
        report_call("Anna was answered"),
    ]);
    story.script([ModelOutcome::text("Noted."), ModelOutcome::text("Yes.")]);

    story.user_replies(5, "who wrote?").user("ping me").user("write it down").wait_for_line("summary queued");
    story.user("is that so?");
    story
}

/// IF-13, IF-14, MT-9: a reply continues the run in a fork, and its report reaches main.
#[test]
fn reply_continues_the_run() {
    let story = story_with_reply();
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            -- routine:mail runs: [routine-bg:mail] Triage my mail.
            fork/3fdabe86> calls ping_user {"message":"two mails need you"}
            fork/3fdabe86> ping_user: Message sent.
            routine:mail (5) to the human> two mails need you
            fork/3fdabe86> assistant: Done.
            -- fork/53fcd651 begins about routine:mail
            human> who wrote?
            fork/53fcd651> assistant: Anna and Ben.
            human> ping me
            fork/53fcd651> calls ping_user {"message":"again"}
            fork/53fcd651> ping_user: Error: `ping_user` is only available in background forks. the human reads this conversation, so simply say it.
            fork/53fcd651> assistant: Sent.
            human> write it down
            fork/53fcd651> calls report_updates {"message":"Anna was answered"}
            fork/53fcd651> report_updates: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
            fork/53fcd651> assistant: Noted.
            -- fork/53fcd651 summary queued: Anna was answered
            notice> catching up: 1 update from the background.
            human> is that so?
            main> assistant: Yes.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: [routine-bg:mail]
              assistant: calls ping_user
              tools: Message sent.
              assistant: Done.  (fork/3fdabe86 ended)
              human: who wrote?
              assistant: Anna and Ben.
              human: ping me
              assistant: calls ping_user
              tools: Error: `ping_user` is only available in background forks. the human reads this conversation, so simply say it.
              assistant: Sent.
              human: write it down
              assistant: calls report_updates
              tools: the summary is queued for main, and the fork is discarded after your response. more tool calls only delay that.
              assistant: Noted.  (fork/53fcd651 reported)
              human: (reads 1 update) is that so?
              assistant: Yes.  <- main
        "#]],
    );
    let reply = &story.contexts()[3];
    let Some(EntryContent::User(heard)) = reply.entries.last().map(|said| &**said) else {
        panic!("no reply")
    };
    let heard = context::user_text(heard);
    assert!(heard.starts_with("[2026-11-15 Sun 08:00 AM CET] [fork-started] you are now in"), "{heard}");
    assert!(
        heard.contains("resumed from a background fork reply") && heard.ends_with(".\n\nwho wrote?"),
        "{heard}"
    );
    assert_eq!(reply.entries.len(), 7, "it has the history of the run, and that of main before it");
}

/// IF-13, IF-16, IF-18, IF-36, SE-10: a reply has its own event under the session of the run, and
/// adds no sent message.
#[test]
fn reply_uses_the_session_of_the_run() {
    let story = story_with_reply();
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 63cbe1e4 · 4 entries
            ┃◁╮  fork/53fcd651 reported 2026-11-15 08:00 · routine:mail · 10 entries
            ┣─╯  fork/53fcd651 started 2026-11-15 08:00 · routine:mail · 953aeb70
            ┃ ▪  fork/3fdabe86 ended 2026-11-15 08:00 · routine:mail · 4 entries
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · routine:mail · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
    check(
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
        {"event":"interactive_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da","message_id":5,"parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
    "#]],
    );
}

/// IF-20, MC-25, SE-9: a saved reply becomes main; later entries of the old main stay in the tree.
#[test]
fn saved_reply_becomes_main() {
    let mut story = story_with_ping();
    story.script([
        ModelOutcome::text("Fine."),
        ModelOutcome::text("Anna and Ben."),
        ModelOutcome::text("Here."),
    ]);
    story
        .user("how are you?")
        .user_replies(5, "who wrote?")
        .user_begins_command("/save")
        .wait_for_line("saved:");
    story.user("where are we?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            -- routine:mail runs: [routine-bg:mail] Triage my mail.
            fork/3fdabe86> calls ping_user {"message":"two mails need you"}
            fork/3fdabe86> ping_user: Message sent.
            routine:mail (5) to the human> two mails need you
            fork/3fdabe86> assistant: Done.
            human> how are you?
            main> assistant: Fine.
            -- fork/225ec07a begins about routine:mail
            human> who wrote?
            fork/225ec07a> assistant: Anna and Ben.
            human> /save
            -- fork/225ec07a saved: it is the main conversation now. what we said since it began is not part of it; that stays in the tree. /undo takes that back.
            human> where are we?
            main> assistant: Here.
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
              human: [routine-bg:mail]
              assistant: calls ping_user
              tools: Message sent.
              assistant: Done.  (fork/3fdabe86 ended)
              human: who wrote?
              assistant: Anna and Ben.  (fork/225ec07a promoted)
              human: where are we?
              assistant: Here.  <- main
              human: how are you?
              assistant: Fine.
        "#]],
    );
    check(
        &story.state_file("session_history.jsonl"),
        &expect![[r#"
        {"event":"created","parent_session_id":null,"session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
        {"event":"bg_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
        {"event":"interactive_fork","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
        {"event":"swapped","parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c","session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da"}
    "#]],
    );
}

/// IF-13: the same message can be replied to again, under a new session if main has taken the one
/// of the run.
#[test]
fn second_reply_starts_at_the_end_of_the_run() {
    let mut story = story_with_ping();
    story.script([ModelOutcome::text("Anna."), ModelOutcome::text("Anna again.")]);
    story.user_replies(5, "who wrote?").user_begins_command("/save").wait_for_line("saved:");
    story.user_replies(5, "who was it?");
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.
            human: [routine-bg:mail]
            assistant: calls ping_user
            tools: Message sent.
            assistant: Done.  (fork/3fdabe86 ended)
              human: who wrote?
              assistant: Anna.  <- main  (fork/53fcd651 promoted)
              human: who was it?
              assistant: Anna again.  <- fork/f5ba4eb7
        "#]],
    );
    check(
        &story.sessions(),
        &expect![[r#"
            ●    main · now · 953aeb70 · 8 entries
            ┃ ◉  fork/f5ba4eb7 · routine:mail · open · 69c3a276 · 2 entries
            ┣─╯  fork/f5ba4eb7 started 2026-11-15 08:00 · routine:mail · 69c3a276
            ┃◀╮  fork/53fcd651 saved 2026-11-15 08:00 · routine:mail · 2 entries · main 63cbe1e4 → 953aeb70
            ┣─╯  fork/53fcd651 started 2026-11-15 08:00 · routine:mail · 953aeb70
            ┃ ▪  fork/3fdabe86 ended 2026-11-15 08:00 · routine:mail · 4 entries
            ┣─╯  fork/3fdabe86 started 2026-11-15 08:00 · routine:mail · 953aeb70
            ○    created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// IF-20, MT-3: a saved reply to an isolated run replaces main, with a notice of the consequences.
#[test]
fn saved_reply_to_an_isolated_run_replaces_main() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ping_call("make tea"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("Green."),
        ModelOutcome::text("No."),
    ]);
    story.user("good morning").run_in_background(isolated_job("reminder:tea", "[reminder-bg:tea] Make tea."));
    story
        .user_replies(5, "which?")
        .user_begins_command("/save")
        .wait_for_line("saved:")
        .user("do you know me?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            -- reminder:tea runs: [reminder-bg:tea] Make tea.
            fork/3fdabe86> calls ping_user {"message":"make tea"}
            fork/3fdabe86> ping_user: Message sent.
            reminder:tea (5) to the human> make tea
            fork/3fdabe86> assistant: Done.
            -- fork/53fcd651 begins about reminder:tea
            human> which?
            fork/53fcd651> assistant: Green.
            human> /save
            -- fork/53fcd651 saved: it is the main conversation now. it knows nothing of what we said before; that stays in the tree. /undo takes that back.
            human> do you know me?
            main> assistant: No.
        "#]],
    );
    check(
        &format!("(two roots)\n{}", story.tree()),
        &expect![[r#"
            (two roots)
            human: good morning
            assistant: Morning.
            human: [reminder-bg:tea]
            assistant: calls ping_user
            tools: Message sent.
            assistant: Done.  (fork/3fdabe86 ended)
            human: which?
            assistant: Green.  (fork/53fcd651 promoted)
            human: do you know me?
            assistant: No.  <- main
        "#]],
    );
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"953aeb70-673e-49cb-b3d3-3b666a1e21da","message_id":5,"parent_session_id":null}
    "#]],
    );
}

/// MT-10, MT-12: in an open fork a reply is quoted there, with a notice.
#[test]
fn reply_in_a_fork_is_quoted() {
    let mut story = story_with_ping();
    story.script([ModelOutcome::text("I am here."), ModelOutcome::text("Anna.")]);
    story.user_begins_command("/fork").wait_for_line("I am here.").user_replies(5, "who wrote?");
    assert_eq!(read_last(&story), "[2026-11-15 Sun 08:00 AM CET] > two mails need you\n\nwho wrote?");
    let told = story.transcript();
    assert!(told.contains("notice> we are in a side conversation already, so your reply is added"), "{told}");
}

/// MT-7, MT-8, MT-11: after seven days a reply is quoted on main, with a notice; the next flush
/// deletes the record.
#[test]
fn reply_to_an_old_message_is_quoted() {
    let mut story = story_with_ping();
    for _ in 0..7 {
        story.clock("08:00").clock("07:59");
    }
    story.clock("08:00");
    story.script([
        ModelOutcome::text("I don't know."),
        ping_call("up"),
        ModelOutcome::text("Done."),
        ModelOutcome::text("What?"),
    ]);
    story.user_replies(5, "who wrote?");
    assert!(read_last(&story).ends_with("> two mails need you\n\nwho wrote?"), "{}", read_last(&story));
    assert!(
        story.transcript().contains("notice> the session of that message has expired"),
        "{}",
        story.transcript()
    );
    story.run_in_background(forked_job("routine:up", "[routine-bg:up] Up.")).user_replies(5, "and now?");
    assert_eq!(story.transcript().matches("has expired").count(), 1, "it is unknown now");
    check(
        &story.origins(),
        &expect![[r#"
        {"fork_session_id":"225ec07a-9950-4761-a9c3-a27688795369","message_id":11,"parent_session_id":"63cbe1e4-5932-4dd7-844c-3cd7f43c661c"}
    "#]],
    );
}

/// AT-5, MT-12: a reply to any other message quotes it; a reply to an unknown message has no quote.
#[test]
fn reply_to_any_other_message_quotes_it() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning.\n\nHow are you?"),
        ModelOutcome::text("Good."),
        ModelOutcome::text("What?"),
    ]);
    story.user("good morning").user_replies(2, "fine");
    assert_eq!(read_last(&story), "[2026-11-15 Sun 08:00 AM CET] > Morning.\n> \n> How are you?\n\nfine");
    story.user_replies(77, "hm");
    assert_eq!(read_last(&story), "[2026-11-15 Sun 08:00 AM CET] hm");
    check(
        &story.transcript(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.

        How are you?
        human> fine
        main> assistant: Good.
        human> hm
        main> assistant: What?
    "#]],
    );
}

/// IF-6, MT-10: a second reply, to another run, is quoted in the fork that the first has opened.
#[test]
fn second_reply_is_quoted_in_the_fork_of_the_first() {
    let mut story = story_with_ping();
    story.script([
        ping_call("tea is ready"),
        ModelOutcome::text("Done."),
        ModelOutcome::hang("Anna"),
        ModelOutcome::text("Green."),
    ]);
    // Pings need a minimum gap between each other.
    story.advance_silently(jiff::SignedDuration::from_mins(46));
    story.run_in_background(forked_job("reminder:tea", "[reminder-bg:tea] Make tea."));
    story.user_begins_reply(5, "who wrote?").user_replies(9, "which?");
    check(
        &story.transcript(),
        &expect![[r#"
        human> good morning
        main> assistant: Morning.
        -- routine:mail runs: [routine-bg:mail] Triage my mail.
        fork/3fdabe86> calls ping_user {"message":"two mails need you"}
        fork/3fdabe86> ping_user: Message sent.
        routine:mail (5) to the human> two mails need you
        fork/3fdabe86> assistant: Done.
        -- reminder:tea runs: [reminder-bg:tea] Make tea.
        fork/69c3a276> calls ping_user {"message":"tea is ready"}
        fork/69c3a276> ping_user: Message sent.
        reminder:tea (9) to the human> tea is ready
        fork/69c3a276> assistant: Done.
        -- fork/f5ba4eb7 begins about routine:mail
        human> who wrote?
        fork/f5ba4eb7> assistant: Anna (cut)
        fork/f5ba4eb7> stopped
        notice> we are in a side conversation already, so your reply is added here as context instead.
        human> which?
        fork/f5ba4eb7> assistant: Green.
    "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.  <- main
              human: [routine-bg:mail]
              assistant: calls ping_user
              tools: Message sent.
              assistant: Done.  (fork/3fdabe86 ended)
              human: who wrote?
              assistant: Anna (cut)
              human: which?
              assistant: Green.  <- fork/f5ba4eb7
              human: [reminder-bg:tea]
              assistant: calls ping_user
              tools: Message sent.
              assistant: Done.  (fork/69c3a276 ended)
        "#]],
    );
}
