//! Kills around forks: while one begins, runs, reports, is saved or dropped.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::Path;
use std::time::{Duration, Instant};

use domain::dice::Dice;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, Running};
use testkit::model_server::Act;
use testkit::oracle::examine;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// A13: after a kill at any time, the fork is restored or its end is recorded, and no report is
/// lost.
#[test]
fn a_fork_survives_kills_or_its_end_is_told() {
    let kills: usize = (1..=2).map(live).sum();
    assert!(kills >= 8, "only {kills} kills fell");
}

/// A13: like the previous test, with 200 kills.
#[test]
#[ignore = "long: 200 kills take minutes"]
fn a_fork_survives_two_hundred_kills_or_its_end_is_told() {
    let mut kills = 0;
    for seed in 100.. {
        kills += live(seed);
        if kills >= 200 {
            break;
        }
    }
}

/// Runs one session with a kill after each step. Returns the number of kills.
fn live(seed: u64) -> usize {
    let backstage = Backstage::open();
    backstage.model().answering(reply);
    let program = Program::answered_by(BINARY, &backstage);
    let mut dice = Dice::new(seed);
    let mut promised = Vec::new();
    let mut kills = 0;
    let mut running = program.start();
    running.converse("good morning").expect("an answer");
    for number in 1..=8 {
        promised.extend(step(&running, number, &mut dice));
        running.kill();
        kills += 1;
        assert_sound(seed, program.data());
        running = program.start();
        assert_fork_is_shown(seed, &running, program.data());
    }
    let _ = running.command("/exit");
    running.converse("the last one").expect("an answer");
    running.terminate();
    assert_sound(seed, program.data());
    let kept = reports(program.data());
    for text in promised {
        let times = kept.iter().filter(|kept| **kept == text).count();
        assert_eq!(times, 1, "seed {seed}: `{text}` was acknowledged and is there {times} times: {kept:?}");
    }
    kills
}

/// Runs a random fork command and waits shortly. Returns the text of an acknowledged report.
fn step(running: &Running, number: u64, dice: &mut Dice) -> Option<String> {
    let summary = format!("summary {number}");
    let report = format!("/report {summary}");
    let command = match dice.roll() % 8 {
        0 | 1 => format!("/fork topic {number}"),
        2 => report.clone(),
        3 => "/report".to_owned(),
        4 => "/save".to_owned(),
        5 => "/exit".to_owned(),
        6 => "/clear".to_owned(),
        _ => {
            let _ = running.say(&format!("message {number}"));
            linger(dice.roll() % 20_000);
            return None;
        }
    };
    if dice.roll().is_multiple_of(3) {
        running.blurt_command(&command);
        linger(dice.roll() % 6_000);
        return None;
    }
    let answer = running.command(&command);
    linger(dice.roll() % 20_000);
    (command == report && answer.is_ok()).then_some(summary)
}

/// Busy-waits, so that the kill can hit any instruction.
fn linger(microseconds: u64) {
    let until = Instant::now() + Duration::from_micros(microseconds);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// A model that leaves a report when asked to.
fn reply(request: &Value) -> Act {
    let last = request["messages"].as_array().and_then(|messages| messages.last()).cloned();
    let content = last.unwrap_or_default()["content"].to_string();
    if content.contains("call `report_updates` now") {
        Act::calls("report_updates", &json!({ "message": "what the model found" }))
    } else {
        Act::says("so it is")
    }
}

fn assert_sound(seed: u64, data: &Path) {
    let wrong = examine(data);
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
}

/// Verifies that the fork in the journal is the one shown to clients, and that main's session is
/// listed. A pending answer may finish in between and start a fork, so the comparison is retried.
fn assert_fork_is_shown(seed: u64, running: &Running, data: &Path) {
    let log = Connection::open(data.join("state/journal.db")).expect("a log");
    let open = || log.query_row("SELECT branch FROM forks", [], |row| row.get::<_, String>(0)).ok();
    let shown = || {
        running.command("/status").expect("an answer of the assistant, after all it had to do first");
        running.events().expect("events").hello["fork"]["branch"].as_str().map(str::to_owned)
    };
    assert!((0..100).any(|_| shown() == open()), "seed {seed}: {:?} is shown, {:?} is open", shown(), open());
    let sessions = running.get("/api/sessions").expect("sessions");
    assert!(sessions["drawing"].as_str().is_some_and(|drawing| !drawing.is_empty()), "seed {seed}");
}

fn reports(data: &Path) -> Vec<String> {
    let log = Connection::open(data.join("state/journal.db")).expect("a log");
    let mut rows = log.prepare("SELECT text FROM reports").expect("reports");
    let texts = rows.query_map([], |row| row.get(0)).expect("their texts");
    texts.collect::<Result<_, _>>().expect("texts")
}
