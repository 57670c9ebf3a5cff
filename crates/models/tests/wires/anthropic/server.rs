//! The fake server alone, as other clients would see it.

use reqwest::{Client, Response};
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, ScriptedReply};

async fn post(server: &ModelServer, path: &str, body: &Value) -> Response {
    wire::install_crypto_provider();
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}{path}", server.url())).header("anthropic-version", "2023-06-01");
    request.json(body).send().await.unwrap()
}

fn request(words: &str) -> Value {
    json!({
        "model": "m", "max_tokens": 9,
        "tools": [{"name": "note", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": words}],
    })
}

#[tokio::test]
async fn server_without_a_script_echoes_text_and_calls_requested_tools() {
    let server = ModelServer::start().await.unwrap();
    let said: Value = post(&server, "/v1/messages", &request("hello")).await.json().await.unwrap();
    assert_eq!(said["content"], json!([{"type": "text", "text": "you said: hello"}]));
    assert_eq!(said["stop_reason"], "end_turn");
    let order = request("[now] call note {\"text\": \"x\"}");
    let said: Value = post(&server, "/v1/messages", &order).await.json().await.unwrap();
    let call = json!({"type": "tool_use", "id": "toolu_000002_0", "name": "note", "input": {"text": "x"}});
    assert_eq!((&said["content"][0], &said["stop_reason"]), (&call, &json!("tool_use")));
}

#[tokio::test]
async fn closure_answers_requests_after_the_script() {
    let server = ModelServer::start().await.unwrap();
    server.script([ScriptedReply::text("first")]);
    server.answering(|request| {
        ScriptedReply::text(&format!("{} messages", request["messages"].as_array().unwrap().len()))
    });
    for expected in ["first", "1 messages"] {
        let said: Value = post(&server, "/v1/messages", &request("hello")).await.json().await.unwrap();
        assert_eq!(said["content"][0]["text"], expected);
    }
}

#[tokio::test]
async fn stream_has_events_with_names_and_data() {
    let server = ModelServer::start().await.unwrap();
    let mut request = request("hi");
    request["stream"] = json!(true);
    let response = post(&server, "/v1/messages", &request).await;
    assert_eq!(response.headers()["request-id"], "req_000001");
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let text = response.text().await.unwrap();
    let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let delta = "content_block_delta";
    let expected = ["message_start", "content_block_start", "ping", delta, delta, "content_block_stop"];
    assert_eq!(names[..6], expected);
    assert_eq!(names[6..], ["message_delta", "message_stop"]);
}

#[tokio::test]
async fn tokens_can_be_counted_without_a_reply() {
    let server = ModelServer::start().await.unwrap();
    let mut request = request("hello");
    request.as_object_mut().unwrap().remove("max_tokens");
    let counted: Value = post(&server, "/v1/messages/count_tokens", &request).await.json().await.unwrap();
    assert_eq!(counted, json!({"input_tokens": 20}));
    assert!(server.requests().is_empty() && server.usage().is_empty());
    let refused = post(&server, "/v1/messages", &request).await;
    assert_eq!(refused.status(), 400);
    let body: Value = refused.json().await.unwrap();
    assert_eq!(
        body["error"],
        json!({"type": "invalid_request_error", "message": "max_tokens: Field required"})
    );
}
