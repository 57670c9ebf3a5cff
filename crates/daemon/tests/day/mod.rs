//! A day of jobs with a shifted clock: the program, its model, and how the test waits for the end
//! of the work.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::Path;

use domain::context::UNKNOWN_OUTCOME;
use jiff::SignedDuration;
use rusqlite::Connection;
use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::process::{RunningProgram, Signal};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The example program with the shifted clock.
pub fn shifted_binary() -> std::path::PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("shifted");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

/// The step of the clock per signal: short enough that two steps stay below the time limit for
/// phrasing a reminder.
const CLOCK_STEP: SignedDuration = SignedDuration::from_secs(20);

/// The program exited before its work was done, after this much time.
#[derive(Debug)]
pub struct ExitedEarly(pub SignedDuration);

/// Advances the clock whenever the program is idle, until no work is left.
pub fn run_until_idle(running: &RunningProgram, data: &Path) -> Result<(), ExitedEarly> {
    let mut known_count = 0;
    let mut idle_rounds = 0;
    let mut passed = SignedDuration::ZERO;
    for _ in 0..50_000 {
        // The answer comes after all earlier decisions.
        running.command("/status").map_err(|_| ExitedEarly(passed))?;
        if active_count(data) > 0 {
            continue;
        }
        idle_rounds = if remaining_count(data) == 0 && occurrence_count(data) == known_count {
            idle_rounds + 1
        } else {
            0
        };
        if idle_rounds == 30 {
            return Ok(());
        }
        known_count = occurrence_count(data);
        passed += CLOCK_STEP;
        running.signal(Signal::USR1);
    }
    panic!("it does not come to rest: {} are left", remaining_count(data));
}

/// A model that repeats a reminder's text, requests the next check of a chain, and reports what it
/// did. It reacts to the newest part of the last message, which may also contain earlier unanswered
/// parts.
pub fn reply(request: &Value) -> ScriptedReply {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let text = last.map(|message| message["content"].to_string()).unwrap_or_default();
    // Each part begins with its time.
    let newest = text.rsplit("[2026-11-").next().unwrap_or_default();
    if newest.contains("one JSON object and nothing else") {
        return ScriptedReply::text("{\"safe\": true, \"flagged\": []}");
    }
    // Requesting the same check twice is idempotent.
    if newest.contains("follow_up_chain(minutes_from_now") || newest.contains(UNKNOWN_OUTCOME) {
        return ScriptedReply::tool_call("follow_up_chain", &json!({ "minutes_from_now": 5 }));
    }
    match newest.split_once("[reminder:").and_then(|(_, rest)| rest.split_once(']')) {
        Some((id, _)) => ScriptedReply::text(&format!("ring {id}.")),
        None => ScriptedReply::text("so it is"),
    }
}

/// Opens the journal in the directory `data`.
pub fn open_journal(data: &Path) -> Connection {
    Connection::open(data.join("state/journal.db")).expect("a log")
}

/// Counts how often the user saw a reminder. It is shown verbatim when due: in the conversation or,
/// while main is busy, as a side message and an update. The model's phrasing replaces that message,
/// so both together count once.
pub fn notification_count(data: &Path, id: &str) -> usize {
    let verbatim_sql = "SELECT count(*) FROM (SELECT body FROM entries WHERE kind = 'assistant' UNION ALL SELECT text FROM reports) \
                   WHERE body LIKE '%⏰ reminder ' || ?1 || '.%' OR body LIKE '%⏰ % things for now%. reminder ' || ?1 || '.%'";
    let phrased_sql =
        "SELECT count(*) FROM entries WHERE kind = 'assistant' AND body LIKE '%ring ' || ?1 || '.%'";
    let journal = open_journal(data);
    let count = |sql: &str| journal.query_row(sql, [id], |row| row.get::<_, usize>(0)).expect("a count");
    count(verbatim_sql).max(count(phrased_sql))
}

/// Counts the running occurrences and the pending file changes.
fn active_count(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked')) \
               + (SELECT count(*) FROM job_files)";
    open_journal(data).query_row(sql, [], |row| row.get(0)).expect("a count")
}

/// Counts the remaining work: open occurrences, pending file changes, and reminders.
fn remaining_count(data: &Path) -> usize {
    let sql = "SELECT (SELECT count(*) FROM occurrences WHERE stage IN ('running', 'asked', 'again', 'queued')) \
               + (SELECT count(*) FROM job_files)";
    let open: usize = open_journal(data).query_row(sql, [], |row| row.get(0)).expect("a count");
    open + std::fs::read_dir(data.join("reminders")).map_or(0, Iterator::count)
}

/// Counts all occurrences.
fn occurrence_count(data: &Path) -> usize {
    open_journal(data).query_row("SELECT count(*) FROM occurrences", [], |row| row.get(0)).expect("a count")
}
