//! A full disk: the program keeps running, reports it, loses nothing, and continues when there is
//! space.

use std::process::{Command, Stdio};

use testkit::kill::{Backstage, Program, assert_no_room, contents, finish, stderr, wait};
use testkit::model_server::{Act, Gate};
use testkit::oracle::{Ledger, examine};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// B3: while writes fail, the program runs, refuses messages with a reason, and preserves its data;
/// when there is space again, it continues without a restart.
#[test]
fn a_full_disk_refuses_messages_and_loses_nothing() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    // Exceeding the file size limit raises a signal; only when it is ignored do writes fail like on
    // a full disk.
    let through = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(through).expect("a start");
    running.converse("before").expect("an answer");

    limit_files(running.pid(), "0");
    for _ in 0..3 {
        let refused = running.say("during").expect_err("no room");
        assert!(refused.0.starts_with("i can't write that down: "), "{refused}");
    }
    assert_eq!(running.get("/api/health").expect("it lives")["pid"], running.pid());
    limit_files(running.pid(), "unlimited");

    let ended = running.converse("after").expect("an answer");
    assert_eq!(ended.data["how"], "finished");
    running.terminate();
    let acknowledged = vec!["before".to_owned(), "after".to_owned()];
    assert_eq!(examine(program.data()), [""; 0]);
    assert_eq!(Ledger { acknowledged, requests: backstage.requests() }.check(program.data()), [""; 0]);
    assert!(backstage.requests().iter().all(|request| !request.body.contains("during")));
}

/// B3: an answer that cannot be written is reported once, buffered, and written when there is
/// space.
#[test]
fn an_answer_that_finds_the_disk_full_is_kept_until_there_is_room() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let gate = Gate::new();
    backstage.model().script([Act::says("an answer worth keeping").held_at(2, &gate)]);
    let through = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(through).expect("a start");
    let mut events = running.events().expect("events");
    let message = running.say("tell me").expect("an acknowledgement");
    wait(gate.reached());

    limit_files(running.pid(), "0");
    gate.release();
    let notice = events.find(|event| event.name == "notice").expect("a notice");
    let text = notice.data["text"].as_str().expect("words");
    assert!(
        text.starts_with("i can't write things down right now: ") && text.ends_with("i keep trying."),
        "{text}"
    );
    limit_files(running.pid(), "unlimited");

    let again = events.find(|event| event.name == "notice" || event.name == "ended").expect("an end");
    assert_eq!((again.name.as_str(), &again.data["answers"]), ("ended", &message.into()), "told once");
    running.terminate();
    assert_eq!(examine(program.data()), [""; 0]);
    let out = program.run(&["chat", "--once", "and?"]);
    assert_eq!(out.status.code(), Some(0));
    let last = backstage.requests().pop().expect("a request");
    assert!(last.body.contains("an answer worth keeping"), "{}", last.body);
}

/// B3, H2: a start on a full disk is refused in one sentence as a temporary error, and the intact
/// database is not taken for a damaged one.
#[test]
fn a_start_on_a_full_disk_is_refused_and_changes_nothing() {
    let program = Program::offline(BINARY);
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let start = || finish(program.command_through(full, &["run", "--no-chat"]).stdin(Stdio::null()));
    assert_no_room(&start(), program.data());
    assert_eq!(program.run(&["chat", "--once", "hello"]).status.code(), Some(0));
    let before = contents(program.data());
    assert_no_room(&start(), program.data());
    let mut after = contents(program.data());
    after.remove(&program.data().join("state/bot.pid"));
    assert_eq!(after, before);
    assert_eq!(program.run(&["chat", "--once", "hello again"]).status.code(), Some(0));
    assert_eq!(examine(program.data()), [""; 0]);
}

fn limit_files(pid: u32, most: &str) {
    let mut prlimit = Command::new("prlimit");
    let done = finish(prlimit.args(["--pid", &pid.to_string(), &format!("--fsize={most}:unlimited")]));
    assert!(done.status.success(), "{}", stderr(&done));
}
