//! Failures that are specific to chat completions, and stop reasons without an answer.

use domain::failure::Failure;
use expect_test::expect;
use models::openai::{ApiKey, OpenAi};
use serde_json::json;
use testkit::chat_server::{ChatServer, Options};
use testkit::scripted_replies::{ReplyFault, ReplyPiece, ScriptedReply};

use super::support::{KEY, call_model, context, model, reply_to, settings, user};
use crate::failures::{bad_call, refused};

async fn failure_text(act: ScriptedReply) -> String {
    format!("{:?}", reply_to(act).await.1.unwrap_err())
}

/// E1, E3, E5: each refusal becomes its own kind of failure, with a retry time where there is one.
#[tokio::test]
async fn every_refusal_maps_to_its_failure() {
    let quota = "You exceeded your current quota, please check your plan and billing details.";
    let cases = [
        ("429 about money", ScriptedReply::refusal(429, "insufficient_quota", quota)),
        ("too long", ScriptedReply::refusal(400, "context_length_exceeded", "shorten the messages")),
        ("too long for vLLM", refused(400, None, "This model's maximum context length is 8192 tokens.")),
        (
            "too long for llama.cpp",
            ScriptedReply::refusal(400, "exceed_context_size_error", "too many tokens"),
        ),
        ("404", ScriptedReply::refusal(404, "model_not_found", "The model `test-1` does not exist")),
        ("404 of Ollama", refused(404, None, "model \"test-1\" not found, try pulling it first")),
        ("404 of a page", refused(404, None, "Not Found")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", failure_text(act).await);
    }
    expect![[r#"
        429 about money: SpendLimit(Account("429: You exceeded your current quota, please check your plan and billing details."))
        too long: ContextFull("400: shorten the messages")
        too long for vLLM: ContextFull("400: This model's maximum context length is 8192 tokens.")
        too long for llama.cpp: ContextFull("400: too many tokens")
        404: Rejected("404: The model `test-1` does not exist. `test-1` in OLLIM_MODEL must be a model that this server has")
        404 of Ollama: Rejected("404: model \"test-1\" not found, try pulling it first. `ollama pull test-1` fetches it")
        404 of a page: Rejected("404: Not Found. check OPENAI_BASE_URL; it usually ends in /v1")
    "#]].assert_eq(&told);
}

/// E2, E3: errors after the stream has started.
#[tokio::test]
async fn every_stream_error_maps_to_its_failure() {
    let words = || ScriptedReply::text("one two three four five six");
    let error = |at, kind: &str| words().with_fault(ReplyFault::Error(at, kind.to_owned()));
    let cases = [
        ("too many", error(0, "rate_limit_error")),
        ("no money after words", error(3, "insufficient_quota")),
        ("a bad key", error(0, "authentication_error")),
        ("a bad request", error(0, "invalid_request_error")),
        ("broken after words", error(3, "server_error")),
        ("an unknown error", error(3, "new_error")),
        ("stopped with an error", words().with_stop_reason("error")),
        ("a call without a name", raw_delta(json!({"tool_calls": [{"index": 0, "id": "a"}]}))),
        ("a call that is none", raw_delta(json!({"tool_calls": [1]}))),
        ("an error in words", with_chunk_fields(json!({"error": "out of memory"}))),
        (
            "an error that is flat",
            with_chunk_fields(json!({"object": "error", "message": "no", "code": 400})),
        ),
        ("forbidden words", with_chunk_fields(json!({"error": {"message": "flagged", "code": 403}}))),
        ("a forbidden key", with_chunk_fields(json!({"error": {"message": "no permission", "code": 403}}))),
        ("too large", with_chunk_fields(json!({"error": {"message": "too large", "code": 413}}))),
        ("an error with a number", with_chunk_fields(json!({"error": {"message": "later", "code": 429}}))),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", failure_text(act).await);
    }
    expect![[r#"
        too many: Overloaded(None)
        no money after words: SpendLimit(Account("it broke on our side"))
        a bad key: BadKey("OPENAI_API_KEY, it broke on our side")
        a bad request: Rejected("it broke on our side")
        broken after words: VendorError("it broke on our side")
        an unknown error: VendorError("it broke on our side")
        stopped with an error: VendorError("it stopped with an error")
        a call without a name: InvalidResponse("a tool call without the name of a tool")
        a call that is none: InvalidResponse("an event that is not in its language")
        an error in words: VendorError("out of memory")
        an error that is flat: Rejected("no")
        forbidden words: Rejected("flagged")
        a forbidden key: BadKey("OPENAI_API_KEY, no permission")
        too large: ContextFull("too large")
        an error with a number: Overloaded(None)
    "#]]
    .assert_eq(&told);
}

/// E3: stop reasons without an answer are distinguished.
#[tokio::test]
async fn stop_reasons_without_an_answer_are_distinguished() {
    let cases = [
        ("refusal", ScriptedReply::text("no").with_stop_reason("content_filter")),
        ("refusal in words", raw_delta(json!({"refusal": "I can't."}))),
        ("no room", ScriptedReply::text("so").with_stop_reason("length")),
        (
            "no room in a call",
            ScriptedReply::text("so").with_piece(bad_call(r#"{"te"#)).with_stop_reason("length"),
        ),
        ("no reason", ScriptedReply::text("so").with_stop_reason("null")),
        ("a new reason", ScriptedReply::text("so").with_stop_reason("eos")),
        ("nothing", ScriptedReply::empty()),
        ("a word that is none", ScriptedReply::text("")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        let reply = reply_to(act).await.1.unwrap();
        told += &format!("{name}: {:?} {:?}\n", reply.stop_reason, reply.blocks);
    }
    expect![[r#"
        refusal: Refusal(Unstated) [Text("no")]
        refusal in words: Refusal(Unstated) [Text("I can't.")]
        no room: Length [Text("so")]
        no room in a call: Length [Text("so")]
        no reason: Finished [Text("so")]
        a new reason: Finished [Text("so")]
        nothing: Finished []
        a word that is none: Finished []
    "#]]
    .assert_eq(&told);
}

fn raw_delta(delta: serde_json::Value) -> ScriptedReply {
    ScriptedReply::empty().with_piece(ReplyPiece::Raw(delta))
}

/// Adds `fields` to the first chunk, beside its own fields.
fn with_chunk_fields(fields: serde_json::Value) -> ScriptedReply {
    ScriptedReply::empty().with_fault(ReplyFault::Event(0, fields))
}

#[tokio::test]
async fn key_is_sent_if_set_and_requested_if_missing() {
    let options = Options { key: Some(KEY.to_owned()), ..Options::default() };
    let server = ChatServer::start_with(options).await.unwrap();
    let context = context(vec![user("hi")]);
    assert!(call_model(&model(&server.url()), &context).await.1.is_ok());
    let told = async |key: ApiKey| {
        let settings = models::openai::Settings { key, ..settings(&server.url()) };
        call_model(&OpenAi::new(settings).unwrap(), &context).await.1.unwrap_err()
    };
    let wrong = told(ApiKey::new("sk-other")).await;
    assert_eq!(wrong, Failure::BadKey("OPENAI_API_KEY, 401: Incorrect API key provided.".to_owned()));
    let none = told(ApiKey::default()).await.to_string();
    assert!(none.contains("OPENAI_API_KEY is not set, 401: You didn't provide an API key."), "{none}");
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.authorization).collect();
    assert_eq!(sent[0], Some(format!("Bearer {KEY}")));
    assert_eq!(sent.last(), Some(&None));
}
