//! The whole application on a chat-completions model: the real program with a fake server.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::chat_server::{ChatServer, Options, Style};
use testkit::scripted_replies::ScriptedReply;
use tokio::process::Command;

/// The result of one run of the program.
struct RunOutput {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

struct ProgramUnderTest {
    data: tempfile::TempDir,
    url: String,
    key: Option<&'static str>,
}

impl ProgramUnderTest {
    fn new(server: &ChatServer) -> Self {
        Self { data: tempfile::tempdir().unwrap(), url: server.url(), key: None }
    }

    async fn run(&self, arguments: &[&str]) -> RunOutput {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_ollim-bot")));
        command.args(arguments).env_clear().kill_on_drop(true).stdin(Stdio::null());
        command.envs([("OLLIM_MODEL", "openai:test:3b"), ("OPENAI_BASE_URL", &self.url)]);
        command.envs([("USER", "julius"), ("OLLIM_TIMEZONE", "UTC")]);
        command.env("OLLIM_DATA_DIR", self.data.path());
        command.envs(self.key.map(|key| ("OPENAI_API_KEY", key)));
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        RunOutput { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }

    async fn say(&self, words: &str) -> RunOutput {
        self.run(&["chat", "--once", words]).await
    }
}

#[tokio::test]
async fn tool_call_works_in_every_dialect() {
    for style in [Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let input = serde_json::json!({"text": "locker 214"});
        server.script([
            ScriptedReply::text("One moment.").with_tool_call("inbox_add", &input),
            ScriptedReply::text("It is kept."),
        ]);
        let program = ProgramUnderTest::new(&server);
        let output = program.say("remember my locker").await;
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{style:?}");
        assert!(output.stdout.ends_with("It is kept.\n"), "{style:?}: {}", output.stdout);
        let result = tool_result(&server.requests()[1].json);
        assert!(result.contains("kept"), "{style:?}: {result}");
        // A new process continues the conversation.
        assert_eq!(program.say("thanks").await.code, Some(0), "{style:?}");
        assert!(server.requests()[2].body.contains("It is kept."), "{style:?}");
    }
}

/// The reasoning of a tool loop is stored in the journal, so another process can return it to
/// servers that require it.
#[tokio::test]
async fn reasoning_is_returned_by_another_process() {
    for (style, marker) in [
        (Style::DeepSeek, "\"reasoning_content\":\"Thoughts of answer 2."),
        (Style::Gemini, "\"thought_signature\":\"signed-"),
        (Style::OpenRouter, "\"reasoning_details\":["),
        (Style::Vllm, "\"reasoning\":\"Thoughts of answer 2."),
        (Style::OpenAiCurrent, "\"encrypted_content\":\"sealed-"),
    ] {
        let server = ChatServer::start(style).await.unwrap();
        let note = |text: &str| ScriptedReply::tool_call("inbox_add", &serde_json::json!({ "text": text }));
        // The first request of each process uses chat completions, for which this model rejects
        // tools.
        let refused = usize::from(style == Style::OpenAiCurrent);
        server.script([note("locker 214"), note("key 7"), ScriptedReply::text("It is kept.")]);
        let program = ProgramUnderTest::new(&server);
        let output = program.say("remember my locker and my key").await;
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{style:?}");
        assert!(output.stdout.ends_with("It is kept.\n"), "{style:?}: {}", output.stdout);
        let output = program.say("thanks").await;
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{style:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 4 + 2 * refused, "{style:?}: no other request was refused");
        let last = &requests[requests.len() - 1].body;
        assert!(last.contains(marker), "{style:?}: {last}");
    }
}

fn tool_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn model_without_tools_answers_after_a_notice() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let output = ProgramUnderTest::new(&server).say("hello").await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", output.stdout);
    assert!(lines[0].starts_with(
        "test:3b cannot use tools, so I can talk but not act: no reminders, files or commands."
    ));
    assert!(lines[1].starts_with("you said: ") && lines[1].ends_with("hello"), "{}", output.stdout);
    assert_eq!(server.requests().len(), 2);
}

/// MC-26, SL-8: a custom server has its own model names, and any of them can be chosen.
#[tokio::test]
async fn any_model_of_the_server_can_be_chosen() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let program = ProgramUnderTest::new(&server);
    let chosen = program.run(&["model", "Qwen/Qwen3-8B"]).await;
    assert_eq!(
        (chosen.stdout.as_str(), chosen.code),
        ("From the next answer on, Qwen/Qwen3-8B answers.\n", Some(0))
    );
    assert_eq!(program.say("hello").await.code, Some(0));
    assert_eq!(server.requests()[0].json["model"], "Qwen/Qwen3-8B");
    let foreign = program.run(&["model", "opus"]).await;
    assert_eq!(foreign.code, Some(1));
    assert!(
        foreign.stderr.contains("`opus` is a short name for a model of Anthropic."),
        "{}",
        foreign.stderr
    );
    let unsupported = program.say("/thinking adaptive").await;
    assert!(
        unsupported
            .stderr
            .contains("openai:test:3b has no setting for thinking. Set its effort with `/effort`."),
        "{}",
        unsupported.stderr
    );
    // A model chosen for another provider is ignored.
    std::fs::write(program.data.path().join("state/config.json"), r#"{"model_main": "opus"}"#).unwrap();
    assert_eq!(program.say("hello").await.code, Some(0));
    assert_eq!(server.requests()[1].json["model"], "test:3b");
}

/// E5: an authentication error names the variable with the key.
#[tokio::test]
async fn wrong_key_is_reported_with_its_variable() {
    let options = Options { key: Some("sk-right".to_owned()), ..Options::default() };
    let server = ChatServer::start_with(options).await.unwrap();
    let mut program = ProgramUnderTest::new(&server);
    let output = program.say("hello").await;
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("OPENAI_API_KEY is not set"), "{}", output.stderr);
    program.key = Some("sk-wrong");
    let output = program.say("hello").await;
    assert!(output.stderr.contains("refused the key (OPENAI_API_KEY, 401"), "{}", output.stderr);
    assert!(!output.stderr.contains("sk-wrong"), "{}", output.stderr);
    program.key = Some("sk-right");
    assert_eq!(program.say("hello").await.code, Some(0));
}

