//! An API key that expires while the program runs, and its replacement in the key file.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::fs::{OpenOptions, Permissions, set_permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::kill::{Backstage, Program, stderr, stdout};
use testkit::model_server::Options;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn keep(path: &Path, key: &str) {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(path).expect("a key file");
    file.write_all(key.as_bytes()).expect("room for a key");
    set_permissions(path, Permissions::from_mode(0o600)).expect("a file of ours");
}

fn expired() -> (Backstage, Program, std::path::PathBuf) {
    let backstage = Backstage::open_with(Options { key: Some("sk-new".to_owned()), ..Options::default() });
    let mut program = Program::answered_by(BINARY, &backstage);
    let file = program.home().join("the.key");
    keep(&file, "sk-old\n");
    program.set("ANTHROPIC_API_KEY_FILE", file.to_str().expect("a plain path"));
    (backstage, program, file)
}

/// Returns the texts of the conversation, oldest first.
fn said(messages: &serde_json::Value) -> Vec<String> {
    let messages = messages["messages"].as_array().expect("messages");
    messages.iter().map(|entry| entry["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// E5: messages sent while the key is rejected are saved, and answered in order once the file has a
/// new key.
#[test]
fn a_replaced_key_file_answers_all_that_waited_without_a_restart() {
    let (_backstage, program, file) = expired();
    let running = program.start();
    for words in ["one", "two", "three"] {
        let kept = program.run(&["chat", "--once", words]);
        assert_eq!((kept.status.code(), stdout(&kept).as_str()), (Some(1), ""));
        assert!(stderr(&kept).contains("Your messages are kept and answered in order"), "{}", stderr(&kept));
        assert!(!stderr(&kept).contains("sk-old"), "{}", stderr(&kept));
    }
    let mut events = running.events().expect("events");
    keep(&file, "sk-new\n");
    for message in 1..=3 {
        assert_eq!(events.ended(message).expect("an end").data["how"], "finished");
    }
    let said = said(&running.get("/api/messages").expect("messages"));
    assert_eq!(said.iter().step_by(2).collect::<Vec<_>>(), ["one", "two", "three"]);
    for (words, answer) in [("one", &said[1]), ("two", &said[3]), ("three", &said[5])] {
        assert!(answer.ends_with(words), "{said:?}");
    }
}

/// E5: like the previous test, with a restart in between.
#[test]
fn what_waited_for_a_key_is_answered_by_the_next_process() {
    let (backstage, program, file) = expired();
    assert_eq!(program.run(&["chat", "--once", "one"]).status.code(), Some(1));
    assert_eq!(program.run(&["chat", "--once", "two"]).status.code(), Some(1));
    let not_running = program.run(&["retry"]);
    assert_eq!(not_running.status.code(), Some(1));
    assert!(stderr(&not_running).contains("ollim-bot"), "{}", stderr(&not_running));
    keep(&file, "sk-new");
    let third = program.run(&["chat", "--once", "three"]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
    assert!(stdout(&third).trim_end().ends_with("three"), "{}", stdout(&third));
    let running = program.start();
    let said = said(&running.get("/api/messages").expect("messages"));
    assert_eq!(said.iter().step_by(2).collect::<Vec<_>>(), ["one", "two", "three"]);
    let taken = backstage.requests().len() - backstage.model().usage().len();
    assert!(taken >= 2, "the old key was refused at least twice, not {taken} times");
}
