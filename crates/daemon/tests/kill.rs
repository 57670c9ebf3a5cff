//! The program is killed at any moment, and everything it acknowledged exists after a restart.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::rng::Rng;
use serde_json::{Value, json};
use testkit::model_server::{Gate, ScriptedReply};
use testkit::oracle::{Observations, find_violations};
use testkit::process::{BackgroundModelServer, Program, RunningProgram, StreamEvent, block_on};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Number of messages in one session of random kills.
const MESSAGES: usize = 12;

#[test]
fn interrupted_answer_arrives_after_a_kill() {
    for event in [0, 2, 3, 5] {
        let model_server = BackgroundModelServer::start();
        let program = Program::with_model(BINARY, &model_server);
        let first = Gate::new();
        let second = Gate::new();
        model_server.model().script([
            ScriptedReply::text("the first try was cut short").waiting_at_event(event, &first),
            ScriptedReply::text("the second try came through").waiting_at_start(&second),
        ]);

        let running = program.start();
        let message = running.send_message("tell me").expect("an acknowledgement");
        block_on(first.reached());
        running.kill();
        let running = program.start();
        block_on(second.reached());
        let mut events = running.events().expect("events");
        second.release();
        let ended = events.wait_for_end(message).expect("an end");

        assert_eq!(ended.data["how"], "finished", "held at {event}");
        let output = running.get("/api/messages").expect("the conversation");
        let texts: Vec<&str> =
            output["messages"].as_array().expect("a list").iter().filter_map(text).collect();
        assert_eq!(texts, ["tell me", "the second try came through"]);
        running.terminate();
        let ledger =
            Observations { acknowledged: vec!["tell me".to_owned()], requests: model_server.requests() };
        assert_consistent(program.data(), &ledger);
    }
}

/// A call without a recorded outcome is not repeated: the model is informed that its outcome is
/// unknown.
#[test]
fn tool_call_is_not_repeated_after_a_kill() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let gate = Gate::new();
    model_server.model().script([
        ScriptedReply::tool_call("inbox_add", &json!({ "text": "milk" })),
        ScriptedReply::text("kept").waiting_at_start(&gate),
        ScriptedReply::text("kept it"),
    ]);

    let running = program.start();
    running.send_message("remember milk").expect("an acknowledgement");
    block_on(gate.reached());
    running.kill();
    let running = program.start();
    running.send_and_wait("thanks").expect("an answer");
    let (_, _) = running.terminate();

    let listed = program.run(&["chat", "--once", "call inbox_list {}"]);
    let answer = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert_eq!(answer.matches("milk").count(), 1, "{answer}");
    assert_consistent(
        program.data(),
        &Observations { acknowledged: Vec::new(), requests: model_server.requests() },
    );
}

/// A turn that crashes the program three times is given up, and the user is notified.
#[test]
fn crashing_turn_is_tried_three_times() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    for _ in 0..3 {
        let gate = Gate::new();
        model_server.model().script([ScriptedReply::text("deadly").waiting_at_event(3, &gate)]);
        let running = program.start();
        if model_server.requests().is_empty() {
            running.send_message("kill me").expect("an acknowledgement");
        }
        block_on(gate.reached());
        running.kill();
    }
    let running = program.start();
    running.send_and_wait("still there?").expect("an answer");
    running.terminate();

    let deadly =
        model_server.requests().iter().filter(|request| !request.body.contains("still there?")).count();
    assert_eq!(deadly, 3, "requests for the deadly message");
    let acknowledged = vec!["kill me".to_owned(), "still there?".to_owned()];
    assert_consistent(program.data(), &Observations { acknowledged, requests: model_server.requests() });
}

/// E6: the effect of a tool call happens at most once, whenever the program is killed.
#[test]
fn conversation_survives_random_kills() {
    let kills: usize = (1..=2).map(run_with_kills).sum();
    assert!(kills >= 12, "only {kills} kills fell");
}

/// E6: like the previous test, with 300 kills.
#[test]
#[ignore = "long: 300 kills take minutes"]
fn conversation_survives_three_hundred_random_kills() {
    let mut kills = 0;
    for seed in 100.. {
        kills += run_with_kills(seed);
        if kills >= 300 {
            break;
        }
    }
}

/// Runs one conversation with random kills. Returns the number of kills.
fn run_with_kills(seed: u64) -> usize {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(reply);
    let program = Program::with_model(BINARY, &model_server);
    let mut rng = Rng::new(seed);
    let mut ledger = Observations::default();
    let mut kills = 0;
    let mut running = program.start();
    for number in 1..=MESSAGES {
        let text = format!("message {number}, {}", ["please add this", "just talk"][number % 2]);
        let mode = rng.next_u64() % 5;
        if send(&running, &text, mode, &mut rng) {
            ledger.acknowledged.push(text);
        }
        if mode < 4 {
            kills += 1;
            running.kill();
            ledger.requests = model_server.requests();
            assert_consistent_at(seed, program.data(), &ledger);
            running = program.start();
        }
    }
    running.send_and_wait("the last one").expect("an answer");
    ledger.acknowledged.push("the last one".to_owned());
    running.terminate();
    ledger.requests = model_server.requests();
    assert_consistent_at(seed, program.data(), &ledger);
    assert_eq!(
        duplicate_inbox_items(program.data()),
        Vec::<String>::new(),
        "seed {seed}: a tool did its work twice"
    );
    kills
}