#[tokio::test]
async fn doctor_checks_the_server() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let mut program = ProgramUnderTest::new(&server);
    let report = program.run(&["doctor"]).await;
    let fine = format!("✓ model    test:3b at {} answers", server.url());
    assert!(report.stdout.contains(&fine), "{}", report.stdout);
    let requests = server.requests();
    assert_eq!(
        (requests.len(), &requests[0].json["max_tokens"], requests[0].json["tools"].as_array().map(Vec::len)),
        (1, &16.into(), Some(1)),
        "it is asked in the shape of a conversation"
    );
    assert!(!report.stdout.contains("OLLIM_THINKING"), "{}", report.stdout);
    std::fs::write(program.data.path().join("settings.toml"), "[model]\nthinking = \"adaptive\"\n").unwrap();
    let report = program.run(&["doctor"]).await;
    let unsupported = "! thinking test:3b has no setting for thinking: `adaptive` counts as medium effort. `effort.main` sets \
        the effort directly";
    assert!(report.stdout.contains(unsupported), "{}", report.stdout);
    server.stop().await;
    let report = program.run(&["doctor"]).await;
    assert!(report.stdout.contains("cannot be reached"), "{}", report.stdout);
    program.url = "nowhere".to_owned();
    let report = program.run(&["doctor"]).await;
    assert!(report.stdout.contains("it looks like https://api.openai.com/v1"), "{}", report.stdout);
}

#[tokio::test]
async fn missing_key_and_server_stop_the_start() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let mut program = ProgramUnderTest::new(&server);
    program.url = String::new();
    let output = program.say("hello").await;
    assert_eq!(output.code, Some(78));
    let expected =
        "OLLIM_MODEL asks for openai:test:3b, but OPENAI_API_KEY is not set. set it, or OPENAI_BASE_URL";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}
