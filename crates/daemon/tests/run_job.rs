//! A job is done now, from the command line: by the assistant that runs, or by one in this process.
#![expect(clippy::unwrap_used, reason = "what a test sets up itself is there")]

use serde_json::{Value, json};
use testkit::kill::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
const STRETCH: &str = "---\nid: stretch\ncron: 0 3 1 1 *\n---\nremember: stretch\n";
const TEA: &str = "---\nid: tea\nrun-at: 2031-01-02T03:04:05+01:00\n---\nmake tea\n";

/// A program with a routine for the first of January, and a reminder for a day far away.
fn planned() -> Program {
    let program = Program::offline(BINARY);
    for (name, text) in [("routines/stretch.md", STRETCH), ("reminders/tea.md", TEA)] {
        let path = program.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    program
}

fn json_of(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn a_job_is_done_in_this_process_if_no_assistant_runs() {
    let program = planned();
    let done = program.run(&["routine", "run", "stretch"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_ne!(stdout(&done).trim(), "", "it tells what was said");
    let told = json_of(&program.run(&["reminder", "run", "tea", "--json"]));
    assert_eq!((&told["ok"], &told["state"]), (&json!(true), &json!("done")));
    assert!(!program.data().join("reminders/tea.md").exists(), "a reminder that is done now is done");
}

#[test]
fn the_assistant_that_runs_does_it_and_status_names_what_comes_next() {
    let program = planned();
    let running = program.start();
    let done = program.run(&["reminder", "run", "tea", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(json_of(&done)["said"].as_array().unwrap().len(), 1, "{}", stdout(&done));
    let status = stdout(&program.run(&["status"]));
    let next = status.lines().find(|line| line.trim_start().starts_with("next ")).unwrap();
    assert!(next.contains("1 jan") && next.ends_with("· remember: stretch"), "{next}");
    assert_eq!(json_of(&program.run(&["status", "--json"]))["next_fire"]["job"], "routine:stretch");
    running.terminate();
}

#[test]
fn what_is_not_planned_is_refused_in_a_sentence() {
    let program = planned();
    let refused = program.run(&["routine", "run", "nobody"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(stderr(&refused).trim(), "error: routine nobody not found");
}
