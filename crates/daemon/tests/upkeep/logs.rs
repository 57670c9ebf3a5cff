//! The log: levels, fields, JSON format, and that it contains neither messages nor secrets.

use serde_json::Value;
use testkit::model_server::{Options, ScriptedReply};
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

use crate::rig::{BINARY, DiscordOnLoopback, run};

const SECRET: &str = "sk-canary-key";
const USER_TEXT: &str = "canary-words-of-the-human";
const MODEL_TEXT: &str = "canary-words-of-the-model";

/// J1, SU-13: at level trace, after conversation, tool calls, failures and Discord, the log
/// contains no message text and no secret; every line is a JSON document with level and time.
#[test]
fn no_message_text_and_no_secret_is_logged() {
    let model_server =
        BackgroundModelServer::start_with(Options { key: Some(SECRET.to_owned()), ..Options::default() });
    let fake_discord = DiscordOnLoopback::open();
    let mut program = Program::with_model(BINARY, &model_server);
    program
        .set_env("ANTHROPIC_API_KEY", SECRET)
        .set_env("OLLIM_LOG", "trace")
        .set_env("OLLIM_LOG_FORMAT", "json");
    program
        .set_env("DISCORD_TOKEN", &fake_discord.discord.token())
        .set_env("DISCORD_API_BASE", &fake_discord.api_base());
    std::fs::create_dir_all(program.data().join("routines")).unwrap();
    std::fs::write(
        program.data().join("routines/bad.md"),
        format!("---\ncron: {USER_TEXT}\n---\n{USER_TEXT}\n"),
    )
    .unwrap();
    let running = program.start();
    let call = serde_json::json!({ "text": USER_TEXT });
    model_server
        .model()
        .script([ScriptedReply::empty().with_tool_call("inbox_add", &call), ScriptedReply::text(MODEL_TEXT)]);
    assert_eq!(running.send_and_wait(USER_TEXT).unwrap().data["how"], "finished");
    model_server.model().script([ScriptedReply::refusal(400, "invalid_request_error", USER_TEXT)]);
    let _ = running.send_and_wait(&format!("again {USER_TEXT}")).unwrap();
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
            .filter(|line| line.contains("canary") || line.contains(&fake_discord.discord.token()))
            .collect();
        assert!(found.is_empty(), "{found:#?}");
    }
    assert_eq!(crate::rig::mode(&program.data().join("state/logs/ollim-bot.log")), 0o600);
    let shown = run(&program, &["service", "logs", "-n", "1"]);
    assert_eq!(stdout(&shown).lines().count(), 1, "{}", stderr(&shown));
}

/// SU-13: an unknown log format is reported.
#[test]
fn unknown_log_format_is_reported() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_LOG_FORMAT", "xml");
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(78));
    assert_eq!(stderr(&output), "error: OLLIM_LOG_FORMAT: `xml` is no form i know. use text or json.\n");
}

/// SU-13: a command prints only its result; log lines only if requested.
#[test]
fn command_prints_only_its_result() {
    let mut program = Program::offline(BINARY);
    program.start().terminate();
    std::fs::write(program.data().join("state/config.json"), r#"{"permission_mode": "nonsense"}"#).unwrap();
    let output = run(&program, &["chat", "--once", "inbox"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!stderr(&output).contains("WARN"), "{}", stderr(&output));
    let log_file =
        std::fs::read_to_string(program.data().join("state/logs/ollim-bot.log")).unwrap_or_default();
    assert!(log_file.contains("WARN"), "it is in the book: {log_file}");
    program.set_env("OLLIM_LOG", "warn");
    let output = run(&program, &["chat", "--once", "inbox"]);
    assert!(stderr(&output).contains("WARN"), "{}", stderr(&output));
}
