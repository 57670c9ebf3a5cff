//! A full disk: the program keeps running, reports it, loses nothing, and continues when there is
//! space.

use std::process::{Command, Stdio};

use testkit::model_server::{Gate, ScriptedReply};
use testkit::oracle::{Observations, find_violations};
use testkit::process::{
    BackgroundModelServer, Program, assert_disk_full, block_on, read_tree, run_to_end, stderr,
};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// B3: while writes fail, the program runs, refuses messages with a reason, and preserves its data;
/// when there is space again, it continues without a restart.
#[test]
fn full_disk_refuses_messages_and_loses_nothing() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    // Exceeding the file size limit raises a signal; only when it is ignored do writes fail like on
    // a full disk.
    let command = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(command).expect("a start");
    running.send_and_wait("before").expect("an answer");

    limit_file_size(running.pid(), "0");
    for _ in 0..3 {
        let refused = running.send_message("during").expect_err("no room");
        assert!(refused.0.starts_with("i can't write that down: "), "{refused}");
    }
    assert_eq!(running.get("/api/health").expect("it lives")["pid"], running.pid());
    limit_file_size(running.pid(), "unlimited");

    let ended = running.send_and_wait("after").expect("an answer");
    assert_eq!(ended.data["how"], "finished");
    running.terminate();
    let acknowledged = vec!["before".to_owned(), "after".to_owned()];
    assert_eq!(find_violations(program.data()), [""; 0]);
    assert_eq!(
        Observations { acknowledged, requests: model_server.requests() }.check(program.data()),
        [""; 0]
    );
    assert!(model_server.requests().iter().all(|request| !request.body.contains("during")));
}

/// B3: an answer that cannot be written is reported once, buffered, and written when there is
/// space.
#[test]
fn answer_is_buffered_while_the_disk_is_full() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let gate = Gate::new();
    model_server.model().script([ScriptedReply::text("an answer worth keeping").waiting_at_event(2, &gate)]);
    let command = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(command).expect("a start");
    let mut events = running.events().expect("events");
    let message = running.send_message("tell me").expect("an acknowledgement");
    block_on(gate.reached());

    limit_file_size(running.pid(), "0");
    gate.release();
    let notice = events.find(|event| event.name == "notice").expect("a notice");
    let text = notice.data["text"].as_str().expect("words");
    assert!(
        text.starts_with("i can't write things down right now: ") && text.ends_with("i keep trying."),
        "{text}"
    );
    limit_file_size(running.pid(), "unlimited");

    let again = events.find(|event| event.name == "notice" || event.name == "ended").expect("an end");
    assert_eq!((again.name.as_str(), &again.data["answers"]), ("ended", &message.into()), "told once");
    running.terminate();
    assert_eq!(find_violations(program.data()), [""; 0]);
    let out = program.run(&["chat", "--once", "and?"]);
    assert_eq!(out.status.code(), Some(0));
    let last = model_server.requests().pop().expect("a request");
    assert!(last.body.contains("an answer worth keeping"), "{}", last.body);
}

/// B3, H2: a start on a full disk is refused in one sentence as a temporary error, and the intact
/// database is not taken for a damaged one.
#[test]
fn start_on_a_full_disk_is_refused_and_changes_nothing() {
    let program = Program::offline(BINARY);
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let start = || run_to_end(program.command_through(full, &["run", "--no-chat"]).stdin(Stdio::null()));
    assert_disk_full(&start(), program.data());
    assert_eq!(program.run(&["chat", "--once", "hello"]).status.code(), Some(0));
    let before = read_tree(program.data());
    assert_disk_full(&start(), program.data());
    let mut after = read_tree(program.data());
    after.remove(&program.data().join("state/bot.pid"));
    assert_eq!(after, before);
    assert_eq!(program.run(&["chat", "--once", "hello again"]).status.code(), Some(0));
    assert_eq!(find_violations(program.data()), [""; 0]);
}

fn limit_file_size(pid: u32, limit: &str) {
    let mut prlimit = Command::new("prlimit");
    let done = run_to_end(prlimit.args(["--pid", &pid.to_string(), &format!("--fsize={limit}:unlimited")]));
    assert!(done.status.success(), "{}", stderr(&done));
}
