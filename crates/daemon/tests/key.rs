//! An API key that expires while the program runs, and its replacement in the key file.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::fs::{OpenOptions, Permissions, set_permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::model_server::Options;
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn write_key(path: &Path, key: &str) {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(path).expect("a key file");
    file.write_all(key.as_bytes()).expect("room for a key");
    set_permissions(path, Permissions::from_mode(0o600)).expect("a file of ours");
}

fn setup_with_expired_key() -> (BackgroundModelServer, Program, std::path::PathBuf) {
    let model_server =
        BackgroundModelServer::start_with(Options { key: Some("sk-new".to_owned()), ..Options::default() });
    let mut program = Program::with_model(BINARY, &model_server);
    let file = program.home().join("the.key");
    write_key(&file, "sk-old\n");
    program.set_env("ANTHROPIC_API_KEY_FILE", file.to_str().expect("a plain path"));
    (model_server, program, file)
}

/// Returns the texts of the conversation, oldest first.
fn message_texts(messages: &serde_json::Value) -> Vec<String> {
    let messages = messages["messages"].as_array().expect("messages");
    messages.iter().map(|entry| entry["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// E5: messages sent while the key is rejected are saved, and answered in order once the file has a
/// new key.
#[test]
fn replaced_key_file_releases_waiting_messages_without_a_restart() {
    let (_backstage, program, file) = setup_with_expired_key();
    let running = program.start();
    for words in ["one", "two", "three"] {
        let output = program.run(&["chat", "--once", words]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
        assert!(
            stderr(&output).contains("Your messages are kept and answered in order"),
            "{}",
            stderr(&output)
        );
        assert!(!stderr(&output).contains("sk-old"), "{}", stderr(&output));
    }
    let mut events = running.events().expect("events");
    write_key(&file, "sk-new\n");
    for message in 1..=3 {
        assert_eq!(events.wait_for_end(message).expect("an end").data["how"], "finished");
    }
    let text = message_texts(&running.get("/api/messages").expect("messages"));
    assert_eq!(text.iter().step_by(2).collect::<Vec<_>>(), ["one", "two", "three"]);
    for (words, answer) in [("one", &text[1]), ("two", &text[3]), ("three", &text[5])] {
        assert!(answer.ends_with(words), "{text:?}");
    }
}

/// E5: like the previous test, with a restart in between.
#[test]
fn messages_waiting_for_a_key_are_answered_after_a_restart() {
    let (model_server, program, file) = setup_with_expired_key();
    assert_eq!(program.run(&["chat", "--once", "one"]).status.code(), Some(1));
    assert_eq!(program.run(&["chat", "--once", "two"]).status.code(), Some(1));
    let not_running = program.run(&["retry"]);
    assert_eq!(not_running.status.code(), Some(1));
    assert!(stderr(&not_running).contains("ollim-bot"), "{}", stderr(&not_running));
    write_key(&file, "sk-new");
    let third = program.run(&["chat", "--once", "three"]);
    assert_eq!(third.status.code(), Some(0), "{}", stderr(&third));
    assert!(stdout(&third).trim_end().ends_with("three"), "{}", stdout(&third));
    let running = program.start();
    let output = message_texts(&running.get("/api/messages").expect("messages"));
    assert_eq!(output.iter().step_by(2).collect::<Vec<_>>(), ["one", "two", "three"]);
    let refused = model_server.requests().len() - model_server.model().usage().len();
    assert!(refused >= 2, "the old key was refused at least twice, not {refused} times");
}
