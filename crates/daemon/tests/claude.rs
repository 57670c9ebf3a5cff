//! The whole application with the Claude Code program: our real binary, the real program, and a
//! fake model server.

#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, Running, stderr, stdout, wait};
use testkit::model_server::{Act, Gate};
use testkit::oracle::{Ledger, examine};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The name under which the model calls our tool.
const INBOX_ADD: &str = "mcp__ollim__inbox_add";

/// The real program, as installed by `cargo xtask test`.
#[expect(clippy::disallowed_methods, reason = "only the environment can give the path")]
fn claude() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_CLAUDE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_CLAUDE to the claude program, or run `cargo xtask test`"),
    }
}

fn stage() -> (Backstage, Program) {
    let backstage = Backstage::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("OLLIM_MODEL", "claude:claude-test-1").set("OLLIM_CLAUDE", &claude().display().to_string());
    (backstage, program)
}

/// The running child processes of `running`.
fn children(running: &Running) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("a list of processes");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parent = format!("PPid:\t{}\n", running.pid());
    numbers.filter(|number| status(*number).is_some_and(|status| status.contains(&parent))).collect()
}

fn status(process: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    (!status.contains("State:\tZ")).then_some(status)
}

fn kill(process: u32) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(process, Signal::KILL).expect("a process to kill");
}

/// Waits until none of `processes` runs.
fn gone(processes: &[u32]) {
    wait(async {
        while processes.iter().any(|process| status(*process).is_some()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

fn messages(backstage: &Backstage) -> String {
    backstage.requests().pop().map(|request| request.json["messages"].to_string()).unwrap_or_default()
}

fn how(running: &Running, text: &str) -> Value {
    running.converse(text).expect("an end").data["how"].clone()
}

/// The program calls tools through our server, and after a restart it resumes its own session.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn a_tool_of_ours_runs_and_a_restart_goes_on_where_it_was() {
    let (backstage, program) = stage();
    let milk = json!({"text": "milk"});
    backstage
        .model()
        .script([Act::says("One moment.").and_calls(INBOX_ADD, &milk), Act::says("It is kept.")]);
    let running = program.start();
    assert_eq!(running.get("/api/health").expect("health")["brain"], "claude:claude-test-1");
    assert_eq!(how(&running, "remember milk"), "finished");
    assert!(messages(&backstage).contains("kept as 1"), "{}", messages(&backstage));
    let started = children(&running);
    assert_eq!(started.len(), 1);
    running.terminate();
    assert!(status(started[0]).is_none(), "it outlived us");

    backstage.model().script([Act::says("Milk.")]);
    let running = program.start();
    assert_eq!(how(&running, "what did i say?"), "finished");
    running.terminate();
    let sent = messages(&backstage);
    assert!(sent.contains("It is kept.") && !sent.contains("not in your memory"), "{sent}");
    assert_eq!(backstage.requests().len(), 3, "nothing was asked that nobody wanted");
    let acknowledged = vec!["remember milk".to_owned(), "what did i say?".to_owned()];
    let ledger = Ledger { acknowledged, requests: Vec::new() };
    assert_eq!([examine(program.data()), ledger.check(program.data())].concat(), [""; 0]);
}

#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn a_program_that_is_killed_in_mid_turn_is_started_again_for_the_next_message() {
    let (backstage, program) = stage();
    let gate = Gate::new();
    backstage.model().script([Act::says("Morning."), Act::says("Once upon a time").held_at(4, &gate)]);
    let running = program.start();
    assert_eq!(how(&running, "good morning"), "finished");
    let first = children(&running);
    running.say("a story").expect("it is heard");
    wait(gate.reached());
    kill(first[0]);

    // The unanswered message is sent again with the next message that needs the model.
    backstage.model().script([Act::says("There was a king."), Act::says("He had a cat.")]);
    assert_eq!(how(&running, "and who was there?"), "finished");
    let sent = messages(&backstage);
    assert!(
        sent.contains("good morning") && sent.contains("a story") && sent.contains("who was there"),
        "{sent}"
    );
    let second = children(&running);
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    running.terminate();
    assert_eq!(examine(program.data()), [""; 0]);
}

/// The program survives the end of its stdin during an answer, but not the end of the daemon.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn when_we_are_killed_the_program_dies_with_us_and_the_owed_answer_comes_later() {
    let (backstage, program) = stage();
    let gate = Gate::new();
    backstage.model().script([Act::says("Lisbon is lovely").held_at(4, &gate)]);
    let running = program.start();
    running.say("tell me about lisbon").expect("it is heard");
    wait(gate.reached());
    let started = children(&running);
    assert_eq!(started.len(), 1);
    running.kill();
    gone(&started);

    backstage.model().script([Act::says("Lisbon is lovely in march.")]);
    let running = program.start();
    let mut events = running.events().expect("events");
    // The unanswered message is answered first, in the same turn or before.
    let next = running.say("thanks").expect("it is heard");
    assert_eq!(events.ended(next).expect("an end").data["how"], "finished");
    running.terminate();
    let sent = messages(&backstage);
    assert!(sent.contains("Lisbon is lovely in march.") && sent.contains("thanks"), "{sent}");
    assert_eq!(examine(program.data()), [""; 0]);
}

/// The program's built-in tools are disabled.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn the_programs_own_tools_are_not_to_be_had() {
    let (backstage, program) = stage();
    let proof = program.home().join("proof");
    let touch = json!({"command": format!("touch {}", proof.display()), "description": "d"});
    backstage.model().script([Act::calls("Bash", &touch), Act::says("I can't.")]);
    let said = program.run(&["chat", "--once", "touch it"]);
    assert_eq!((stdout(&said).as_str(), said.status.code()), ("I can't.\n", Some(0)), "{}", stderr(&said));
    let first = &backstage.requests()[0].json;
    let tools = first["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    // The placeholder only informs the vendor that tools may be added later.
    let tools: Vec<_> = tools.filter(|name| *name != "DeferredToolPlaceholder").collect();
    assert!(!tools.is_empty() && tools.iter().all(|name| name.starts_with("mcp__ollim__")), "{tools:?}");
    assert!(!proof.exists());
}

/// The stored session position can be lost; the conversation cannot.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn a_damaged_place_is_kept_aside_and_the_conversation_is_told_again() {
    let (backstage, program) = stage();
    assert_eq!(program.run(&["chat", "--once", "my name is Ada"]).status.code(), Some(0));
    let places = program.data().join("state/model_places.json");
    std::fs::write(&places, "{\"main\":").expect("a file to damage");
    let said = program.run(&["chat", "--once", "who am i?"]);
    assert_eq!(said.status.code(), Some(0));
    assert!(stderr(&said).contains("the claude program is told our conversation again"), "{}", stderr(&said));
    let sent = messages(&backstage);
    assert!(sent.contains("not in your memory") && sent.contains("my name is Ada"), "{sent}");
    assert_eq!(examine(program.data()), [""; 0]);
}

