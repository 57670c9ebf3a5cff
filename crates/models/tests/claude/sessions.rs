//! Sessions of the real program: resuming, forking, compaction and loss.

use std::sync::Arc;
use std::time::Duration;

use domain::context::continuation_prompt;
use domain::conversation::{Block, Branch, Completeness, EntryContent, Text, UserInput};
use engine::ports::Model;
use models::claude::{
    Callbacks, Claude, CompactionTrigger, InMemorySessions, Notice, SessionPosition, SessionStore,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::model_server::{Gate, ReplyFault, ScriptedReply};

use crate::support::{Conversation, NOTE_TOOL_NAME, Rig, call_model, is_running, program, settings};

fn kill_program(process: u32) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn program_killed_between_turns_resumes_its_session() {
    let rig = Rig::new().await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "my name is Ada").await;
    talk.say(&rig.claude, "and i like tea").await;
    kill_program(rig.notices.processes()[0]);
    talk.say(&rig.claude, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(rig.notices.processes().len(), 2);
    assert!(sent.contains("you said: my name is Ada") && !sent.contains("not in your memory"), "{sent}");
    rig.claude.close().await;
}

/// EN-11: a lost connection is reported as such, and the next message works.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn program_killed_in_a_turn_is_reported_and_the_next_message_works() {
    let rig = Rig::new().await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "my name is Ada").await;
    let gate = Gate::new();
    rig.server.script([ScriptedReply::text("Long long ago").waiting_at_event(4, &gate)]);
    talk.add_user("a story");
    let (_, reply) = tokio::join!(
        async {
            gate.reached().await;
            kill_program(rig.notices.processes()[0]);
        },
        talk.reply(&rig.claude)
    );
    let failure = reply.1.unwrap_err().to_string();
    assert!(failure.contains("the claude program ended"), "{failure}");
    talk.say(&rig.claude, "again").await;
    let sent = rig.last_request();
    assert!(sent.contains("my name is Ada") && sent.contains("a story") && sent.contains("again"), "{sent}");
    rig.claude.close().await;
}

/// EN-3: a fork of a session is a new session that begins with its history; the original session
/// continues.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn fork_shares_the_history_and_leaves_its_parent_unchanged() {
    let rig = Rig::new().await;
    let mut main = Conversation::main();
    main.say(&rig.claude, "my name is Ada").await;
    let mut fork = main.fork("aside");
    fork.say(&rig.claude, "only here").await;
    let sent = rig.last_request();
    assert!(sent.contains("you said: my name is Ada") && !sent.contains("not in your memory"), "{sent}");
    main.say(&rig.claude, "only on main").await;
    assert!(!rig.last_request().contains("only here"));
    fork.say(&rig.claude, "still here").await;
    assert!(rig.last_request().contains("only here") && !rig.last_request().contains("only on main"));
    assert_eq!(rig.notices.processes().len(), 2);
    rig.claude.close().await;
    assert!(rig.notices.processes().into_iter().all(|process| !is_running(process)));
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn changed_history_starts_a_new_session() {
    let rig = Rig::new().await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "a secret").await;
    let mut cleared = Conversation::main();
    cleared.add(EntryContent::Summary("They like tea.".to_owned()));
    cleared.say(&rig.claude, "hello").await;
    let sent = rig.last_request();
    assert!(sent.contains("They like tea.") && !sent.contains("a secret"), "{sent}");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn unknown_session_is_replaced_with_a_notice() {
    let sessions = Arc::new(InMemorySessions::default());
    let rig = Rig::with(|_| {}, Callbacks { sessions: sessions.clone(), ..Callbacks::default() }).await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "my name is Ada").await;
    rig.claude.close().await;
    let (branch, place) = sessions.all().remove(0);
    sessions
        .save(
            &branch,
            SessionPosition { session: "00000000-0000-4000-8000-000000000000".to_owned(), ..place },
        )
        .await;
    talk.say(&rig.claude, "who am i?").await;
    assert!(rig.last_request().contains("human: my name is Ada"), "{}", rig.last_request());
    let lost = |notice: &Notice| matches!(notice, Notice::SessionLost(_));
    assert_eq!(rig.notices.all().iter().filter(|notice| lost(notice)).count(), 1);
    rig.claude.close().await;
}

