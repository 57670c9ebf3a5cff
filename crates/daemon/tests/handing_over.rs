//! Messages from the time without a model reach the first connected model once.

use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The first model reads the open inbox items with its first message and never again; items already
/// done are left out.
#[test]
fn first_model_reads_the_open_inbox_items_once() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    program.set_env("OLLIM_MODEL", "offline");
    let run = |program: &Program, line: &[&str]| {
        let output = program.run(line);
        assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
        stdout(&output) + &stderr(&output)
    };
    let text = run(&program, &["chat", "--once", "plan my trip to lisbon"]);
    assert!(text.contains("no model is connected") && text.contains("kept as 1"), "{text}");
    assert!(text.contains("to connect one: ollim-bot setup model"), "{text}");
    run(&program, &["add", "buy milk"]);
    run(&program, &["add", "call the bank"]);
    run(&program, &["done", "bank"]);
    assert_eq!(model_server.requests().len(), 0);

    program.set_env("OLLIM_MODEL", "");
    model_server.model().script([ScriptedReply::text("Lisbon in May?"), ScriptedReply::text("Yes.")]);
    let text = run(&program, &["chat", "--once", "hello"]);
    assert!(text.contains("Lisbon in May?"), "{text}");
    let request = model_server.requests().pop().expect("a request").body;
    assert!(request.contains("2 THINGS THE HUMAN TOLD YOU WHILE THERE WAS NO MODEL"), "{request}");
    assert!(request.contains("1. plan my trip to lisbon") && request.contains("2. buy milk"), "{request}");
    assert!(!request.contains("call the bank"), "{request}");
    run(&program, &["chat", "--once", "thanks"]);
    let request = model_server.requests().pop().expect("a request").body;
    assert_eq!(request.matches("WHILE THERE WAS NO MODEL").count(), 1, "once, and in its place");
}
