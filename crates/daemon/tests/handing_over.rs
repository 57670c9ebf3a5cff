//! Messages from the time without a model reach the first connected model once.

use testkit::kill::{Backstage, Program, stderr, stdout};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The first model reads the open inbox items with its first message and never again; items already
/// done are left out.
#[test]
fn the_first_model_is_told_what_was_kept_without_one() {
    let backstage = Backstage::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("OLLIM_MODEL", "offline");
    let says = |program: &Program, line: &[&str]| {
        let output = program.run(line);
        assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
        stdout(&output) + &stderr(&output)
    };
    let told = says(&program, &["chat", "--once", "plan my trip to lisbon"]);
    assert!(told.contains("no model is connected") && told.contains("kept as 1"), "{told}");
    assert!(told.contains("to connect one: ollim-bot setup model"), "{told}");
    says(&program, &["add", "buy milk"]);
    says(&program, &["add", "call the bank"]);
    says(&program, &["done", "bank"]);
    assert_eq!(backstage.requests().len(), 0);

    program.set("OLLIM_MODEL", "");
    backstage.model().script([Act::says("Lisbon in May?"), Act::says("Yes.")]);
    let told = says(&program, &["chat", "--once", "hello"]);
    assert!(told.contains("Lisbon in May?"), "{told}");
    let asked = backstage.requests().pop().expect("a request").body;
    assert!(asked.contains("2 THINGS THE HUMAN TOLD YOU WHILE THERE WAS NO MODEL"), "{asked}");
    assert!(asked.contains("1. plan my trip to lisbon") && asked.contains("2. buy milk"), "{asked}");
    assert!(!asked.contains("call the bank"), "{asked}");
    says(&program, &["chat", "--once", "thanks"]);
    let asked = backstage.requests().pop().expect("a request").body;
    assert_eq!(asked.matches("WHILE THERE WAS NO MODEL").count(), 1, "once, and in its place");
}
