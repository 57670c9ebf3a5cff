//! The program is killed at any moment, and everything it acknowledged exists after a restart.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::dice::Dice;
use serde_json::{Value, json};
use testkit::kill::{Backstage, Event, Program, Running, wait};
use testkit::model_server::{Act, Gate};
use testkit::oracle::{Ledger, examine};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Number of messages in one session of random kills.
const MESSAGES: usize = 12;

#[test]
fn after_a_kill_in_mid_answer_the_owed_answer_arrives() {
    for event in [0, 2, 3, 5] {
        let backstage = Backstage::open();
        let program = Program::answered_by(BINARY, &backstage);
        let first = Gate::new();
        let second = Gate::new();
        backstage.model().script([
            Act::says("the first try was cut short").held_at(event, &first),
            Act::says("the second try came through").held_back(&second),
        ]);

        let running = program.start();
        let message = running.say("tell me").expect("an acknowledgement");
        wait(first.reached());
        running.kill();
        let running = program.start();
        wait(second.reached());
        let mut events = running.events().expect("events");
        second.release();
        let ended = events.ended(message).expect("an end");

        assert_eq!(ended.data["how"], "finished", "held at {event}");
        let said = running.get("/api/messages").expect("the conversation");
        let texts: Vec<&str> = said["messages"].as_array().expect("a list").iter().filter_map(text).collect();
        assert_eq!(texts, ["tell me", "the second try came through"]);
        running.terminate();
        let ledger = Ledger { acknowledged: vec!["tell me".to_owned()], requests: backstage.requests() };
        assert_whole(program.data(), &ledger);
    }
}

/// A call without a recorded outcome is not repeated: the model is informed that its outcome is
/// unknown.
#[test]
fn a_tool_that_ran_before_a_kill_does_not_run_again() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let held = Gate::new();
    backstage.model().script([
        Act::calls("inbox_add", &json!({ "text": "milk" })),
        Act::says("kept").held_back(&held),
        Act::says("kept it"),
    ]);

    let running = program.start();
    running.say("remember milk").expect("an acknowledgement");
    wait(held.reached());
    running.kill();
    let running = program.start();
    running.converse("thanks").expect("an answer");
    let (_, _) = running.terminate();

    let listed = program.run(&["chat", "--once", "call inbox_list {}"]);
    let answer = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert_eq!(answer.matches("milk").count(), 1, "{answer}");
    assert_whole(program.data(), &Ledger { acknowledged: Vec::new(), requests: backstage.requests() });
}

/// A turn that crashes the program three times is given up, and the user is notified.
#[test]
fn an_answer_that_kills_the_program_is_tried_three_times() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    for _ in 0..3 {
        let gate = Gate::new();
        backstage.model().script([Act::says("deadly").held_at(3, &gate)]);
        let running = program.start();
        if backstage.requests().is_empty() {
            running.say("kill me").expect("an acknowledgement");
        }
        wait(gate.reached());
        running.kill();
    }
    let running = program.start();
    running.converse("still there?").expect("an answer");
    running.terminate();

    let deadly = backstage.requests().iter().filter(|request| !request.body.contains("still there?")).count();
    assert_eq!(deadly, 3, "requests for the deadly message");
    let acknowledged = vec!["kill me".to_owned(), "still there?".to_owned()];
    assert_whole(program.data(), &Ledger { acknowledged, requests: backstage.requests() });
}

/// E6: the effect of a tool call happens at most once, whenever the program is killed.
#[test]
fn a_conversation_survives_random_kills() {
    let kills: usize = (1..=2).map(survive).sum();
    assert!(kills >= 12, "only {kills} kills fell");
}

/// E6: like the previous test, with 300 kills.
#[test]
#[ignore = "long: 300 kills take minutes"]
fn a_conversation_survives_three_hundred_random_kills() {
    let mut kills = 0;
    for seed in 100.. {
        kills += survive(seed);
        if kills >= 300 {
            break;
        }
    }
}

/// Runs one conversation with random kills. Returns the number of kills.
fn survive(seed: u64) -> usize {
    let backstage = Backstage::open();
    backstage.model().answering(reply);
    let program = Program::answered_by(BINARY, &backstage);
    let mut dice = Dice::new(seed);
    let mut ledger = Ledger::default();
    let mut kills = 0;
    let mut running = program.start();
    for number in 1..=MESSAGES {
        let text = format!("message {number}, {}", ["please add this", "just talk"][number % 2]);
        let how = dice.roll() % 5;
        if say(&running, &text, how, &mut dice) {
            ledger.acknowledged.push(text);
        }
        if how < 4 {
            kills += 1;
            running.kill();
            ledger.requests = backstage.requests();
            assert_whole_at(seed, program.data(), &ledger);
            running = program.start();
        }
    }
    running.converse("the last one").expect("an answer");
    ledger.acknowledged.push("the last one".to_owned());
    running.terminate();
    ledger.requests = backstage.requests();
    assert_whole_at(seed, program.data(), &ledger);
    assert_eq!(kept_twice(program.data()), Vec::<String>::new(), "seed {seed}: a tool did its work twice");
    kills
}