/// CP-1, CP-2, CP-4: one request leads to one compaction, and the session continues.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn requested_compaction_happens_once() {
    let sessions = Arc::new(InMemorySessions::default());
    let rig = Rig::with(|_| {}, Callbacks { sessions: sessions.clone(), ..Callbacks::default() }).await;
    let mut talk = Conversation::main();
    let nothing = rig.claude.compact(&talk.0, "").await.unwrap_err();
    assert_eq!(nothing.to_string(), "there is nothing to sum up yet.");
    for text in ["my name is Ada", "and i like tea"] {
        talk.say(&rig.claude, text).await;
    }
    let before = sessions.all();
    rig.server.script([ScriptedReply::text("<analysis>x</analysis><summary>Ada likes tea.</summary>")]);
    let compaction = rig.claude.compact(&talk.0, "keep the tea").await.unwrap();
    assert_eq!(compaction.boundaries, 1);
    assert!(compaction.pre_tokens.is_some_and(|tokens| tokens > 0), "{compaction:?}");
    let manual = |notice: &Notice| matches!(notice, Notice::Compacted(boundary) if boundary.trigger == CompactionTrigger::Manual);
    assert_eq!(rig.notices.all().iter().filter(|notice| manual(notice)).count(), 1);
    assert_eq!(before[0].1.session, sessions.all()[0].1.session);
    talk.say(&rig.claude, "who am i?").await;
    assert!(rig.last_request().contains("Ada likes tea."), "{}", rig.last_request());
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn idle_program_is_ended_and_restarted_when_needed() {
    let idle = Duration::from_millis(50);
    let rig = Rig::with(|settings| settings.timeouts.idle = idle, Callbacks::default()).await;
    let mut talk = Conversation::main();
    assert_eq!(talk.say(&rig.claude, "one").await, "you said: one");
    let process = rig.notices.processes()[0];
    while is_running(process) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    talk.add_user("two");
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "you said: two");
    assert!(rig.last_request().contains("you said: one"));
    rig.claude.close().await;
}

/// PM-13: a program that waits for a tool of ours is not idle, however long the user takes to
/// decide.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn program_that_waits_for_a_tool_is_not_idle() {
    let idle = Duration::from_millis(50);
    let rig = Rig::with(|settings| settings.timeouts.idle = idle, Callbacks::default()).await;
    rig.server.script([
        ScriptedReply::text("One moment.").with_tool_call(NOTE_TOOL_NAME, &json!({"text": "a"})),
        ScriptedReply::text("Here."),
        ScriptedReply::text("Done."),
    ]);
    let mut talk = Conversation::main();
    let mut other = Conversation::new(Branch::fork("other").unwrap());
    talk.add_user("note a");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    assert_eq!(other.say(&rig.claude, "hello").await, "Here.");
    let [waiting_process, idle_process] = rig.notices.processes()[..] else {
        panic!("two programs were expected")
    };
    while is_running(idle_process) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(is_running(waiting_process), "it still waits for its tool");
    talk.add_results(&reply);
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "Done.");
    assert_eq!(rig.notices.processes(), [waiting_process, idle_process], "nobody had to begin anew");
    rig.claude.close().await;
}

/// EN-9, CP-6: the program compacts its session inside the turn, and still answers that turn.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn automatic_compaction_still_answers_the_message_once() {
    let small = |settings: &mut models::claude::Settings| {
        settings.environment.set("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "5");
        settings.environment.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
    };
    let rig = Rig::with(small, Callbacks::default()).await;
    rig.server.answering(|request| {
        if request["messages"].to_string().contains("<summary>") {
            ScriptedReply::text("<analysis>x</analysis><summary>They like tea.</summary>")
        } else {
            ScriptedReply::text("Fine.")
        }
    });
    let mut talk = Conversation::main();
    for _ in 0..5 {
        assert_eq!(talk.say(&rig.claude, &"tea ".repeat(2_000)).await, "Fine.");
    }
    assert_eq!(talk.say(&rig.claude, "and now?").await, "Fine.");
    let auto = |notice: &Notice| matches!(notice, Notice::Compacted(boundary) if boundary.trigger == CompactionTrigger::Auto);
    assert!(rig.notices.all().iter().any(auto), "{:?}", rig.notices.all());
    let answered = rig.server.requests().into_iter().filter(|request| !request.body.contains("<summary>"));
    assert_eq!(answered.count(), 6, "one request to a message, but for the summaries");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn ended_branch_stops_its_program_and_forgets_its_session() {
    let sessions = Arc::new(InMemorySessions::default());
    let rig = Rig::with(|_| {}, Callbacks { sessions: sessions.clone(), ..Callbacks::default() }).await;
    let mut main = Conversation::main();
    main.say(&rig.claude, "hello").await;
    let mut fork = main.fork("aside");
    fork.say(&rig.claude, "only here").await;
    rig.claude.end_branch(&fork.0.branch).await;
    assert_eq!(sessions.all().len(), 1);
    rig.claude.close().await;
    assert!(rig.notices.processes().into_iter().all(|process| !is_running(process)));
}

/// A client with another model resumes the same session: nothing is sent twice.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn another_model_resumes_the_same_session() {
    let sessions = Arc::new(InMemorySessions::default());
    let company = || Callbacks { sessions: sessions.clone(), ..Callbacks::default() };
    let rig = Rig::with(|_| {}, company()).await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "my name is Ada").await;
    rig.claude.close().await;
    let before = sessions.all()[0].1.session.clone();
    let mut settings = settings(program(), &rig.home, &rig.server.url());
    settings.runtime.model = Some("claude-test-2".to_owned());
    let other = Claude::new(settings, company()).unwrap();
    talk.say(&other, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(rig.server.requests().pop().unwrap().json["model"], "claude-test-2");
    assert!(sent.contains("you said: my name is Ada") && !sent.contains("not in your memory"), "{sent}");
    assert_eq!(sessions.all()[0].1.session, before);
    other.close().await;
}

