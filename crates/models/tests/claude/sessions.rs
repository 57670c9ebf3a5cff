//! Sessions of the real program: resuming, forking, compaction and loss.

use std::sync::Arc;
use std::time::Duration;

use domain::context::continuing;
use domain::conversation::{Block, Branch, Heard, Reach, Said, Text};
use engine::ports::Model;
use models::claude::{Claude, Company, Notice, Place, Remembered, Sessions, Trigger};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::model_server::{Act, Fault, Gate};

use crate::stage::{NOTED, Rig, Talk, ask, program, runs, settings};

fn kill(process: u32) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_program_that_was_killed_between_turns_goes_on_where_it_was() {
    let rig = Rig::new().await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "my name is Ada").await;
    talk.say(&rig.claude, "and i like tea").await;
    kill(rig.notices.processes()[0]);
    talk.say(&rig.claude, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(rig.notices.processes().len(), 2);
    assert!(sent.contains("you said: my name is Ada") && !sent.contains("not in your memory"), "{sent}");
    rig.claude.close().await;
}

/// EN-11: a lost connection is reported as such, and the next message works.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_program_that_was_killed_in_a_turn_says_so_and_the_next_message_works() {
    let rig = Rig::new().await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "my name is Ada").await;
    let gate = Gate::new();
    rig.server.script([Act::says("Long long ago").held_at(4, &gate)]);
    talk.human("a story");
    let (_, reply) = tokio::join!(
        async {
            gate.reached().await;
            kill(rig.notices.processes()[0]);
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
async fn a_fork_shares_the_past_and_leaves_its_parent_untouched() {
    let rig = Rig::new().await;
    let mut main = Talk::main();
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
    assert!(rig.notices.processes().into_iter().all(|process| !runs(process)));
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_past_that_was_changed_begins_anew_and_is_told() {
    let rig = Rig::new().await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "a secret").await;
    let mut cleared = Talk::main();
    cleared.hear(Said::Summary("They like tea.".to_owned()));
    cleared.say(&rig.claude, "hello").await;
    let sent = rig.last_request();
    assert!(sent.contains("They like tea.") && !sent.contains("a secret"), "{sent}");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_session_the_program_does_not_know_is_told_anew_with_a_notice() {
    let sessions = Arc::new(Remembered::default());
    let rig = Rig::with(|_| {}, Company { sessions: sessions.clone(), ..Company::default() }).await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "my name is Ada").await;
    rig.claude.close().await;
    let (branch, place) = sessions.all().remove(0);
    sessions
        .keep(&branch, Place { session: "00000000-0000-4000-8000-000000000000".to_owned(), ..place })
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
async fn a_summary_is_made_once_when_it_is_asked_for() {
    let sessions = Arc::new(Remembered::default());
    let rig = Rig::with(|_| {}, Company { sessions: sessions.clone(), ..Company::default() }).await;
    let mut talk = Talk::main();
    let nothing = rig.claude.compact(&talk.0, "").await.unwrap_err();
    assert_eq!(nothing.to_string(), "there is nothing to sum up yet.");
    for text in ["my name is Ada", "and i like tea"] {
        talk.say(&rig.claude, text).await;
    }
    let before = sessions.all();
    rig.server.script([Act::says("<analysis>x</analysis><summary>Ada likes tea.</summary>")]);
    let compaction = rig.claude.compact(&talk.0, "keep the tea").await.unwrap();
    assert_eq!(compaction.boundaries, 1);
    assert!(compaction.pre_tokens.is_some_and(|tokens| tokens > 0), "{compaction:?}");
    let manual = |notice: &Notice| matches!(notice, Notice::Compacted(boundary) if boundary.trigger == Trigger::Manual);
    assert_eq!(rig.notices.all().iter().filter(|notice| manual(notice)).count(), 1);
    assert_eq!(before[0].1.session, sessions.all()[0].1.session);
    talk.say(&rig.claude, "who am i?").await;
    assert!(rig.last_request().contains("Ada likes tea."), "{}", rig.last_request());
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn an_idle_program_is_ended_and_started_again_when_needed() {
    let idle = Duration::from_millis(50);
    let rig = Rig::with(|settings| settings.patience.idle = idle, Company::default()).await;
    let mut talk = Talk::main();
    assert_eq!(talk.say(&rig.claude, "one").await, "you said: one");
    let process = rig.notices.processes()[0];
    while runs(process) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    talk.human("two");
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "you said: two");
    assert!(rig.last_request().contains("you said: one"));
    rig.claude.close().await;
}

/// PM-13: a program that waits for a tool of ours is not idle, however long the user takes to
/// decide.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_program_that_waits_for_a_tool_is_not_taken_for_idle() {
    let idle = Duration::from_millis(50);
    let rig = Rig::with(|settings| settings.patience.idle = idle, Company::default()).await;
    rig.server.script([
        Act::says("One moment.").and_calls(NOTED, &json!({"text": "a"})),
        Act::says("Here."),
        Act::says("Done."),
    ]);
    let mut talk = Talk::main();
    let mut other = Talk::new(Branch::fork("other").unwrap());
    talk.human("note a");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    assert_eq!(other.say(&rig.claude, "hello").await, "Here.");
    let [waits, idles] = rig.notices.processes()[..] else { panic!("two programs were expected") };
    while runs(idles) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(runs(waits), "it still waits for its tool");
    talk.ran(&reply);
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "Done.");
    assert_eq!(rig.notices.processes(), [waits, idles], "nobody had to begin anew");
    rig.claude.close().await;
}

/// EN-9, CP-6: the program compacts its session inside the turn, and still answers that turn.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_conversation_that_grew_too_long_is_summed_up_and_the_message_is_answered_once() {
    let small = |settings: &mut models::claude::Settings| {
        settings.environment.set("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "5");
        settings.environment.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
    };
    let rig = Rig::with(small, Company::default()).await;
    rig.server.answering(|request| {
        if request["messages"].to_string().contains("<summary>") {
            Act::says("<analysis>x</analysis><summary>They like tea.</summary>")
        } else {
            Act::says("Fine.")
        }
    });
    let mut talk = Talk::main();
    for _ in 0..5 {
        assert_eq!(talk.say(&rig.claude, &"tea ".repeat(2_000)).await, "Fine.");
    }
    assert_eq!(talk.say(&rig.claude, "and now?").await, "Fine.");
    let auto =
        |notice: &Notice| matches!(notice, Notice::Compacted(boundary) if boundary.trigger == Trigger::Auto);
    assert!(rig.notices.all().iter().any(auto), "{:?}", rig.notices.all());
    let answered = rig.server.requests().into_iter().filter(|request| !request.body.contains("<summary>"));
    assert_eq!(answered.count(), 6, "one request to a message, but for the summaries");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_branch_that_was_left_ends_its_program_and_is_not_gone_on_with() {
    let sessions = Arc::new(Remembered::default());
    let rig = Rig::with(|_| {}, Company { sessions: sessions.clone(), ..Company::default() }).await;
    let mut main = Talk::main();
    main.say(&rig.claude, "hello").await;
    let mut fork = main.fork("aside");
    fork.say(&rig.claude, "only here").await;
    rig.claude.leave(&fork.0.branch).await;
    assert_eq!(sessions.all().len(), 1);
    rig.claude.close().await;
    assert!(rig.notices.processes().into_iter().all(|process| !runs(process)));
}

/// A client with another model resumes the same session: nothing is sent twice.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn another_model_goes_on_in_the_same_memory() {
    let sessions = Arc::new(Remembered::default());
    let company = || Company { sessions: sessions.clone(), ..Company::default() };
    let rig = Rig::with(|_| {}, company()).await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "my name is Ada").await;
    rig.claude.close().await;
    let before = sessions.all()[0].1.session.clone();
    let mut settings = settings(program(), &rig.home, &rig.server.url());
    settings.choices.model = Some("claude-test-2".to_owned());
    let other = Claude::new(settings, company()).unwrap();
    talk.say(&other, "who am i?").await;
    let sent = rig.last_request();
    assert_eq!(rig.server.requests().pop().unwrap().json["model"], "claude-test-2");
    assert!(sent.contains("you said: my name is Ada") && !sent.contains("not in your memory"), "{sent}");
    assert_eq!(sessions.all()[0].1.session, before);
    other.close().await;
}

