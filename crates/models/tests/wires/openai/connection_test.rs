//! The connection test of `doctor` and `setup`.

use engine::ports::Model;
use models::openai::{ApiKey, OpenAi, Settings};
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::{ReplyFault, ScriptedReply};

use super::support::{call_model, context, settings, user};

/// The model name that a fake server lists.
const LISTED_MODEL: &str = "played";

fn client_for_model(name: &str, url: &str) -> OpenAi {
    OpenAi::new(Settings { model: name.to_owned(), ..settings(url) }).unwrap()
}

async fn failure_text(model: &OpenAi) -> String {
    model.test_connection().await.unwrap_err().to_string()
}

#[tokio::test]
async fn listed_model_is_tested_with_one_tool() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let model = client_for_model(LISTED_MODEL, &server.url());
    assert_eq!(model.name(), "openai:played");
    assert_eq!(model.test_connection().await, Ok(()));
    let sent = &server.requests()[0].json;
    assert_eq!((&sent["max_tokens"], sent["tools"].as_array().unwrap().len()), (&16.into(), 1));
    let refusal = "Invalid schema for function 'note': this is not allowed.";
    server.script([ScriptedReply::refusal(400, "invalid_request_error", refusal)]);
    let told = failure_text(&model).await;
    assert!(told.contains(refusal), "the vendor's sentence is reported: {told}");
}

/// llama.cpp accepts every name, and a router accepts names that it does not list.
#[tokio::test]
async fn unlisted_model_passes_if_it_answers() {
    for style in Style::ALL {
        let server = ChatServer::start(style).await.unwrap();
        assert_eq!(client_for_model("local", &server.url()).test_connection().await, Ok(()), "{style:?}");
        let corrections = if [Style::NoTools, Style::OpenAiCurrent].contains(&style) { 1 } else { 0 };
        let asked = server.requests();
        assert_eq!((asked.len(), &asked[0].json["max_tokens"]), (1 + corrections, &16.into()), "{style:?}");
    }
}

#[tokio::test]
async fn missing_model_is_reported_with_alternatives() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([ScriptedReply::refusal(404, "model_not_found", "The model `qwen9` does not exist")]);
    let told = failure_text(&client_for_model("qwen9", &server.url())).await;
    assert!(told.contains("it has played, and no `qwen9`: 404: The model"), "{told}");
}

#[tokio::test]
async fn web_server_without_a_model_fails() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let elsewhere = client_for_model(LISTED_MODEL, &server.url().replace("/v1", "/v2"));
    let told_there = failure_text(&elsewhere).await;
    assert!(told_there.contains("check OPENAI_BASE_URL; it usually ends in /v1"), "{told_there}");
    server.script([ScriptedReply::text("hi").with_fault(ReplyFault::Html)]);
    let told_here = failure_text(&client_for_model("x", &server.url())).await;
    assert!(told_here.contains("it is not a stream of events"), "{told_here}");
}

/// J1: a key is never sent over a connection that others could read. Servers without a key, and
/// local ones, may be called.
#[tokio::test]
async fn key_is_not_sent_over_unencrypted_connections() {
    let far = settings("http://192.168.1.5:11434");
    let readable =
        "over http everybody on the way to 192.168.1.5:11434 could read the key, so it is not sent";
    let model = OpenAi::new(far.clone()).unwrap();
    let failures =
        [model.test_connection().await, call_model(&model, &context(vec![user("hi")])).await.1.map(drop)];
    for failure in failures {
        let told = failure.unwrap_err().to_string();
        assert!(told.contains(readable) && told.contains("127.0.0.1:8099"), "{told}");
    }
    assert!(model.require_safe_transport().is_err());
    assert!(
        OpenAi::new(Settings { key: ApiKey::default(), ..far.clone() })
            .unwrap()
            .require_safe_transport()
            .is_ok()
    );
    for safe in ["https://192.168.1.5", "http://127.0.0.1:1", "http://localhost:1"] {
        assert!(OpenAi::new(settings(safe)).unwrap().require_safe_transport().is_ok(), "{safe}");
    }
}