/// Returns the inbox items that exist more than once, although each was requested once.
fn duplicate_inbox_items(data: &Path) -> Vec<String> {
    let journal = rusqlite::Connection::open(data.join("state/journal.db")).expect("a log");
    let sql = "SELECT text FROM inbox GROUP BY text HAVING count(*) > 1";
    let mut twice = journal.prepare(sql).expect("an inbox");
    let texts = twice.query_map([], |row| row.get(0)).expect("its texts");
    texts.collect::<Result<_, _>>().expect("texts")
}

/// Sends `text` and waits until the time of the kill. Returns whether it was acknowledged.
fn send(running: &RunningProgram, text: &str, mode: u64, rng: &mut Rng) -> bool {
    let Ok(mut events) = running.events() else { return false };
    if mode == 0 {
        running.send_message_unread(text);
        busy_wait(rng.next_u64() % 6_000);
        return false;
    }
    let Ok(message) = running.send_message(text) else { return false };
    match mode {
        1 => busy_wait(rng.next_u64() % 30_000),
        2 | 3 => {
            let ended = |event: &StreamEvent| event.name == "ended" && event.data["answers"] == message;
            let seen = usize::try_from(rng.next_u64() % 16).unwrap_or_default();
            events.take(seen).find(ended);
        }
        _ => drop(events.wait_for_end(message)),
    }
    true
}

/// Busy-waits, so that the kill can hit any instruction.
fn busy_wait(microseconds: u64) {
    let until = Instant::now() + Duration::from_micros(microseconds);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Calls a tool for every message that asks to add something, and then confirms it.
fn reply(request: &Value) -> ScriptedReply {
    let last =
        request["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let blocks = last["content"].as_array().cloned().unwrap_or_default();
    let text = blocks.last().and_then(|block| block["text"].as_str().map(str::to_owned));
    match text {
        Some(text) if text.contains("add this") => {
            ScriptedReply::text("i will").with_tool_call("inbox_add", &json!({ "text": text }))
        }
        Some(text) => ScriptedReply::text(&format!("you said: {text}")),
        None => ScriptedReply::text("it is kept, and nothing of it is lost"),
    }
}

/// A crash at every ninth disk operation loses nothing, with and without earlier messages.
#[test]
fn crash_at_some_disk_operations_loses_nothing() {
    let first = crash_at_every(9, &[]);
    assert!(first >= 20, "the first message touches files: {first} points");
    crash_at_every(9, &["hello before"]);
}

/// A crash at every disk operation loses nothing.
#[test]
#[ignore = "starts the program about a thousand times, which takes minutes"]
fn crash_at_any_disk_operation_loses_nothing() {
    crash_at_every(1, &[]);
    crash_at_every(1, &["hello before"]);
}

/// Crashes at every `stride`th disk operation of a run that sends one message after the messages
/// `before`. Returns the first point that was not reached.
fn crash_at_every(stride: usize, before: &[&str]) -> usize {
    for point in (0..).step_by(stride) {
        let model_server = BackgroundModelServer::start();
        let mut program = Program::with_model(BINARY, &model_server);
        let mut ledger = Observations::default();
        for text in before {
            assert_eq!(program.run(&["chat", "--once", text]).status.code(), Some(0));
            ledger.acknowledged.push((*text).to_owned());
        }
        program.replace_binary(crashing_binary()).set_env("CRASH_AT", &point.to_string());
        let crashed = program.run(&["chat", "--once", "hello at last"]);
        if crashed.status.code() == Some(0) {
            return point;
        }
        assert_eq!(
            crashed.status.code(),
            None,
            "point {point}: {}",
            String::from_utf8_lossy(&crashed.stderr)
        );
        program.replace_binary(BINARY);
        let again = program.run(&["chat", "--once", "hello again"]);
        assert_eq!(again.status.code(), Some(0), "point {point}: {}", String::from_utf8_lossy(&again.stderr));
        ledger.acknowledged.push("hello again".to_owned());
        ledger.requests = model_server.requests();
        assert_consistent_at(point as u64, program.data(), &ledger);
    }
    unreachable!("a run without a crash comes before the numbers end")
}

fn crashing_binary() -> PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

fn text(entry: &Value) -> Option<&str> {
    entry["text"].as_str()
}

fn assert_consistent(data: &Path, ledger: &Observations) {
    assert_consistent_at(0, data, ledger);
}

fn assert_consistent_at(seed: u64, data: &Path, ledger: &Observations) {
    let mut wrong = find_violations(data);
    wrong.extend(ledger.check(data));
    assert!(wrong.is_empty(), "seed or point {seed}: {wrong:#?}");
}
