//! A day of jobs with a shifted clock: the program, its model, and how the test waits for the end
//! of the work.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::Path;

use domain::context::UNKNOWN_OUTCOME;
use jiff::SignedDuration;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::kill::{Running, Signal};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The example program with the shifted clock.
pub fn shifted() -> std::path::PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("shifted");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

/// The step of the clock per signal: short enough that two steps stay below the time limit for
/// phrasing a reminder.
const AHEAD: SignedDuration = SignedDuration::from_secs(20);

/// The program exited before its work was done, after this much time.
#[derive(Debug)]
pub struct Died(pub SignedDuration);

/// Advances the clock whenever the program is idle, until no work is left.
pub fn come_to_rest(running: &Running, data: &Path) -> Result<(), Died> {
    let mut known = 0;
    let mut still = 0;
    let mut passed = SignedDuration::ZERO;
    for _ in 0..50_000 {
        // The answer comes after all earlier decisions.
        running.command("/status").map_err(|_| Died(passed))?;
        if going_on(data) > 0 {
            continue;
        }
        still = if left(data) == 0 && times(data) == known { still + 1 } else { 0 };
        if still == 30 {
            return Ok(());
        }
        known = times(data);
        passed += AHEAD;
        running.signal(Signal::USR1);
    }
    panic!("it does not come to rest: {} are left", left(data));
}

/// A model that repeats a reminder's text, requests the next check of a chain, and reports what it
/// did. It reacts to the newest part of the last message, which may also contain earlier unanswered
/// parts.
pub fn reply(request: &Value) -> Act {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let told = last.map(|message| message["content"].to_string()).unwrap_or_default();
    // Each part begins with its time.
    let newest = told.rsplit("[2026-11-").next().unwrap_or_default();
    if newest.contains("one JSON object and nothing else") {
        return Act::says("{\"safe\": true, \"flagged\": []}");
    }
    // Requesting the same check twice is idempotent.
    if newest.contains("follow_up_chain(minutes_from_now") || newest.contains(UNKNOWN_OUTCOME) {
        return Act::calls("follow_up_chain", &json!({ "minutes_from_now": 5 }));
    }
    match newest.split_once("[reminder:").and_then(|(_, rest)| rest.split_once(']')) {
        Some((id, _)) => Act::says(&format!("ring {id}.")),
        None => Act::says("so it is"),
    }
}

/// Opens the journal in the directory `data`.
pub fn log(data: &Path) -> Connection {
    Connection::open(data.join("state/journal.db")).expect("a log")
}

/// Counts how often the user saw a reminder. It is shown verbatim when due: in the conversation or,
/// while main is busy, as a side message and an update. The model's phrasing replaces that message,
/// so both together count once.
pub fn heard(data: &Path, id: &str) -> usize {
    let written = "SELECT count(*) FROM (SELECT body FROM entries WHERE kind = 'assistant' UNION ALL SELECT text FROM reports) \
                   WHERE body LIKE '%⏰ reminder ' || ?1 || '.%' OR body LIKE '%⏰ % things for now%. reminder ' || ?1 || '.%'";
    let words = "SELECT count(*) FROM entries WHERE kind = 'assistant' AND body LIKE '%ring ' || ?1 || '.%'";
    let log = log(data);
    let count = |sql: &str| log.query_row(sql, [id], |row| row.get::<_, usize>(0)).expect("a count");
    count(written).max(count(words))
}

/// Counts the running occurrences and the pending file changes.
fn going_on(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked')) \
               + (SELECT count(*) FROM job_files)";
    log(data).query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// Counts the remaining work: open occurrences, pending file changes, and reminders.
fn left(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked', 'again', 'queued')) \
               + (SELECT count(*) FROM job_files)";
    let open: usize = log(data).query_row(sql, [], |row| row.get(0)).expect("a count");
    open + std::fs::read_dir(data.join("reminders")).map_or(0, Iterator::count)
}

/// Counts all occurrences.
fn times(data: &Path) -> usize {
    log(data).query_row("SELECT count(*) FROM occurrences", [], |row| row.get(0)).expect("a count")
}
