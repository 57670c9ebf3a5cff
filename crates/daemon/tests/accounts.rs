//! Tasks and calendar for scripts: exit codes, JSON output, and one plain line per error.

use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

#[test]
fn handwritten_task_list_is_preserved_and_changed() {
    let program = Program::offline(BINARY);
    std::fs::create_dir_all(program.data()).unwrap();
    let file = program.data().join("tasks.md");
    std::fs::write(&file, "my words\n\n- [ ] water the plants\n").unwrap();
    let listed = program.run(&["tasks", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed["tasks"][0]["id"].as_str().unwrap();
    let done = program.run(&["tasks", "done", id]);
    assert_eq!(stdout(&done), format!("completed {id}\n"));
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!("my words\n\n- [x] water the plants ^{id}\n")
    );
    assert_eq!(stdout(&program.run(&["tasks"])), "no tasks\n");
}

/// Concurrent writes by many processes lose nothing.
#[test]
fn concurrent_writes_lose_nothing() {
    let program = Program::offline(BINARY);
    let add = |n: u32| {
        let title = format!("number {n}");
        let day = format!("2026-11-{n:02}T09:00");
        let end = format!("2026-11-{n:02}T10:00");
        let task = program.command(&["tasks", "add", &title]).spawn().unwrap();
        let event = program.command(&["cal", "add", &title, "--start", &day, "--end", &end]).spawn().unwrap();
        [task, event]
    };
    let all: Vec<_> = (1..=10).flat_map(add).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let tasks = std::fs::read_to_string(program.data().join("tasks.md")).unwrap();
    assert_eq!(tasks.matches("- [ ] number ").count(), 10, "{tasks}");
    let calendar = std::fs::read_to_string(program.data().join("calendar.ics")).unwrap();
    assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 10, "{calendar}");
}

/// GO-15, GO-21, GO-26: an error is one plain line, and the exit code classifies it.
#[test]
fn errors_are_one_line_and_an_exit_code() {
    let program = Program::offline(BINARY);
    let expect_failure = |line: &[&str], code: i32, message: &str| {
        let output = program.run(line);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {}", stderr(&output));
        assert_eq!(
            (stdout(&output), stderr(&output)),
            (String::new(), format!("error: {message}\n")),
            "{line:?}"
        );
    };
    expect_failure(
        &["tasks", "done", "x"],
        1,
        "there is no task `x`. `ollim-bot tasks list --all` shows their ids.",
    );
    expect_failure(&["tasks", "update", "x"], 1, "nothing to change: say --title, --due or --notes.");
    expect_failure(
        &["cal", "update", "x"],
        1,
        "nothing to change: say --summary, --start, --end or --description.",
    );
    expect_failure(
        &["cal", "delete", "x"],
        1,
        "there is no event `x`. `ollim-bot cal upcoming` shows their ids.",
    );
    expect_failure(
        &["tasks", "add", "x", "--due", "soonish"],
        2,
        "`soonish` is no day that i know. write it like 2026-11-20.",
    );
    assert_eq!(program.run(&["cal", "add", "x"]).status.code(), Some(2), "without times");
    assert_eq!(program.run(&["cal", "upcoming", "--days", "0"]).status.code(), Some(2));
    std::fs::create_dir_all(program.data()).unwrap();
    std::fs::write(program.data().join("calendar.ics"), "not a calendar").unwrap();
    let output = program.run(&["cal", "today", "--json"]);
    let message: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &message["ok"]), (Some(1), &Value::Bool(false)));
}

#[test]
fn invalid_setting_affects_only_its_own_commands() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_TASKS", "paper");
    let refused = program.run(&["tasks", "list"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        stderr(&refused),
        "error: OLLIM_TASKS: `paper` is nobody i know. use local, caldav or google.\n"
    );
    assert_eq!(stdout(&program.run(&["cal", "today"])), "no events\n");
}
