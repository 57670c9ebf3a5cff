//! The program is killed after answering 202: the run still happens, once.

use serde_json::Value;
use testkit::model_server::ScriptedReply;
use testkit::oracle::find_violations;
use testkit::process::{BackgroundModelServer, Program};

use crate::rig::{BINARY, Rig};

/// Considers all values safe, and answers everything else with one word.
fn reply(request: &Value) -> ScriptedReply {
    let output = request["messages"].to_string();
    if output.contains("one JSON object and nothing else") {
        ScriptedReply::text("{\"safe\": true, \"flagged\": []}")
    } else {
        ScriptedReply::text("seen.")
    }
}

/// F3: a sample of the kills of the next test.
#[test]
fn accepted_call_runs_once_after_a_kill() {
    (0..4).for_each(|point| kill_at(point * 3));
}

/// F3: like the previous test, with three hundred kills.
#[test]
#[ignore = "three hundred kills, each with two starts, take several minutes"]
fn accepted_call_runs_once_after_every_kill() {
    (0..300).for_each(kill_at);
}

/// Kills the program `point` requests after the 202, and starts it again.
fn kill_at(point: usize) {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(reply);
    let rig = Rig::new(Program::with_model(BINARY, &model_server));
    let running = rig.program.start();
    assert_eq!(rig.deliver("ci", "one", r#"{"title": "red build"}"#), Some(202));
    for _ in 0..point % 30 {
        running.command("/status").expect("it runs");
    }
    running.kill();
    let running = rig.program.start();
    assert_eq!(rig.deliver("ci", "one", r#"{"title": "red build"}"#), Some(202));
    rig.wait_until_idle(&running);
    let done = "SELECT count(*) FROM occurrences WHERE source = 'webhook:ci' AND stage = 'done'";
    assert_eq!((rig.count(done), rig.count("SELECT count(*) FROM occurrences")), (1, 1), "point {point}");
    let prompts = "SELECT count(*) FROM entries WHERE kind = 'human' AND body LIKE '%[webhook:ci]%'";
    assert_eq!(rig.count(prompts), 1, "point {point}: the run was set off once");
    assert!(running.terminate().0.success());
    let wrong = find_violations(rig.program.data());
    assert!(wrong.is_empty(), "point {point}: {wrong:#?}");
}
