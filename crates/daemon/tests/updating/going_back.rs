//! Rollback: a new program that crashes is replaced by the previous one, also if the rollback is
//! interrupted.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use testkit::kill::{Program, Running};

use super::BINARY;

/// Installs the previous and the new program, both copies of this binary. Returns the state
/// directory.
fn updated(program: &Program) -> PathBuf {
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
fn unproven(program: &Program, starts: u32, journal: &Value) {
    let mark = serde_json::json!({
        "stage": "unproven", "from": "abc", "commits": ["def make it new"], "starts": starts, "journal": journal,
        "program": program.home().join("ollim-bot"),
    });
    std::fs::write(program.data().join("state/update.json"), mark.to_string()).unwrap();
}

/// Returns the stage of the update.
fn stage_of(state: &Path) -> String {
    let mark: Value = serde_json::from_slice(&std::fs::read(state.join("update.json")).unwrap()).unwrap();
    mark["stage"].as_str().unwrap().to_owned()
}

/// L2: a new program that does not start is rolled back, and the previous one reports it.
#[test]
fn a_new_program_that_does_not_start_gives_its_place_back() {
    let program = Program::offline(BINARY);
    let state = updated(&program);
    let unproven = |starts: u32| unproven(&program, starts, &Value::Null);
    unproven(2);
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i went back to the one before"), "{notices}");
    assert!(!program.home().join("ollim-bot.previous").exists());
    running.terminate();
    assert_eq!(stage_of(&state), "refused", "it is told, and what fell is not taken again by itself");

    unproven(0);
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i am the new version now"), "{notices}");
    running.converse("hello").unwrap();
    assert!(state.join("update.json").exists(), "it is ready, and has not yet gone on for a minute");
    running.terminate();
}

/// L2: a new program that crashes twice in its first minute is rolled back; requested stops and
/// refused second starts do not count as crashes.
#[test]
fn a_new_program_that_falls_twice_gives_its_place_back() {
    let program = Program::offline(BINARY);
    let state = updated(&program);
    unproven(&program, 0, &99.into());
    let starts = || {
        let mark: Value = serde_json::from_slice(&std::fs::read(state.join("update.json")).unwrap()).unwrap();
        mark["starts"].as_i64()
    };
    for _ in 0..3 {
        let running = program.start();
        assert_eq!(program.run(&["run", "--no-chat"]).status.code(), Some(75));
        assert_eq!(starts(), Some(1));
        running.terminate();
        assert_eq!(starts(), Some(0), "it was asked to end");
    }
    for fall in 1..=2 {
        program.start().kill();
        assert_eq!(starts(), Some(fall));
    }
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("i went back to the one before"), "{notices}");
    assert!(!program.home().join("ollim-bot.previous").exists() && stage_of(&state) == "refused");
    running.terminate();
}

/// Marks the journal as written by the new program.
const SINCE: i32 = 7;

/// Creates a program whose new version crashes after migrating the journal.
fn fallen() -> Program {
    let program = Program::offline(BINARY);
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../journal/tests/golden/format_9.db.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(golden).output().unwrap().stdout;
    std::fs::write(state.join("journal.db"), unpacked).unwrap();
    assert!(program.run(&["migrate"]).status.success());
    Connection::open(state.join("journal.db")).unwrap().pragma_update(None, "application_id", SINCE).unwrap();
    for name in ["ollim-bot", "ollim-bot.previous"] {
        let path = program.home().join(name);
        std::fs::write(&path, format!("#!/bin/sh\nexec {BINARY} \"$@\" # {name}\n")).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let settings = format!("[update]\nprogram = \"{}\"\n", program.home().join("ollim-bot").display());
    std::fs::write(program.data().join("settings.toml"), settings).unwrap();
    unproven(&program, 2, &9.into());
    program
}

/// Verifies that the previous program runs with the older journal, and that the notice names the
/// newer one.
fn is_back(program: &Program, running: Running, point: usize) {
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    running.terminate();
    assert!(notices.contains("i went back to the one before"), "point {point}: {notices}");
    let holds = |path: &Path| {
        let id = Connection::open(path).unwrap().pragma_query_value(None, "application_id", |row| row.get(0));
        id == Ok(SINCE)
    };
    let aside = notices.split("kept as ").filter_map(|rest| rest.split(", and").next()).map(Path::new);
    let aside = aside.filter(|path| path.to_string_lossy().contains(".newer-")).find(|path| path.exists());
    assert!(aside.is_some_and(holds), "point {point}: {notices}");
    assert!(!holds(&program.data().join("state/journal.db")), "point {point}");
    let placed = std::fs::read_to_string(program.home().join("ollim-bot")).unwrap();
    assert!(placed.contains("# ollim-bot.previous"), "point {point}");
}

/// Rolls back with a crash at `point`, and starts again. Returns whether the crash happened.
fn crash_at(point: usize) -> bool {
    let mut program = fallen();
    let crashing = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(crashing.exists(), "build it first: cargo build -p ollim-bot --examples");
    program.become_binary(crashing).set("CRASH_AT", &point.to_string());
    let started = program.try_start(program.command(&["run", "--no-chat"]));
    let crashed = started.is_err();
    program.become_binary(BINARY).set("CRASH_AT", "");
    let running = started.unwrap_or_else(|_| program.start());
    is_back(&program, running, point);
    crashed
}

/// B1, L2: a sample of the crash points of the next test.
#[test]
fn the_way_back_is_gone_to_its_end_after_some_ends() {
    let points = [9, 20, 31, 42, 53];
    let crashed = points.into_iter().filter(|point| crash_at(*point)).count();
    assert!(crashed == points.len(), "going back has hardly touched the disk: {crashed} crashes");
}

/// B1, L2: after an interruption at any point, the next start completes the rollback: the previous
/// program runs with a journal that it can read, and reports where the newer one is.
#[test]
#[ignore = "a hundred starts, two for each touch of the disk, take minutes"]
fn the_way_back_is_gone_to_its_end_wherever_it_ends() {
    let points = (0..).take_while(|point| crash_at(*point)).count();
    assert!(points >= 40, "going back has hardly touched the disk: {points} points");
}
