//! The log: levels, fields, JSON format, and that it contains neither messages nor secrets.

use serde_json::Value;
use testkit::kill::{Backstage, Program, stderr, stdout};
use testkit::model_server::{Act, Options};

use crate::rig::{BINARY, PlayedDiscord, run};

const SECRET: &str = "sk-canary-key";
const SAID: &str = "canary-words-of-the-human";
const ANSWERED: &str = "canary-words-of-the-model";

/// J1, SU-13: at level trace, after conversation, tool calls, failures and Discord, the log
/// contains no message text and no secret; every line is a JSON document with level and time.
#[test]
fn nothing_that_was_said_and_no_secret_is_ever_logged() {
    let backstage = Backstage::open_with(Options { key: Some(SECRET.to_owned()), ..Options::default() });
    let played = PlayedDiscord::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("ANTHROPIC_API_KEY", SECRET).set("OLLIM_LOG", "trace").set("OLLIM_LOG_FORMAT", "json");
    program.set("DISCORD_TOKEN", &played.discord.token()).set("DISCORD_API_BASE", &played.base());
    std::fs::create_dir_all(program.data().join("routines")).unwrap();
    std::fs::write(program.data().join("routines/bad.md"), format!("---\ncron: {SAID}\n---\n{SAID}\n"))
        .unwrap();
    let running = program.start();
    let call = serde_json::json!({ "text": SAID });
    backstage.model().script([Act::empty().and_calls("inbox_add", &call), Act::says(ANSWERED)]);
    assert_eq!(running.converse(SAID).unwrap().data["how"], "finished");
    backstage.model().script([Act::refuses(400, "invalid_request_error", SAID)]);
    let _ = running.converse(&format!("again {SAID}")).unwrap();
    let link = running.get("/api/health").unwrap()["page"].clone();
    let log = running.log();
    running.terminate();
    assert!(link.is_string() && !log.trim().is_empty(), "something is logged");
    for line in log.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no document: {line}"));
        assert!(value["level"].is_string() && value["timestamp"].is_string(), "{line}");
    }
    let file = std::fs::read_to_string(program.data().join("state/logs/ollim-bot.log")).unwrap();
    for text in [&log, &file] {
        let found: Vec<_> = text
            .lines()
            .filter(|line| line.contains("canary") || line.contains(&played.discord.token()))
            .collect();
        assert!(found.is_empty(), "{found:#?}");
    }
    assert_eq!(crate::rig::mode(&program.data().join("state/logs/ollim-bot.log")), 0o600);
    let shown = run(&program, &["service", "logs", "-n", "1"]);
    assert_eq!(stdout(&shown).lines().count(), 1, "{}", stderr(&shown));
}

/// SU-13: an unknown log format is reported.
#[test]
fn a_form_that_is_none_is_told() {
    let mut program = Program::offline(BINARY);
    program.set("OLLIM_LOG_FORMAT", "xml");
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(78));
    assert_eq!(stderr(&output), "error: OLLIM_LOG_FORMAT: `xml` is no form i know. use text or json.\n");
}

/// SU-13: a command prints only its result; log lines only if requested.
#[test]
fn a_command_prints_only_its_results() {
    let mut program = Program::offline(BINARY);
    program.start().terminate();
    std::fs::write(program.data().join("state/config.json"), r#"{"permission_mode": "nonsense"}"#).unwrap();
    let said = run(&program, &["chat", "--once", "inbox"]);
    assert_eq!(said.status.code(), Some(0));
    assert!(!stderr(&said).contains("WARN"), "{}", stderr(&said));
    let book = std::fs::read_to_string(program.data().join("state/logs/ollim-bot.log")).unwrap_or_default();
    assert!(book.contains("WARN"), "it is in the book: {book}");
    program.set("OLLIM_LOG", "warn");
    let said = run(&program, &["chat", "--once", "inbox"]);
    assert!(stderr(&said).contains("WARN"), "{}", stderr(&said));
}