/// Returns the inbox items that exist more than once, although each was requested once.
fn kept_twice(data: &Path) -> Vec<String> {
    let log = rusqlite::Connection::open(data.join("state/journal.db")).expect("a log");
    let sql = "SELECT text FROM inbox GROUP BY text HAVING count(*) > 1";
    let mut twice = log.prepare(sql).expect("an inbox");
    let texts = twice.query_map([], |row| row.get(0)).expect("its texts");
    texts.collect::<Result<_, _>>().expect("texts")
}

/// Sends `text` and waits until the time of the kill. Returns whether it was acknowledged.
fn say(running: &Running, text: &str, how: u64, dice: &mut Dice) -> bool {
    let Ok(mut events) = running.events() else { return false };
    if how == 0 {
        running.blurt(text);
        linger(dice.roll() % 6_000);
        return false;
    }
    let Ok(message) = running.say(text) else { return false };
    match how {
        1 => linger(dice.roll() % 30_000),
        2 | 3 => {
            let ended = |event: &Event| event.name == "ended" && event.data["answers"] == message;
            let seen = usize::try_from(dice.roll() % 16).unwrap_or_default();
            events.take(seen).find(ended);
        }
        _ => drop(events.ended(message)),
    }
    true
}

/// Busy-waits, so that the kill can hit any instruction.
fn linger(microseconds: u64) {
    let until = Instant::now() + Duration::from_micros(microseconds);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Calls a tool for every message that asks to add something, and then confirms it.
fn reply(request: &Value) -> Act {
    let last =
        request["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let blocks = last["content"].as_array().cloned().unwrap_or_default();
    let asked = blocks.last().and_then(|block| block["text"].as_str().map(str::to_owned));
    match asked {
        Some(text) if text.contains("add this") => {
            Act::says("i will").and_calls("inbox_add", &json!({ "text": text }))
        }
        Some(text) => Act::says(&format!("you said: {text}")),
        None => Act::says("it is kept, and nothing of it is lost"),
    }
}

/// A crash at every ninth disk operation loses nothing, with and without earlier messages.
#[test]
fn a_crash_at_some_touches_of_a_file_loses_nothing() {
    let first = crash_at_every(9, &[]);
    assert!(first >= 20, "the first message touches files: {first} points");
    crash_at_every(9, &["hello before"]);
}

/// A crash at every disk operation loses nothing.
#[test]
#[ignore = "starts the program about a thousand times, which takes minutes"]
fn a_crash_at_any_touch_of_a_file_loses_nothing() {
    crash_at_every(1, &[]);
    crash_at_every(1, &["hello before"]);
}

/// Crashes at every `stride`th disk operation of a run that sends one message after the messages
/// `before`. Returns the first point that was not reached.
fn crash_at_every(stride: usize, before: &[&str]) -> usize {
    for point in (0..).step_by(stride) {
        let backstage = Backstage::open();
        let mut program = Program::answered_by(BINARY, &backstage);
        let mut ledger = Ledger::default();
        for text in before {
            assert_eq!(program.run(&["chat", "--once", text]).status.code(), Some(0));
            ledger.acknowledged.push((*text).to_owned());
        }
        program.become_binary(crashing()).set("CRASH_AT", &point.to_string());
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
        program.become_binary(BINARY);
        let again = program.run(&["chat", "--once", "hello again"]);
        assert_eq!(again.status.code(), Some(0), "point {point}: {}", String::from_utf8_lossy(&again.stderr));
        ledger.acknowledged.push("hello again".to_owned());
        ledger.requests = backstage.requests();
        assert_whole_at(point as u64, program.data(), &ledger);
    }
    unreachable!("a run without a crash comes before the numbers end")
}

fn crashing() -> PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join("crashing");
    assert!(example.exists(), "build it first: cargo build -p ollim-bot --examples");
    example
}

fn text(entry: &Value) -> Option<&str> {
    entry["text"].as_str()
}

fn assert_whole(data: &Path, ledger: &Ledger) {
    assert_whole_at(0, data, ledger);
}

fn assert_whole_at(seed: u64, data: &Path, ledger: &Ledger) {
    let mut wrong = examine(data);
    wrong.extend(ledger.check(data));
    assert!(wrong.is_empty(), "seed or point {seed}: {wrong:#?}");
}
