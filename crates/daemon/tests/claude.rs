//! The whole application with the Claude Code program: our real binary, the real program, and a
//! fake model server.

#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::model_server::{Gate, ScriptedReply};
use testkit::oracle::{Observations, find_violations};
use testkit::process::{BackgroundModelServer, Program, RunningProgram, block_on, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The name under which the model calls our tool.
const INBOX_ADD: &str = "mcp__ollim__inbox_add";

/// The real program, as installed by `cargo xtask test`.
#[expect(clippy::disallowed_methods, reason = "only the environment can give the path")]
fn claude_path() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_CLAUDE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_CLAUDE to the claude program, or run `cargo xtask test`"),
    }
}

fn setup() -> (BackgroundModelServer, Program) {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    program
        .set_env("OLLIM_MODEL", "claude:claude-test-1")
        .set_env("OLLIM_CLAUDE", &claude_path().display().to_string());
    (model_server, program)
}

/// The running child processes of `running`.
fn children(running: &RunningProgram) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("a list of processes");
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let parent = format!("PPid:\t{}\n", running.pid());
    numbers.filter(|number| process_status(*number).is_some_and(|status| status.contains(&parent))).collect()
}

fn process_status(process: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    (!status.contains("State:\tZ")).then_some(status)
}

fn kill(process: u32) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(process, Signal::KILL).expect("a process to kill");
}

