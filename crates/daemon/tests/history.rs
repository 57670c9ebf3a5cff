//! `ollim-bot history` on the conversations of the real program.

use std::sync::Arc;

use daemon::in_process_cli::InProcessCli;
use daemon::settings::{Environment, Settings};
use journal::disk::RealDisk;
use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn output_of(program: &Program, line: &[&str]) -> String {
    let output = program.run(line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
    stdout(&output)
}

fn json_of(program: &Program, line: &[&str]) -> Value {
    let output = program.run(&[line, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line:?} {error}: {output:?}"))
}

/// SA-11: sessions, prompts, response, transcript and search, with their flags, on our own journal.
#[test]
fn history_commands_find_the_conversation() {
    let program = Program::offline(BINARY);
    assert_eq!(output_of(&program, &["history", "sessions"]), "nothing was said yet.\n");
    output_of(&program, &["chat", "--once", "call the dentist tomorrow at 10"]);
    output_of(&program, &["chat", "--once", "hello"]);
    let prompts = output_of(&program, &["history", "prompts", "--since", "1h"]);
    assert!(prompts.contains("terminal on main  call the dentist tomorrow at 10"), "{prompts}");
    let newest = &json_of(&program, &["history", "prompts"])["prompts"][0];
    let oldest = &json_of(&program, &["history", "prompts", "-r"])["prompts"][0];
    assert_eq!((&newest["text"], &oldest["turn"]), (&"hello".into(), &1.into()));
    let response = output_of(&program, &["history", "response", "1"]);
    assert!(response.contains("call the dentist"), "{response}");
    let sessions = output_of(&program, &["history", "sessions", "-t", "main"]);
    assert!(sessions.contains("2 messages  call the dentist tomorrow at 10"), "{sessions}");
    let transcript = output_of(&program, &["history", "transcript"]);
    let first = transcript.find("dentist");
    let last = transcript.find("hello");
    assert!(first.is_some() && first < last, "{transcript}");
    let found = output_of(&program, &["history", "search", "the", "dent"]);
    assert!(found.contains("terminal on main, number 1"), "{found}");
    assert_eq!(
        json_of(&program, &["history", "search", "dentist", "-t", "discord"])["hits"],
        Value::Array(vec![])
    );
    assert_eq!(
        json_of(&program, &["history", "search", "dentist", "--until", "2d"])["hits"],
        Value::Array(vec![])
    );
    let exported = output_of(&program, &["history", "export"]);
    assert!(exported.starts_with("# main\n\n## you, ") && exported.contains("\n## ollim, "), "{exported}");
}

#[test]
fn missing_history_is_reported() {
    let program = Program::offline(BINARY);
    output_of(&program, &["chat", "--once", "hello"]);
    let expect_failure = |line: &[&str], code: i32, words: &str| {
        let output = program.run(line);
        assert_eq!(output.status.code(), Some(code), "{line:?}");
        assert!(stderr(&output).contains(words), "{line:?}: {}", stderr(&output));
    };
    expect_failure(&["history", "transcript", "fork/nobody"], 1, "`ollim-bot history sessions` lists them");
    expect_failure(&["history", "response", "99"], 1, "`ollim-bot history prompts` lists the numbers");
    expect_failure(
        &["history", "search", "x", "--since", "lately"],
        2,
        "a length such as 90m, 24h, 7d or 2w",
    );
    expect_failure(&["history", "search"], 2, "WORDS");
    expect_failure(&["history", "prompts", "--page", "0"], 2, "--page");
    assert_eq!(output_of(&program, &["history", "search", "\" OR *"]), "nothing like that was said.\n");
}

/// Our own commands run in-process: they read the daemon's data directory and use its control
/// socket.
#[tokio::test]
async fn own_commands_run_without_a_shell() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.send_and_wait("call the dentist tomorrow at 10").expect("an answer");
    let mut environment = Environment::new(|_| None);
    environment.set_data_dir(program.data().to_owned());
    let settings = Settings::read(&environment).expect("settings");
    let cli = InProcessCli::new(&settings, Arc::new(RealDisk));
    let run = async |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        cli.run(&words).await.map(|output| output.text)
    };
    let found = run("ollim-bot history search dentist").await.expect("hits");
    assert!(found.contains("call the dentist"), "{found}");
    assert!(run("ollim-bot reminder list").await.expect("a list").contains("call the dentist"));
    assert!(run("ollim-bot today tomorrow").await.expect("a day").contains("call the dentist"));
    assert!(run("ollim-bot status").await.expect("words").starts_with("running (pid "));
    assert!(run("ollim-bot inbox add buy milk").await.expect("words").contains("buy milk"));
    assert!(run("ollim-bot inbox --json").await.expect("json").starts_with("{\"inbox\":["));
    let added = run("ollim-bot reminder add --delay 20 -m bread").await.expect("words");
    assert!(added.starts_with("scheduled "), "{added}");
    assert!(run("ollim-bot reminder edit bread").await.expect_err("no editor").contains("as flags"));
    assert!(run("ollim-bot reminder show nothing").await.expect_err("none").contains("nothing"));
    assert!(run("ollim-bot open").await.expect_err("refused").contains("your human alone"));
    running.terminate();
}
