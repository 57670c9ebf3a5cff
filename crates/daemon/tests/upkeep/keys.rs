//! A key is sent only to its own server, and only encrypted.

use testkit::background_runtime::BackgroundRuntime;
use testkit::chat_server::{ChatServer, Style};
use testkit::process::{BackgroundModelServer, free_port, stderr, stdout};

use crate::rig::{fresh_program, run, write_secret, write_state_file};
use crate::setup::{KEY, WRONG_KEY, assert_refused, set_up_model, start_model_server, state_file};

/// J1: connecting another server without a key neither sends nor keeps the old key.
#[test]
fn key_is_not_sent_to_another_server() {
    let runtime = BackgroundRuntime::start();
    let server = runtime.run(async { ChatServer::start(Style::OpenAi).await.unwrap() });
    let program = fresh_program();
    let url = server.url();
    let key = write_state_file(&program, "openai.key", "sk-canary-openai\n");
    write_state_file(&program, "environment", "OPENAI_API_KEY=sk-canary-line\n");
    let connect =
        || run(&program, &["setup", "model", "--model", "openai:test:3b", "--url", &url, "--no-input"]);
    let done = connect();
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(
        stdout(&done).contains("openai.key is removed: that key is for another server"),
        "{}",
        stdout(&done)
    );
    run(&program, &["chat", "--once", "hello"]);
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.authorization).collect();
    assert_eq!(sent, [None, None], "once while it was tried, and once afterwards");
    assert!(!key.exists());
    let stored = std::fs::read_to_string(state_file(&program, "environment")).unwrap();
    assert!(!stored.contains("canary"), "{stored}");

    // The same server again: its own key stays.
    write_state_file(&program, "openai.key", "sk-canary-own\n");
    assert_eq!(connect().status.code(), Some(0));
    let sent = server.requests().pop().unwrap().authorization;
    assert_eq!((sent.as_deref(), key.exists()), (Some("Bearer sk-canary-own"), true));
}

/// J1: a new key is not sent to the address of an earlier setup.
#[test]
fn new_key_is_not_sent_to_an_old_address() {
    let model_server = BackgroundModelServer::start();
    let mut program = fresh_program();
    assert_eq!(set_up_model(&program, "sk-canary-proxy", &model_server.url()).status.code(), Some(0));
    // No test leaves this machine.
    program.set_env("HTTPS_PROXY", &format!("http://127.0.0.1:{}", free_port()));
    let before = model_server.requests().len();
    let file = write_secret(&program, "sk-canary-new");
    let words = ["setup", "model", "--model", "anthropic:sonnet", "--key-file", file.to_str().unwrap()];
    let new = run(&program, &words);
    assert_refused(&new, 1, "at https://api.anthropic.com cannot be reached");
    assert_eq!(model_server.requests().len(), before, "the old proxy has not seen the new key");
    let without_key = run(&program, &["setup", "model", "--model", "anthropic:opus", "--no-input"]);
    assert_refused(&without_key, 2, "give the key with --key-file FILE or --key-stdin");
}

/// J1: a key is not sent over plain HTTP to another machine; the error lists the alternatives.
#[test]
fn key_is_not_sent_over_plain_http() {
    let program = fresh_program();
    for (model, port) in [("anthropic:sonnet", 8099), ("openai:test:3b", 11434)] {
        let file = write_secret(&program, KEY);
        let url = format!("http://192.168.1.5:{port}");
        let file = file.to_str().unwrap();
        let done = run(&program, &["setup", "model", "--model", model, "--url", &url, "--key-file", file]);
        assert_refused(
            &done,
            1,
            &format!("over http everybody on the way to 192.168.1.5:{port} could read the key"),
        );
    }
    assert!(!state_file(&program, "openai.key").exists() && !state_file(&program, "environment").exists());
}

/// The key that was checked is used afterwards, even if an earlier line names another file.
#[test]
fn checked_key_is_used_afterwards() {
    let model_server = start_model_server();
    let program = fresh_program();
    let old = write_state_file(&program, "old.key", WRONG_KEY);
    write_state_file(&program, "environment", &format!("ANTHROPIC_API_KEY_FILE={}\n", old.display()));
    assert_eq!(set_up_model(&program, KEY, &model_server.url()).status.code(), Some(0));
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A web server that is no model server is refused.
#[test]
fn web_server_without_a_model_is_refused() {
    let model_server = BackgroundModelServer::start();
    let program = fresh_program();
    for model in ["anthropic:sonnet", "openai:test:3b"] {
        let file = write_secret(&program, KEY);
        let url = format!("{}/nothing/here", model_server.url());
        let file = file.to_str().unwrap();
        let done = run(&program, &["setup", "model", "--model", model, "--url", &url, "--key-file", file]);
        assert_refused(&done, 1, "Nothing was changed.");
    }
    assert!(!state_file(&program, "environment").exists());
}
