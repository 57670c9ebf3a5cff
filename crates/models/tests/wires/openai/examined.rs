//! The connection test of `doctor` and `setup`.

use engine::ports::Model;
use models::openai::{Key, OpenAi, Settings};
use testkit::chat_server::{ChatServer, Style};
use testkit::play::{Act, Fault};

use super::stage::{ask, context, human, settings};

/// The model name that a fake server lists.
const LISTED: &str = "played";

fn called(name: &str, url: &str) -> OpenAi {
    OpenAi::new(Settings { model: name.to_owned(), ..settings(url) }).unwrap()
}

async fn told(model: &OpenAi) -> String {
    model.examine().await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_model_that_is_listed_is_asked_with_one_tool() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let model = called(LISTED, &server.url());
    assert_eq!(model.name(), "openai:played");
    assert_eq!(model.examine().await, Ok(()));
    let sent = &server.requests()[0].json;
    assert_eq!((&sent["max_tokens"], sent["tools"].as_array().unwrap().len()), (&16.into(), 1));
    let refusal = "Invalid schema for function 'note': this is not allowed.";
    server.script([Act::refuses(400, "invalid_request_error", refusal)]);
    let told = told(&model).await;
    assert!(told.contains(refusal), "the vendor's sentence is reported: {told}");
}

/// llama.cpp accepts every name, and a router accepts names that it does not list.
#[tokio::test]
async fn a_model_that_is_not_listed_is_there_if_it_says_a_word() {
    for style in Style::ALL {
        let server = ChatServer::start(style).await.unwrap();
        assert_eq!(called("local", &server.url()).examine().await, Ok(()), "{style:?}");
        let corrections = if [Style::NoTools, Style::Current].contains(&style) { 1 } else { 0 };
        let asked = server.requests();
        assert_eq!((asked.len(), &asked[0].json["max_tokens"]), (1 + corrections, &16.into()), "{style:?}");
    }
}

#[tokio::test]
async fn a_model_that_the_server_does_not_have_is_told_with_some_that_it_has() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([Act::refuses(404, "model_not_found", "The model `qwen9` does not exist")]);
    let told = told(&called("qwen9", &server.url())).await;
    assert!(told.contains("it has played, and no `qwen9`: 404: The model"), "{told}");
}

#[tokio::test]
async fn a_web_server_that_is_no_model_is_not_taken_for_one() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let elsewhere = called(LISTED, &server.url().replace("/v1", "/v2"));
    let told_there = told(&elsewhere).await;
    assert!(told_there.contains("check OPENAI_BASE_URL; it usually ends in /v1"), "{told_there}");
    server.script([Act::says("hi").with(Fault::Html)]);
    let told_here = told(&called("x", &server.url())).await;
    assert!(told_here.contains("it is not a stream of events"), "{told_here}");
}

/// J1: a key is never sent over a connection that others could read. Servers without a key, and
/// local ones, may be called.
#[tokio::test]
async fn a_key_is_not_sent_where_others_could_read_it() {
    let far = settings("http://192.168.1.5:11434");
    let readable =
        "over http everybody on the way to 192.168.1.5:11434 could read the key, so it is not sent";
    let model = OpenAi::new(far.clone()).unwrap();
    let failures = [model.examine().await, ask(&model, &context(vec![human("hi")])).await.1.map(drop)];
    for failure in failures {
        let told = failure.unwrap_err().to_string();
        assert!(told.contains(readable) && told.contains("127.0.0.1:8099"), "{told}");
    }
    assert!(model.guarded().is_err());
    assert!(OpenAi::new(Settings { key: Key::default(), ..far.clone() }).unwrap().guarded().is_ok());
    for safe in ["https://192.168.1.5", "http://127.0.0.1:1", "http://localhost:1"] {
        assert!(OpenAi::new(settings(safe)).unwrap().guarded().is_ok(), "{safe}");
    }
}
