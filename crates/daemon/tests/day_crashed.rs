//! A small day of jobs with a crash at each disk operation: nothing is lost and nothing happens
//! twice.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

mod day;

use std::path::Path;
use std::time::Instant;

use domain::context::UNKNOWN_OUTCOME;
use jiff::{SignedDuration, Zoned};
use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::oracle::find_violations;
use testkit::process::{BackgroundModelServer, Program, read_tree};

use day::{ExitedEarly, notification_count, open_journal, run_until_idle, shifted_binary};

const COMPACT_TOOL: &str = "compact_session";
const COMPACT_INSTRUCTIONS: &str = "keep it short";

const MORNING: &str = "2026-11-16T08:59:00+01:00[Europe/Madrid]";

/// A routine with a persistent session, a reminder, and a chain of two checks.
const JOBS: [(&str, &str); 3] = [
    (
        "routines/r.md",
        "---\nid: r\ncron: 0 9 * * *\nif-missed: once\nbackground: true\nsession: persistent\n---\nroutine r\n",
    ),
    ("reminders/m.md", "---\nid: m\nrun-at: 2026-11-16T09:01:00+01:00\n---\nreminder m.\n"),
    (
        "reminders/c.md",
        "---\nid: c\nrun-at: 2026-11-16T09:02:00+01:00\nbackground: true\nmax-chain: 1\n---\nchain c.\n",
    ),
];

/// Like `day::reply`, but the routine requests a compaction of its session.
fn reply(request: &Value) -> ScriptedReply {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let text = last.map(|message| message["content"].to_string()).unwrap_or_default();
    let newest = text.rsplit("[2026-11-").next().unwrap_or_default();
    let in_doubt = newest.contains(UNKNOWN_OUTCOME) && request["messages"].to_string().contains(COMPACT_TOOL);
    // A request for a summary contains the instructions.
    if text.contains(COMPACT_INSTRUCTIONS) {
        return ScriptedReply::text("[2026-11-16 09:00] I am routine r, and keep it short.");
    }
    if newest.contains("routine r\\n") || newest.contains("routine r\"") || in_doubt {
        ScriptedReply::tool_call(COMPACT_TOOL, &json!({ "instructions": COMPACT_INSTRUCTIONS }))
    } else {
        day::reply(request)
    }
}

/// A2: a sample of the crash points of the next test.
#[test]
fn day_survives_a_crash_at_some_disk_operations() {
    let crashed = (0..14).map(|nth| 11 + nth * 31).filter(|point| crash_at(*point)).count();
    assert!(crashed >= 12, "the day has hardly touched the disk: {crashed} crashes");
}

/// A2, A11, A14: after a crash at any point and a restart, each occurrence ends once, each check of
/// the chain has its successor, and the session is compacted once.
#[test]
#[ignore = "five hundred days, one for each touch of the disk, take many minutes"]
fn day_survives_a_crash_at_every_disk_operation() {
    let points = (0..).take_while(|point| crash_at(*point)).count();
    assert!(points >= 300, "the day has hardly touched the disk: {points} points");
}

/// Runs the day with a crash at `point`, then continues without one. Returns whether the crash
/// happened.
fn crash_at(point: usize) -> bool {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(reply);
    let mut program = Program::with_model(shifted_binary(), &model_server);
    for (file, text) in JOBS {
        let path = program.data().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let died = run_day(&mut program, Some(point), SignedDuration::ZERO);
    if let Err(ExitedEarly(passed)) = died {
        run_day(&mut program, None, passed).expect("nothing ends it any more");
    }
    let wrong: Vec<String> =
        find_violations(program.data()).into_iter().chain(find_losses(program.data())).collect();
    assert!(wrong.is_empty(), "point {point}: {wrong:#?}");
    died.is_err()
}

/// Runs the program, `passed` after the morning, until no work is left.
fn run_day(program: &mut Program, point: Option<usize>, passed: SignedDuration) -> Result<(), ExitedEarly> {
    let morning: Zoned = MORNING.parse().expect("a time");
    program.set_env("SHIFTED_TO", &(&morning + passed).to_string());
    program.set_env("CRASH_AT", &point.map(|point| point.to_string()).unwrap_or_default());
    let began = Instant::now();
    let started = program.try_start(program.command(&[]));
    // The shifted clock also advances by itself, and must not go back at the next start.
    let exited = |later: SignedDuration| {
        let elapsed = SignedDuration::try_from(began.elapsed()).unwrap_or_default();
        ExitedEarly(passed + later + elapsed)
    };
    let running = match (started, point) {
        (Ok(running), _) => running,
        (Err(_), Some(_)) => return Err(exited(SignedDuration::ZERO)),
        (Err((status, told)), None) => panic!("it ended with {status}: {told}"),
    };
    run_until_idle(&running, program.data()).map_err(|ExitedEarly(later)| exited(later))?;
    match running.terminate().0.success() {
        true => Ok(()),
        // All work is done; it crashed in a disk operation of the shutdown.
        false => Err(exited(SignedDuration::from_hours(1))),
    }
}

/// Returns what was lost or duplicated.
fn find_losses(data: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let journal = open_journal(data);
    let count = |sql: &str| journal.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count");
    for (label, expected, sql) in [
        (
            "times of the routine were done",
            1,
            "SELECT count(*) FROM occurrences WHERE source = 'routine:r' AND stage = 'done'",
        ),
        (
            "reminders were done",
            3,
            "SELECT count(*) FROM occurrences WHERE source LIKE 'reminder:%' AND stage = 'done'",
        ),
        ("times came in all", 4, "SELECT count(*) FROM occurrences"),
        ("summaries were written", 1, "SELECT count(*) FROM entries WHERE kind = 'summary'"),
        ("files wait to be changed", 0, "SELECT count(*) FROM job_files"),
    ] {
        let found = count(sql);
        if found != expected {
            wrong.push(format!("{found} {label}, not {expected}"));
        }
    }
    match notification_count(data, "m") {
        1 => {}
        times => wrong.push(format!("the reminder was heard {times} times")),
    }
    let left = read_tree(data).into_keys().filter(|path| {
        path.extension().is_some_and(|extension| extension == "tmp")
            || path.starts_with(data.join("reminders"))
    });
    wrong.extend(left.map(|path| format!("{} is still there", path.display())));
    wrong
}
