//! The program is killed after answering 202: the run still happens, once.

use serde_json::Value;
use testkit::kill::{Backstage, Program};
use testkit::model_server::Act;
use testkit::oracle::examine;

use crate::rig::{BINARY, Rig};

/// Considers all values safe, and answers everything else with one word.
fn reply(request: &Value) -> Act {
    let said = request["messages"].to_string();
    if said.contains("one JSON object and nothing else") {
        Act::says("{\"safe\": true, \"flagged\": []}")
    } else {
        Act::says("seen.")
    }
}

/// F3: a sample of the kills of the next test.
#[test]
fn a_call_that_was_taken_is_run_once_after_a_kill() {
    (0..4).for_each(|point| kill_at(point * 3));
}

/// F3: like the previous test, with three hundred kills.
#[test]
#[ignore = "three hundred kills, each with two starts, take several minutes"]
fn a_call_that_was_taken_is_run_once_after_every_kill() {
    (0..300).for_each(kill_at);
}

/// Kills the program `point` requests after the 202, and starts it again.
fn kill_at(point: usize) {
    let backstage = Backstage::open();
    backstage.model().answering(reply);
    let rig = Rig::new(Program::answered_by(BINARY, &backstage));
    let running = rig.program.start();
    assert_eq!(rig.ring("ci", "one", r#"{"title": "red build"}"#), Some(202));
    for _ in 0..point % 30 {
        running.command("/status").expect("it runs");
    }
    running.kill();
    let running = rig.program.start();
    assert_eq!(rig.ring("ci", "one", r#"{"title": "red build"}"#), Some(202));
    rig.come_to_rest(&running);
    let done = "SELECT count(*) FROM occurrences WHERE source = 'webhook:ci' AND stage = 'done'";
    assert_eq!((rig.count(done), rig.count("SELECT count(*) FROM occurrences")), (1, 1), "point {point}");
    let prompts = "SELECT count(*) FROM entries WHERE kind = 'human' AND body LIKE '%[webhook:ci]%'";
    assert_eq!(rig.count(prompts), 1, "point {point}: the run was set off once");
    assert!(running.terminate().0.success());
    let wrong = examine(rig.program.data());
    assert!(wrong.is_empty(), "point {point}: {wrong:#?}");
}
