//! A day of jobs by a shifted clock: the program, the model that answers it, and how it comes to rest.
#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

use std::path::Path;

use domain::context::UNKNOWN_OUTCOME;
use jiff::SignedDuration;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::kill::{Running, Signal};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The program by another clock is built beside the tests.
pub fn shifted() -> std::path::PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("shifted");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

/// How far a signal sets the clock ahead: so little that two do not use up the time in which a reminder is put in words.
const AHEAD: SignedDuration = SignedDuration::from_secs(20);

/// The program ended before it came to rest, after so much time.
#[derive(Debug)]
pub struct Died(pub SignedDuration);

/// Lets time pass whenever nothing goes on, until nothing is left to do.
pub fn come_to_rest(running: &Running, data: &Path) -> Result<(), Died> {
    let mut known = 0;
    let mut still = 0;
    let mut passed = SignedDuration::ZERO;
    for _ in 0..50_000 {
        // Whatever was decided before an answer is decided.
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

/// A model that rings with a reminder's own words, asks for the next check of a chain, and reports what it did. It
/// heeds what it was told last, even if that stands in one message with what nobody answered before.
pub fn reply(request: &Value) -> Act {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let told = last.map(|message| message["content"].to_string()).unwrap_or_default();
    // Whatever is said begins with when it was said.
    let newest = told.rsplit("[2026-11-").next().unwrap_or_default();
    if newest.contains("one JSON object and nothing else") {
        return Act::says("{\"safe\": true, \"flagged\": []}");
    }
    // A check that is asked for twice is one check, so nothing speaks against asking again.
    if newest.contains("follow_up_chain(minutes_from_now") || newest.contains(UNKNOWN_OUTCOME) {
        return Act::calls("follow_up_chain", &json!({ "minutes_from_now": 5 }));
    }
    match newest.split_once("[reminder:").and_then(|(_, rest)| rest.split_once(']')) {
        Some((id, _)) => Act::says(&format!("ring {id}.")),
        None => Act::says("so it is"),
    }
}

/// The log in the directory `data`.
pub fn log(data: &Path) -> Connection {
    Connection::open(data.join("state/journal.db")).expect("a log")
}

/// How often the user heard of a reminder. It is shown as written when it is due, in the conversation or, while main is
/// busy, beside it and in an update. The model's words take the place of that message, so both together count once.
pub fn heard(data: &Path, id: &str) -> usize {
    let written = "SELECT count(*) FROM (SELECT body FROM entries WHERE kind = 'assistant' UNION ALL SELECT text FROM reports) \
                   WHERE body LIKE '%⏰ reminder ' || ?1 || '.%' OR body LIKE '%⏰ % things for now%. reminder ' || ?1 || '.%'";
    let words = "SELECT count(*) FROM entries WHERE kind = 'assistant' AND body LIKE '%ring ' || ?1 || '.%'";
    let log = log(data);
    let count = |sql: &str| log.query_row(sql, [id], |row| row.get::<_, usize>(0)).expect("a count");
    count(written).max(count(words))
}

/// How many times of jobs are being kept, and files followed, right now.
fn going_on(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked')) \
               + (SELECT count(*) FROM job_files)";
    log(data).query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// How much is still to be done: occurrences that have not ended, files that have not followed, and reminders.
fn left(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked', 'again', 'queued')) \
               + (SELECT count(*) FROM job_files)";
    let open: usize = log(data).query_row(sql, [], |row| row.get(0)).expect("a count");
    open + std::fs::read_dir(data.join("reminders")).map_or(0, Iterator::count)
}

/// How many times of jobs there were.
fn times(data: &Path) -> usize {
    log(data).query_row("SELECT count(*) FROM occurrences", [], |row| row.get(0)).expect("a count")
}
