//! Rollback: a new program that crashes is replaced by the previous one, also if the rollback is
//! interrupted.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use testkit::process::{Program, RunningProgram};

use super::BINARY;

/// Installs the previous and the new program, both copies of this binary. Returns the state
/// directory.
fn install_both(program: &Program) -> PathBuf {
    for name in ["ollim-bot", "ollim-bot.previous"] {
        std::fs::copy(BINARY, program.home().join(name)).unwrap();
    }
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let settings = format!("[update]\nprogram = \"{}\"\n", program.home().join("ollim-bot").display());
    std::fs::write(program.data().join("settings.toml"), settings).unwrap();
    state
}

/// Marks the new program as unproven after `starts` starts. The previous one supports journals up
/// to format `journal`.
fn mark_unproven(program: &Program, starts: u32, journal: &Value) {
    let update_state = serde_json::json!({
        "stage": "unproven", "from": "abc", "commits": ["def make it new"], "starts": starts, "journal": journal,
        "program": program.home().join("ollim-bot"),
    });
    std::fs::write(program.data().join("state/update.json"), update_state.to_string()).unwrap();
}

/// Returns the stage of the update.
fn update_stage(state: &Path) -> String {
    let update_state: Value =
        serde_json::from_slice(&std::fs::read(state.join("update.json")).unwrap()).unwrap();
    update_state["stage"].as_str().unwrap().to_owned()
}

/// L2: a new program that does not start is rolled back, and the previous one reports it.
#[test]
fn new_program_that_does_not_start_is_rolled_back() {
    let program = Program::offline(BINARY);
    let state = install_both(&program);
    let mark = |starts: u32| mark_unproven(&program, starts, &Value::Null);
    mark(2);
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i went back to the one before"), "{notices}");
    assert!(!program.home().join("ollim-bot.previous").exists());
    running.terminate();
    assert_eq!(update_stage(&state), "refused", "it is told, and what fell is not taken again by itself");

    mark(0);
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i am the new version now"), "{notices}");
    running.send_and_wait("hello").unwrap();
    assert!(state.join("update.json").exists(), "it is ready, and has not yet gone on for a minute");
    running.terminate();
}

/// L2: a new program that crashes twice in its first minute is rolled back; requested stops and
/// refused second starts do not count as crashes.
#[test]
fn new_program_that_crashes_twice_is_rolled_back() {
    let program = Program::offline(BINARY);
    let state = install_both(&program);
    mark_unproven(&program, 0, &99.into());
    let starts = || {
        let update_state: Value =
            serde_json::from_slice(&std::fs::read(state.join("update.json")).unwrap()).unwrap();
        update_state["starts"].as_i64()
    };
    for _ in 0..3 {
        let running = program.start();
        assert_eq!(program.run(&["run", "--no-chat"]).status.code(), Some(75));
        assert_eq!(starts(), Some(1));
        running.terminate();
        assert_eq!(starts(), Some(0), "it was asked to end");
    }
    for crashes in 1..=2 {
        program.start().kill();
        assert_eq!(starts(), Some(crashes));
    }
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i went back to the one before"), "{notices}");
    assert!(!program.home().join("ollim-bot.previous").exists() && update_stage(&state) == "refused");
    running.terminate();
}

/// Marks the journal as written by the new program.
const NEW_APPLICATION_ID: i32 = 7;

/// Creates a program whose new version crashes after migrating the journal.
fn crashed_update() -> Program {
    let program = Program::offline(BINARY);
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../journal/tests/golden/format_9.db.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(golden).output().unwrap().stdout;
    std::fs::write(state.join("journal.db"), unpacked).unwrap();
    assert!(program.run(&["migrate"]).status.success());
    Connection::open(state.join("journal.db"))
        .unwrap()
        .pragma_update(None, "application_id", NEW_APPLICATION_ID)
        .unwrap();
    for name in ["ollim-bot", "ollim-bot.previous"] {
        let path = program.home().join(name);
        std::fs::write(&path, format!("#!/bin/sh\nexec {BINARY} \"$@\" # {name}\n")).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let settings = format!("[update]\nprogram = \"{}\"\n", program.home().join("ollim-bot").display());
    std::fs::write(program.data().join("settings.toml"), settings).unwrap();
    mark_unproven(&program, 2, &9.into());
    program
}

/// Verifies that the previous program runs with the older journal, and that the notice names the
/// newer one.
fn assert_rolled_back(program: &Program, running: RunningProgram, point: usize) {
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    running.terminate();
    assert!(notices.contains("i went back to the one before"), "point {point}: {notices}");
    let is_new_journal = |path: &Path| {
        let id = Connection::open(path).unwrap().pragma_query_value(None, "application_id", |row| row.get(0));
        id == Ok(NEW_APPLICATION_ID)
    };
    let newer_journal =
        notices.split("kept as ").filter_map(|rest| rest.split(", and").next()).map(Path::new);
    let newer_journal =
        newer_journal.filter(|path| path.to_string_lossy().contains(".newer-")).find(|path| path.exists());
    assert!(newer_journal.is_some_and(is_new_journal), "point {point}: {notices}");
    assert!(!is_new_journal(&program.data().join("state/journal.db")), "point {point}");
    let installed = std::fs::read_to_string(program.home().join("ollim-bot")).unwrap();
    assert!(installed.contains("# ollim-bot.previous"), "point {point}");
}

/// Rolls back with a crash at `point`, and starts again. Returns whether the crash happened.
fn crash_at(point: usize) -> bool {
    let mut program = crashed_update();
    let crashing = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(crashing.exists(), "build it first: cargo build -p ollim-bot --examples");
    program.replace_binary(crashing).set_env("CRASH_AT", &point.to_string());
    let started = program.try_start(program.command(&["run", "--no-chat"]));
    let crashed = started.is_err();
    program.replace_binary(BINARY).set_env("CRASH_AT", "");
    let running = started.unwrap_or_else(|_| program.start());
    assert_rolled_back(&program, running, point);
    crashed
}

/// B1, L2: a sample of the crash points of the next test.
#[test]
fn rollback_completes_after_some_crashes() {
    let points = [9, 20, 31, 42, 53];
    let crashed = points.into_iter().filter(|point| crash_at(*point)).count();
    assert!(crashed == points.len(), "going back has hardly touched the disk: {crashed} crashes");
}

/// B1, L2: after an interruption at any point, the next start completes the rollback: the previous
/// program runs with a journal that it can read, and reports where the newer one is.
#[test]
#[ignore = "a hundred starts, two for each touch of the disk, take minutes"]
fn rollback_completes_after_any_crash() {
    let points = (0..).take_while(|point| crash_at(*point)).count();
    assert!(points >= 40, "going back has hardly touched the disk: {points} points");
}