/// Requests a summary as the turn driver does, with a transient entry.
async fn sum_up(rig: &Rig, talk: &Talk) {
    let asked = Said::Human(Heard::note("[sum up our conversation]".to_owned()));
    let (_, reply) = ask(&rig.claude, &talk.0.and(&[Arc::new(asked)])).await;
    assert!(reply.unwrap().blocks.text().contains("sum up our conversation"));
    let sent = rig.last_request();
    assert!(!sent.contains("not in your memory"), "{sent}");
}

/// A refused or stopped summary is not stored: the program resumes its session, which does not
/// contain it.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn after_a_compaction_that_came_to_nothing_the_whole_memory_answers() {
    let sessions = Arc::new(Remembered::default());
    let rig = Rig::with(|_| {}, Company { sessions: sessions.clone(), ..Company::default() }).await;
    let mut talk = Talk::main();
    for text in ["my name is Ada", "and i like tea"] {
        talk.say(&rig.claude, text).await;
    }
    let before = sessions.all();
    sum_up(&rig, &talk).await;
    sum_up(&rig, &talk).await;
    assert_eq!(sessions.all(), before);
    let gate = Gate::new();
    rig.server.script([Act::says("Ada likes").held_at(4, &gate)]);
    tokio::select! {
        () = sum_up(&rig, &talk) => panic!("it was held"),
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
async fn after_an_answer_that_was_continued_the_whole_memory_answers() {
    let sessions = Arc::new(Remembered::default());
    let rig = Rig::with(|_| {}, Company { sessions: sessions.clone(), ..Company::default() }).await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "my name is Ada").await;
    let cut = || Act::says("Lisbon is lovely").with(Fault::Cut(4));
    rig.server.script([cut(), cut(), Act::says("is lovely in march.")]);
    talk.human("where to?");
    let (half, reply) = ask(&rig.claude, &talk.0).await;
    reply.unwrap_err();
    let session = sessions.all()[0].1.session.clone();
    let (rest, reply) = ask(&rig.claude, &talk.0.and(&continuing(&half))).await;
    reply.unwrap();
    talk.hear(Said::Assistant(vec![Block::Text(half + &rest)], Reach::Whole));
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
async fn after_a_compaction_of_ours_the_old_memory_answers_nothing() {
    let sessions = Arc::new(Remembered::default());
    let company = || Company { sessions: sessions.clone(), ..Company::default() };
    let rig = Rig::with(|_| {}, company()).await;
    let mut talk = Talk::main();
    talk.say(&rig.claude, "the secret word is plover").await;
    sum_up(&rig, &talk).await;
    let old = sessions.all()[0].1.session.clone();
    let mut compacted = Talk::main();
    compacted.hear(Said::Summary("They shared a word.".to_owned()));
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
