//! Failures that are specific to this API, and stop reasons without an answer.

use domain::failure::{DeclineReason, Failure};
use domain::turn::StopReason;
use expect_test::expect;
use models::anthropic::{Anthropic, ApiKey};
use serde_json::json;
use testkit::model_server::{ModelServer, Options, ReplyFault, ReplyPiece, ScriptedReply};

use super::support::{KEY, call_model, context, model, reply_to, settings, user};
use crate::failures::{bad_call, refused};

async fn failure_text(act: ScriptedReply) -> String {
    format!("{:?}", reply_to(act).await.1.unwrap_err())
}

/// E1, E3, E5: each refusal becomes its own kind of failure, with a retry time where there is one.
#[tokio::test]
async fn every_refusal_maps_to_its_failure() {
    let cases = [
        ("429 about money", ScriptedReply::spend_limited()),
        ("429 with the code alone", ScriptedReply::spend_limited_with("Too many requests this month.")),
        (
            "429 without the code",
            ScriptedReply::refusal(429, "rate_limit_error", "Too many requests this minute."),
        ),
        ("400 about money", refused(400, None, "Your credit balance is too low.")),
        ("too long", refused(400, None, "prompt is too long: 213000 tokens > 200000 maximum")),
        ("529", ScriptedReply::overloaded()),
        ("400 overloaded", ScriptedReply::refusal(400, "overloaded_error", "later")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", failure_text(act).await);
    }
    expect![[r#"
        429 about money: SpendLimit(Account("429: You have reached your specified workspace spend limit."))
        429 with the code alone: SpendLimit(Account("429: Too many requests this month."))
        429 without the code: Overloaded(None)
        400 about money: SpendLimit(Account("400: Your credit balance is too low."))
        too long: ContextFull("400: prompt is too long: 213000 tokens > 200000 maximum")
        529: Overloaded(None)
        400 overloaded: Overloaded(None)
    "#]]
    .assert_eq(&told);
}

/// E2, E3: errors after the stream has started.
#[tokio::test]
async fn every_stream_error_maps_to_its_failure() {
    let words = || ScriptedReply::text("one two three four five six");
    let error = |at, kind: &str| words().with_fault(ReplyFault::Error(at, kind.to_owned()));
    let cases = [
        ("overloaded", error(0, "overloaded_error")),
        ("overloaded after words", error(4, "overloaded_error")),
        ("broken after words", error(4, "api_error")),
        ("an unknown error", error(4, "new_error")),
        ("too large", error(0, "request_too_large")),
        (
            "a block that is none",
            ScriptedReply::empty().with_piece(ReplyPiece::Raw(json!({"type": "tool_use"}))),
        ),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", failure_text(act).await);
    }
    expect![[r#"
        overloaded: Overloaded(None)
        overloaded after words: Overloaded(None)
        broken after words: VendorError("it broke on our side")
        an unknown error: VendorError("it broke on our side")
        too large: ContextFull("it broke on our side")
        a block that is none: InvalidResponse("an event that is not in its language")
    "#]]
    .assert_eq(&told);
}

/// E3: stop reasons without an answer are distinguished.
#[tokio::test]
async fn stop_reasons_without_an_answer_are_distinguished() {
    let cases = [
        ("refusal", ScriptedReply::text("no").with_stop_reason("refusal")),
        ("no room", ScriptedReply::text("so").with_stop_reason("max_tokens")),
        (
            "no room in a call",
            ScriptedReply::text("so").with_piece(bad_call(r#"{"te"#)).with_stop_reason("max_tokens"),
        ),
        ("no more context", ScriptedReply::text("so").with_stop_reason("model_context_window_exceeded")),
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
        no room: Length [Text("so")]
        no room in a call: Length [Text("so")]
        no more context: Length [Text("so")]
        nothing: Finished []
        a word that is none: Finished []
    "#]]
    .assert_eq(&told);
}

/// The vendor's category gives the reason of a refusal. An unknown category counts as unstated.
#[tokio::test]
async fn refusal_has_its_category() {
    let cases = [
        (Some("cyber"), DeclineReason::Cyber),
        (Some("bio"), DeclineReason::Biology),
        (Some("frontier_llm"), DeclineReason::AiDevelopment),
        (Some("reasoning_extraction"), DeclineReason::ReasoningExtraction),
        (Some("general_harms"), DeclineReason::GeneralHarms),
        (Some("new_category"), DeclineReason::Unstated),
        (None, DeclineReason::Unstated),
    ];
    for (category, expected) in cases {
        let reply = reply_to(ScriptedReply::text("I").with_model_refusal(category)).await.1.unwrap();
        assert_eq!(reply.stop_reason, StopReason::Refusal(expected), "{category:?}");
    }
}

/// A permission that the key lacks for a model concerns the model, not the key.
#[tokio::test]
async fn model_without_access_is_named_with_advice() {
    let refused = "Your API key does not have access to the model claude-test-1.";
    let failure = reply_to(ScriptedReply::refusal(403, "permission_error", refused)).await.1.unwrap_err();
    let Failure::NoSuchModel { model, reason, advice } = &failure else { panic!("{failure:?}") };
    assert_eq!((model.as_str(), reason.as_str()), ("claude-test-1", refused));
    assert!(advice.contains("has no access to it") && advice.contains("`/model haiku`"), "{advice}");
}

#[tokio::test]
async fn version_is_sent_and_wrong_key_is_refused_with_the_vendors_text() {
    let options = Options { key: Some(KEY.to_owned()), ..Options::default() };
    let server = ModelServer::start_with(options).await.unwrap();
    let context = context(vec![user("hi")]);
    assert!(call_model(&model(&server.url()), &context).await.1.is_ok());
    let mut other = settings(&server.url());
    other.key = ApiKey::new("sk-other");
    let told = call_model(&Anthropic::new(other).unwrap(), &context).await.1.unwrap_err();
    assert_eq!(told, Failure::BadKey("ANTHROPIC_API_KEY, 401: invalid x-api-key".to_owned()));
    assert_eq!(server.requests()[0].version.as_deref(), Some("2023-06-01"));
}

/// A sink that records only the usage.
#[derive(Default)]
struct UsageSink(std::sync::Mutex<domain::conversation::Usage>);

impl engine::ports::StreamSink for UsageSink {
    fn text(&self, _: &str) {}

    fn usage(&self, usage: domain::conversation::Usage) {
        *self.0.lock().unwrap() = usage;
    }
}

/// E2: the input of a reply that breaks off is billed, so its usage is reported early.
#[tokio::test]
async fn interrupted_reply_reports_its_usage() {
    use engine::ports::Model as _;
    let server = ModelServer::start().await.unwrap();
    server.script([ScriptedReply::text("half an answer").with_fault(ReplyFault::Cut(3))]);
    let counting = UsageSink::default();
    let reply = super::support::model(&server.url()).reply(&context(vec![user("hi")]), &counting).await;
    assert!(reply.is_err());
    let told = *counting.0.lock().unwrap();
    assert!(told.total_input() > 0 && told.total_input() == server.usage()[0].total_input(), "{told:?}");
}

/// MC-26: the model that a context names answers, and is reported.
#[tokio::test]
async fn context_may_name_another_model() {
    use engine::ports::Model as _;
    let server = ModelServer::start().await.unwrap();
    let model = super::support::model(&server.url());
    let asked =
        domain::context::Context { model: Some("claude-test-2".to_owned()), ..context(vec![user("hi")]) };
    super::support::call_model(&model, &asked).await.1.unwrap();
    assert_eq!(server.requests()[0].json["model"], "claude-test-2");
    assert_eq!(model.name_for(&asked), "anthropic:claude-test-2");
    assert_eq!(model.name_for(&context(Vec::new())), "anthropic:claude-test-1");
}
