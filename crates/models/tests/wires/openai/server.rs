//! The fake server alone, as other clients would see it.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::ScriptedReply;

async fn post(server: &ChatServer, body: &Value) -> Response {
    wire::install_crypto_provider();
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
async fn server_without_a_script_echoes_text_and_calls_requested_tools() {
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
async fn closure_answers_requests_after_the_script() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([ScriptedReply::text("first")]);
    server.answering(|request| {
        ScriptedReply::text(&format!("{} messages", request["messages"].as_array().unwrap().len()))
    });
    for expected in ["first", "1 messages"] {
        let said: Value = post(&server, &request("hello")).await.json().await.unwrap();
        assert_eq!(said["choices"][0]["message"]["content"], expected);
    }
}

#[tokio::test]
async fn stream_has_chunks_requested_usage_and_an_end() {
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
async fn invalid_request_is_refused_with_the_servers_text() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let refused = post(&server, &request("hi")).await;
    assert_eq!(refused.status(), 400);
    let body: Value = refused.json().await.unwrap();
    let error =
        json!({"message": "m does not support tools", "type": "api_error", "param": null, "code": null});
    assert_eq!(body, json!({ "error": error }));
}
