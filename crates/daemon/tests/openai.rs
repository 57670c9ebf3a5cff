//! The whole application on a chat-completions model: the real program with a fake server.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::chat_server::{ChatServer, Options, Style};
use testkit::play::Act;
use tokio::process::Command;

/// The result of one run of the program.
struct Run {
    out: String,
    err: String,
    code: Option<i32>,
}

struct House {
    data: tempfile::TempDir,
    url: String,
    key: Option<&'static str>,
}

impl House {
    fn new(server: &ChatServer) -> Self {
        Self { data: tempfile::tempdir().unwrap(), url: server.url(), key: None }
    }

    async fn run(&self, arguments: &[&str]) -> Run {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_ollim-bot")));
        command.args(arguments).env_clear().kill_on_drop(true).stdin(Stdio::null());
        command.envs([("OLLIM_MODEL", "openai:test:3b"), ("OPENAI_BASE_URL", &self.url)]);
        command.envs([("USER", "julius"), ("OLLIM_TIMEZONE", "UTC")]);
        command.env("OLLIM_DATA_DIR", self.data.path());
        command.envs(self.key.map(|key| ("OPENAI_API_KEY", key)));
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }

    async fn say(&self, words: &str) -> Run {
        self.run(&["chat", "--once", words]).await
    }
}

#[tokio::test]
async fn a_tool_runs_and_its_result_is_read_in_every_dialect() {
    for style in [Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let input = serde_json::json!({"text": "locker 214"});
        server.script([Act::says("One moment.").and_calls("inbox_add", &input), Act::says("It is kept.")]);
        let house = House::new(&server);
        let said = house.say("remember my locker").await;
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{style:?}");
        assert!(said.out.ends_with("It is kept.\n"), "{style:?}: {}", said.out);
        let result = tool_result(&server.requests()[1].json);
        assert!(result.contains("kept"), "{style:?}: {result}");
        // A new process continues the conversation.
        assert_eq!(house.say("thanks").await.code, Some(0), "{style:?}");
        assert!(server.requests()[2].body.contains("It is kept."), "{style:?}");
    }
}

/// The reasoning of a tool loop is stored in the journal, so another process can return it to
/// servers that require it.
#[tokio::test]
async fn reasoning_goes_back_from_another_process_too() {
    for (style, marker) in [
        (Style::DeepSeek, "\"reasoning_content\":\"Thoughts of answer 2."),
        (Style::Gemini, "\"thought_signature\":\"signed-"),
        (Style::OpenRouter, "\"reasoning_details\":["),
        (Style::Vllm, "\"reasoning\":\"Thoughts of answer 2."),
        (Style::Current, "\"encrypted_content\":\"sealed-"),
    ] {
        let server = ChatServer::start(style).await.unwrap();
        let note = |text: &str| Act::calls("inbox_add", &serde_json::json!({ "text": text }));
        // The first request of each process uses chat completions, for which this model rejects
        // tools.
        let refused = usize::from(style == Style::Current);
        server.script([note("locker 214"), note("key 7"), Act::says("It is kept.")]);
        let house = House::new(&server);
        let said = house.say("remember my locker and my key").await;
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{style:?}");
        assert!(said.out.ends_with("It is kept.\n"), "{style:?}: {}", said.out);
        let said = house.say("thanks").await;
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{style:?}");
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
async fn a_model_without_tools_still_talks_and_the_human_is_told_before_its_words() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let said = House::new(&server).say("hello").await;
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", said.out);
    assert!(lines[0].starts_with(
        "test:3b cannot use tools, so I can talk but not act: no reminders, files or commands."
    ));
    assert!(lines[1].starts_with("you said: ") && lines[1].ends_with("hello"), "{}", said.out);
    assert_eq!(server.requests().len(), 2);
}

/// MC-26, SL-8: a custom server has its own model names, and any of them can be chosen.
#[tokio::test]
async fn any_model_of_the_server_can_be_chosen() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let house = House::new(&server);
    let chosen = house.run(&["model", "Qwen/Qwen3-8B"]).await;
    assert_eq!(
        (chosen.out.as_str(), chosen.code),
        ("From the next answer on, Qwen/Qwen3-8B answers.\n", Some(0))
    );
    assert_eq!(house.say("hello").await.code, Some(0));
    assert_eq!(server.requests()[0].json["model"], "Qwen/Qwen3-8B");
    let foreign = house.run(&["model", "opus"]).await;
    assert_eq!(foreign.code, Some(1));
    assert!(foreign.err.contains("`opus` is a short name for a model of Anthropic."), "{}", foreign.err);
    let unheeded = house.say("/thinking adaptive").await;
    assert!(
        unheeded.err.contains("openai:test:3b has no setting for thinking. Set its effort with `/effort`."),
        "{}",
        unheeded.err
    );
    // A model chosen for another provider is ignored.
    std::fs::write(house.data.path().join("state/config.json"), r#"{"model_main": "opus"}"#).unwrap();
    assert_eq!(house.say("hello").await.code, Some(0));
    assert_eq!(server.requests()[1].json["model"], "test:3b");
}

/// E5: an authentication error names the variable with the key.
#[tokio::test]
async fn a_wrong_key_is_told_with_the_name_of_its_variable() {
    let options = Options { key: Some("sk-right".to_owned()), ..Options::default() };
    let server = ChatServer::start_with(options).await.unwrap();
    let mut house = House::new(&server);
    let said = house.say("hello").await;
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("OPENAI_API_KEY is not set"), "{}", said.err);
    house.key = Some("sk-wrong");
    let said = house.say("hello").await;
    assert!(said.err.contains("refused the key (OPENAI_API_KEY, 401"), "{}", said.err);
    assert!(!said.err.contains("sk-wrong"), "{}", said.err);
    house.key = Some("sk-right");
    assert_eq!(house.say("hello").await.code, Some(0));
}

#[tokio::test]
async fn the_doctor_looks_whether_the_server_is_there() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let mut house = House::new(&server);
    let looked = house.run(&["doctor"]).await;
    let fine = format!("✓ model    test:3b at {} answers", server.url());
    assert!(looked.out.contains(&fine), "{}", looked.out);
    let asked = server.requests();
    assert_eq!(
        (asked.len(), &asked[0].json["max_tokens"], asked[0].json["tools"].as_array().map(Vec::len)),
        (1, &16.into(), Some(1)),
        "it is asked in the shape of a conversation"
    );
    assert!(!looked.out.contains("OLLIM_THINKING"), "{}", looked.out);
    std::fs::write(house.data.path().join("settings.toml"), "[model]\nthinking = \"adaptive\"\n").unwrap();
    let looked = house.run(&["doctor"]).await;
    let unheeded = "! thinking test:3b has no setting for thinking: `adaptive` counts as medium effort. `effort.main` sets \
        the effort directly";
    assert!(looked.out.contains(unheeded), "{}", looked.out);
    server.stop().await;
    let looked = house.run(&["doctor"]).await;
    assert!(looked.out.contains("cannot be reached"), "{}", looked.out);
    house.url = "nowhere".to_owned();
    let looked = house.run(&["doctor"]).await;
    assert!(looked.out.contains("it looks like https://api.openai.com/v1"), "{}", looked.out);
}

#[tokio::test]
async fn without_a_key_and_without_a_server_nobody_is_called() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let mut house = House::new(&server);
    house.url = String::new();
    let said = house.say("hello").await;
    assert_eq!(said.code, Some(78));
    let right =
        "OLLIM_MODEL asks for openai:test:3b, but OPENAI_API_KEY is not set. set it, or OPENAI_BASE_URL";
    assert!(said.err.contains(right), "{}", said.err);
}