#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn the_doctor_tells_the_version_and_the_login_and_asks_no_model() {
    let (backstage, mut program) = stage();
    let looked = stdout(&program.run(&["doctor"]));
    assert!(looked.contains("(Claude Code), logged in (api_key)"), "{looked}");
    program.set("ANTHROPIC_API_KEY", "");
    let looked = stdout(&program.run(&["doctor"]));
    assert!(looked.contains("✗ model") && looked.contains("run `claude auth login` once"), "{looked}");
    assert!(backstage.requests().is_empty());
}

#[test]
fn a_program_that_is_not_there_is_told_before_anything_is_made() {
    let mut program = Program::new(BINARY);
    program.set("OLLIM_MODEL", "claude:opus");
    let check = |program: &Program, what: &str| {
        let said = program.run(&["chat", "--once", "hello"]);
        assert_eq!(said.status.code(), Some(78), "{}", stderr(&said));
        let sentence = stderr(&said);
        assert!(sentence.starts_with(&format!("error: {what}")), "{sentence}");
        assert!(sentence.contains("npm install -g @anthropic-ai/claude-code"), "{sentence}");
        assert!(!program.data().exists(), "{sentence}");
        let looked = stdout(&program.run(&["doctor"]));
        assert!(looked.contains(&format!("✗ model    {what}")), "{looked}");
    };
    check(&program, "there is no program called `claude` on the PATH.");
    program.set("OLLIM_CLAUDE", "/no/such/claude");
    check(&program, "there is no claude program at `/no/such/claude`.");
}

/// A program under the parent-death guard does not start if its parent is already gone.
#[test]
fn a_leash_without_a_hand_holds_nothing() {
    let program = Program::new(BINARY);
    let proof = program.home().join("proof");
    let proof_text = proof.display().to_string();
    let leashed = program.run(&["leash", "1", "touch", &proof_text]);
    assert_eq!((leashed.status.code(), proof.exists()), (Some(1), false), "{}", stderr(&leashed));
    let ours = std::process::id().to_string();
    let leashed = program.run(&["leash", &ours, "touch", &proof_text]);
    assert_eq!((leashed.status.code(), proof.exists()), (Some(0), true), "{}", stderr(&leashed));
    assert!(!stdout(&program.run(&["--help"])).contains("leash"));
}