/// Requests a summary as the turn driver does, with a transient entry.
async fn request_summary(rig: &Rig, conversation: &Conversation) {
    let prompt = EntryContent::User(UserInput::note("[sum up our conversation]".to_owned()));
    let (_, reply) = call_model(&rig.claude, &conversation.0.with_transient(&[Arc::new(prompt)])).await;
    assert!(reply.unwrap().blocks.text().contains("sum up our conversation"));
    let sent = rig.last_request();
    assert!(!sent.contains("not in your memory"), "{sent}");
}

/// A refused or stopped summary is not stored: the program resumes its session, which does not
/// contain it.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn failed_compaction_leaves_the_session_unchanged() {
    let sessions = Arc::new(InMemorySessions::default());
    let rig = Rig::with(|_| {}, Callbacks { sessions: sessions.clone(), ..Callbacks::default() }).await;
    let mut talk = Conversation::main();
    for text in ["my name is Ada", "and i like tea"] {
        talk.say(&rig.claude, text).await;
    }
    let before = sessions.all();
    request_summary(&rig, &talk).await;
    request_summary(&rig, &talk).await;
    assert_eq!(sessions.all(), before);
    let gate = Gate::new();
    rig.server.script([ScriptedReply::text("Ada likes").waiting_at_event(4, &gate)]);
    tokio::select! {
        () = request_summary(&rig, &talk) => panic!("it was held"),
        () = gate.reached() => {}
    }
    talk.say(&rig.claude, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(sessions.all()[0].1.session, before[0].1.session);
    assert!(sent.contains("you said: my name is Ada") && sent.contains("you said: and i like tea"), "{sent}");
    assert!(!sent.contains("not in your memory") && !sent.contains("sum up our"), "{sent}");
    rig.claude.close().await;
}

/// A continuation prompt is transient: the answer after it is still part of the session.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn continued_answer_stays_in_the_session() {
    let sessions = Arc::new(InMemorySessions::default());
    let rig = Rig::with(|_| {}, Callbacks { sessions: sessions.clone(), ..Callbacks::default() }).await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "my name is Ada").await;
    let cut = || ScriptedReply::text("Lisbon is lovely").with_fault(ReplyFault::Cut(4));
    rig.server.script([cut(), cut(), ScriptedReply::text("is lovely in march.")]);
    talk.add_user("where to?");
    let (half, reply) = call_model(&rig.claude, &talk.0).await;
    reply.unwrap_err();
    let session = sessions.all()[0].1.session.clone();
    let (rest, reply) = call_model(&rig.claude, &talk.0.with_transient(&continuation_prompt(&half))).await;
    reply.unwrap();
    talk.add(EntryContent::Assistant(vec![Block::Text(half + &rest)], Completeness::Complete));
    talk.say(&rig.claude, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(sessions.all()[0].1.session, session);
    assert!(sent.contains("you said: my name is Ada") && sent.contains("is lovely in march."), "{sent}");
    assert!(!sent.contains("human: my name is Ada") && !sent.contains("human: where to?"), "{sent}");
    rig.claude.close().await;
}

/// Our own compaction: the summary is requested in a transient turn and then replaces the history.
/// The program's session must not be resumed, not even after a restart. It may be resumed if the
/// compaction is undone.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn own_compaction_replaces_the_session() {
    let sessions = Arc::new(InMemorySessions::default());
    let company = || Callbacks { sessions: sessions.clone(), ..Callbacks::default() };
    let rig = Rig::with(|_| {}, company()).await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "the secret word is plover").await;
    request_summary(&rig, &talk).await;
    let old = sessions.all()[0].1.session.clone();
    let mut compacted = Conversation::main();
    compacted.add(EntryContent::Summary("They shared a word.".to_owned()));
    let check = |rig: &Rig| {
        let sent = rig.last_request();
        assert!(sent.contains("They shared a word."), "{sent}");
        assert!(!sent.contains("plover") && !sent.contains("sum up our conversation"), "{sent}");
    };
    compacted.say(&rig.claude, "hello").await;
    check(&rig);
    assert_ne!(sessions.all()[0].1.session, old);
    rig.claude.close().await;
    let other = Claude::new(settings(program(), &rig.home, &rig.server.url()), company()).unwrap();
    compacted.say(&other, "and again").await;
    check(&rig);
    talk.say(&other, "what was the word?").await;
    let sent = rig.last_request();
    assert!(sent.contains("plover") && !sent.contains("sum up our conversation"), "{sent}");
    other.close().await;
}
