//! A key is sent only to its own server, and only encrypted.

use testkit::chat_server::{ChatServer, Style};
use testkit::elsewhere::Elsewhere;
use testkit::kill::{Backstage, free_port, stderr, stdout};

use crate::rig::{fresh, keep, run, secret};
use crate::setup::{KEY, WRONG, backstage, refused, set_up_model, state};

/// J1: connecting another server without a key neither sends nor keeps the old key.
#[test]
fn a_key_is_not_sent_to_a_server_it_is_not_for() {
    let elsewhere = Elsewhere::open();
    let server = elsewhere.run(async { ChatServer::start(Style::OpenAi).await.unwrap() });
    let program = fresh();
    let url = server.url();
    let key = keep(&program, "openai.key", "sk-canary-openai\n");
    keep(&program, "environment", "OPENAI_API_KEY=sk-canary-line\n");
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
    let kept = std::fs::read_to_string(state(&program, "environment")).unwrap();
    assert!(!kept.contains("canary"), "{kept}");

    // The same server again: its own key stays.
    keep(&program, "openai.key", "sk-canary-own\n");
    assert_eq!(connect().status.code(), Some(0));
    let sent = server.requests().pop().unwrap().authorization;
    assert_eq!((sent.as_deref(), key.exists()), (Some("Bearer sk-canary-own"), true));
}

/// J1: a new key is not sent to the address of an earlier setup.
#[test]
fn a_new_key_is_not_sent_to_an_old_address() {
    let backstage = Backstage::open();
    let mut program = fresh();
    assert_eq!(set_up_model(&program, "sk-canary-proxy", &backstage.url()).status.code(), Some(0));
    // No test leaves this machine.
    program.set("HTTPS_PROXY", &format!("http://127.0.0.1:{}", free_port()));
    let before = backstage.requests().len();
    let file = secret(&program, "sk-canary-new");
    let words = ["setup", "model", "--model", "anthropic:sonnet", "--key-file", file.to_str().unwrap()];
    let new = run(&program, &words);
    refused(&new, 1, "at https://api.anthropic.com cannot be reached");
    assert_eq!(backstage.requests().len(), before, "the old proxy has not seen the new key");
    let unsaid = run(&program, &["setup", "model", "--model", "anthropic:opus", "--no-input"]);
    refused(&unsaid, 2, "give the key with --key-file FILE or --key-stdin");
}

/// J1: a key is not sent over plain HTTP to another machine; the error lists the alternatives.
#[test]
fn a_key_that_others_could_read_on_the_way_is_not_tried() {
    let program = fresh();
    for (model, port) in [("anthropic:sonnet", 8099), ("openai:test:3b", 11434)] {
        let file = secret(&program, KEY);
        let url = format!("http://192.168.1.5:{port}");
        let file = file.to_str().unwrap();
        let done = run(&program, &["setup", "model", "--model", model, "--url", &url, "--key-file", file]);
        refused(
            &done,
            1,
            &format!("over http everybody on the way to 192.168.1.5:{port} could read the key"),
        );
    }
    assert!(!state(&program, "openai.key").exists() && !state(&program, "environment").exists());
}

/// The key that was checked is used afterwards, even if an earlier line names another file.
#[test]
fn a_key_that_was_tried_is_the_one_that_is_used() {
    let backstage = backstage();
    let program = fresh();
    let old = keep(&program, "old.key", WRONG);
    keep(&program, "environment", &format!("ANTHROPIC_API_KEY_FILE={}\n", old.display()));
    assert_eq!(set_up_model(&program, KEY, &backstage.url()).status.code(), Some(0));
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
}

/// A web server that is no model server is refused.
#[test]
fn a_web_server_that_is_no_model_is_not_kept() {
    let backstage = Backstage::open();
    let program = fresh();
    for model in ["anthropic:sonnet", "openai:test:3b"] {
        let file = secret(&program, KEY);
        let url = format!("{}/nothing/here", backstage.url());
        let file = file.to_str().unwrap();
        let done = run(&program, &["setup", "model", "--model", model, "--url", &url, "--key-file", file]);
        refused(&done, 1, "Nothing was changed.");
    }
    assert!(!state(&program, "environment").exists());
}
