//! The fake server alone, as other clients would see it.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use testkit::chat_server::{ChatServer, Style};
use testkit::play::Act;

async fn post(server: &ChatServer, body: &Value) -> Response {
    wire::provide();
    let client = Client::builder().no_proxy().build().unwrap();
    client.post(format!("{}/chat/completions", server.url())).json(body).send().await.unwrap()
}

fn request(words: &str) -> Value {
    json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}],
        "messages": [{"role": "user", "content": words}],
    })
}

#[tokio::test]
async fn without_a_script_it_says_what_it_heard_and_calls_what_it_is_told_to() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let said: Value = post(&server, &request("hello")).await.json().await.unwrap();
    let choice = &said["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("you said: hello"), &json!("stop"))
    );
    let order = request("[now] call note {\"text\": \"x\"}");
    let said: Value = post(&server, &order).await.json().await.unwrap();
    let choice = &said["choices"][0];
    let function = json!({"name": "note", "arguments": "{\"text\":\"x\"}"});
    let call = json!({"id": "call_000002_0", "type": "function", "function": function});
    assert_eq!(
        (&choice["message"]["tool_calls"], &choice["finish_reason"]),
        (&json!([call]), &json!("tool_calls"))
    );
}

#[tokio::test]
async fn a_closure_answers_what_the_script_does_not() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([Act::says("first")]);
    server.answering(|request| {
        Act::says(&format!("{} messages", request["messages"].as_array().unwrap().len()))
    });
    for expected in ["first", "1 messages"] {
        let said: Value = post(&server, &request("hello")).await.json().await.unwrap();
        assert_eq!(said["choices"][0]["message"]["content"], expected);
    }
}

#[tokio::test]
async fn a_stream_is_chunks_then_a_count_if_it_was_asked_for_then_the_end() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let mut request = request("hi");
    request["stream"] = json!(true);
    for (counted, expected) in [(false, 5), (true, 6)] {
        request["stream_options"] = json!({ "include_usage": counted });
        let text = post(&server, &request).await.text().await.unwrap();
        let data: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        assert_eq!((data.len(), data.last()), (expected, Some(&"[DONE]")));
        let last: Value = data[data.len() - 2].parse().unwrap();
        assert_eq!((last["choices"] == json!([]), last["usage"].is_object()), (counted, counted));
    }
}

#[tokio::test]
async fn a_wrong_request_is_refused_in_the_words_of_its_server() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let refused = post(&server, &request("hi")).await;
    assert_eq!(refused.status(), 400);
    let body: Value = refused.json().await.unwrap();
    let error =
        json!({"message": "m does not support tools", "type": "api_error", "param": null, "code": null});
    assert_eq!(body, json!({ "error": error }));
}