/// Waits until none of `processes` runs.
fn wait_for_exit(processes: &[u32]) {
    block_on(async {
        while processes.iter().any(|process| process_status(*process).is_some()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

fn last_messages(model_server: &BackgroundModelServer) -> String {
    model_server.requests().pop().map(|request| request.json["messages"].to_string()).unwrap_or_default()
}

fn turn_ending(running: &RunningProgram, text: &str) -> Value {
    running.send_and_wait(text).expect("an end").data["how"].clone()
}

/// The program calls tools through our server, and after a restart it resumes its own session.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn tool_call_works_and_a_restart_resumes_the_session() {
    let (model_server, program) = setup();
    let milk = json!({"text": "milk"});
    model_server.model().script([
        ScriptedReply::text("One moment.").with_tool_call(INBOX_ADD, &milk),
        ScriptedReply::text("It is kept."),
    ]);
    let running = program.start();
    assert_eq!(running.get("/api/health").expect("health")["brain"], "claude:claude-test-1");
    assert_eq!(turn_ending(&running, "remember milk"), "finished");
    assert!(last_messages(&model_server).contains("kept as 1"), "{}", last_messages(&model_server));
    let started = children(&running);
    assert_eq!(started.len(), 1);
    running.terminate();
    assert!(process_status(started[0]).is_none(), "it outlived us");

    model_server.model().script([ScriptedReply::text("Milk.")]);
    let running = program.start();
    assert_eq!(turn_ending(&running, "what did i say?"), "finished");
    running.terminate();
    let sent = last_messages(&model_server);
    assert!(sent.contains("It is kept.") && !sent.contains("not in your memory"), "{sent}");
    assert_eq!(model_server.requests().len(), 3, "nothing was asked that nobody wanted");
    let acknowledged = vec!["remember milk".to_owned(), "what did i say?".to_owned()];
    let ledger = Observations { acknowledged, requests: Vec::new() };
    assert_eq!([find_violations(program.data()), ledger.check(program.data())].concat(), [""; 0]);
}

#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn killed_program_is_restarted_for_the_next_message() {
    let (model_server, program) = setup();
    let gate = Gate::new();
    model_server.model().script([
        ScriptedReply::text("Morning."),
        ScriptedReply::text("Once upon a time").waiting_at_event(4, &gate),
    ]);
    let running = program.start();
    assert_eq!(turn_ending(&running, "good morning"), "finished");
    let first = children(&running);
    running.send_message("a story").expect("it is heard");
    block_on(gate.reached());
    kill(first[0]);

    // The unanswered message is sent again with the next message that needs the model.
    model_server
        .model()
        .script([ScriptedReply::text("There was a king."), ScriptedReply::text("He had a cat.")]);
    assert_eq!(turn_ending(&running, "and who was there?"), "finished");
    let sent = last_messages(&model_server);
    assert!(
        sent.contains("good morning") && sent.contains("a story") && sent.contains("who was there"),
        "{sent}"
    );
    let second = children(&running);
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    running.terminate();
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// The program survives the end of its stdin during an answer, but not the end of the daemon.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn program_dies_with_the_daemon_and_the_answer_follows_later() {
    let (model_server, program) = setup();
    let gate = Gate::new();
    model_server.model().script([ScriptedReply::text("Lisbon is lovely").waiting_at_event(4, &gate)]);
    let running = program.start();
    running.send_message("tell me about lisbon").expect("it is heard");
    block_on(gate.reached());
    let started = children(&running);
    assert_eq!(started.len(), 1);
    running.kill();
    wait_for_exit(&started);

    model_server.model().script([ScriptedReply::text("Lisbon is lovely in march.")]);
    let running = program.start();
    let mut events = running.events().expect("events");
    // The unanswered message is answered first, in the same turn or before.
    let next = running.send_message("thanks").expect("it is heard");
    assert_eq!(events.wait_for_end(next).expect("an end").data["how"], "finished");
    running.terminate();
    let sent = last_messages(&model_server);
    assert!(sent.contains("Lisbon is lovely in march.") && sent.contains("thanks"), "{sent}");
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// The program's built-in tools are disabled.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn built_in_tools_of_the_program_are_disabled() {
    let (model_server, program) = setup();
    let proof = program.home().join("proof");
    let touch = json!({"command": format!("touch {}", proof.display()), "description": "d"});
    model_server.model().script([ScriptedReply::tool_call("Bash", &touch), ScriptedReply::text("I can't.")]);
    let output = program.run(&["chat", "--once", "touch it"]);
    assert_eq!(
        (stdout(&output).as_str(), output.status.code()),
        ("I can't.\n", Some(0)),
        "{}",
        stderr(&output)
    );
    let first = &model_server.requests()[0].json;
    let tools = first["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    // The placeholder only informs the vendor that tools may be added later.
    let tools: Vec<_> = tools.filter(|name| *name != "DeferredToolPlaceholder").collect();
    assert!(!tools.is_empty() && tools.iter().all(|name| name.starts_with("mcp__ollim__")), "{tools:?}");
    assert!(!proof.exists());
}

/// The stored session position can be lost; the conversation cannot.
#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn damaged_session_position_resends_the_conversation() {
    let (model_server, program) = setup();
    assert_eq!(program.run(&["chat", "--once", "my name is Ada"]).status.code(), Some(0));
    let positions = program.data().join("state/model_places.json");
    std::fs::write(&positions, "{\"main\":").expect("a file to damage");
    let output = program.run(&["chat", "--once", "who am i?"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("the claude program is told our conversation again"),
        "{}",
        stderr(&output)
    );
    let sent = last_messages(&model_server);
    assert!(sent.contains("not in your memory") && sent.contains("my name is Ada"), "{sent}");
    assert_eq!(find_violations(program.data()), [""; 0]);
}

#[test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
fn doctor_shows_version_and_login_without_a_model_call() {
    let (model_server, mut program) = setup();
    let report = stdout(&program.run(&["doctor"]));
    assert!(report.contains("(Claude Code), logged in (api_key)"), "{report}");
    program.set_env("ANTHROPIC_API_KEY", "");
    let report = stdout(&program.run(&["doctor"]));
    assert!(report.contains("✗ model") && report.contains("run `claude auth login` once"), "{report}");
    assert!(model_server.requests().is_empty());
}

#[test]
fn missing_program_is_reported_before_files_are_created() {
    let mut program = Program::new(BINARY);
    program.set_env("OLLIM_MODEL", "claude:opus");
    let check = |program: &Program, what: &str| {
        let output = program.run(&["chat", "--once", "hello"]);
        assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
        let sentence = stderr(&output);
        assert!(sentence.starts_with(&format!("error: {what}")), "{sentence}");
        assert!(sentence.contains("npm install -g @anthropic-ai/claude-code"), "{sentence}");
        assert!(!program.data().exists(), "{sentence}");
        let report = stdout(&program.run(&["doctor"]));
        assert!(report.contains(&format!("✗ model    {what}")), "{report}");
    };
    check(&program, "there is no program called `claude` on the PATH.");
    program.set_env("OLLIM_CLAUDE", "/no/such/claude");
    check(&program, "there is no claude program at `/no/such/claude`.");
}

/// A program under the parent-death guard does not start if its parent is already gone.
#[test]
fn guarded_program_does_not_start_without_its_parent() {
    let program = Program::new(BINARY);
    let proof = program.home().join("proof");
    let proof_text = proof.display().to_string();
    let guarded = program.run(&["leash", "1", "touch", &proof_text]);
    assert_eq!((guarded.status.code(), proof.exists()), (Some(1), false), "{}", stderr(&guarded));
    let ours = std::process::id().to_string();
    let guarded = program.run(&["leash", &ours, "touch", &proof_text]);
    assert_eq!((guarded.status.code(), proof.exists()), (Some(0), true), "{}", stderr(&guarded));
    assert!(!stdout(&program.run(&["--help"])).contains("leash"));
}
