//! Failures that are specific to this API, and stop reasons without an answer.

use domain::failure::{Declined, Failure};
use domain::turn::Stop;
use expect_test::expect;
use models::anthropic::{Anthropic, Key};
use serde_json::json;
use testkit::model_server::{Act, Fault, ModelServer, Options, Piece};

use super::stage::{KEY, ask, context, human, model, play, settings};
use crate::failures::{bad_call, refused};

async fn fails(act: Act) -> String {
    format!("{:?}", play(act).await.1.unwrap_err())
}

/// E1, E3, E5: each refusal becomes its own kind of failure, with a retry time where there is one.
#[tokio::test]
async fn every_refusal_of_this_vendor_is_a_failure_of_its_kind() {
    let cases = [
        ("429 about money", Act::spend_limited()),
        ("429 with the code alone", Act::spend_limited_saying("Too many requests this month.")),
        ("429 without the code", Act::refuses(429, "rate_limit_error", "Too many requests this minute.")),
        ("400 about money", refused(400, None, "Your credit balance is too low.")),
        ("too long", refused(400, None, "prompt is too long: 213000 tokens > 200000 maximum")),
        ("529", Act::overloaded()),
        ("400 overloaded", Act::refuses(400, "overloaded_error", "later")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", fails(act).await);
    }
    expect![[r#"
        429 about money: SpendLimit(Account("429: You have reached your specified workspace spend limit."))
        429 with the code alone: SpendLimit(Account("429: Too many requests this month."))
        429 without the code: Busy(None)
        400 about money: SpendLimit(Account("400: Your credit balance is too low."))
        too long: Full("400: prompt is too long: 213000 tokens > 200000 maximum")
        529: Busy(None)
        400 overloaded: Busy(None)
    "#]]
    .assert_eq(&told);
}

/// E2, E3: errors after the stream has started.
#[tokio::test]
async fn every_stream_of_this_vendor_that_breaks_is_a_failure_of_its_kind() {
    let words = || Act::says("one two three four five six");
    let error = |at, kind: &str| words().with(Fault::Error(at, kind.to_owned()));
    let cases = [
        ("overloaded", error(0, "overloaded_error")),
        ("overloaded after words", error(4, "overloaded_error")),
        ("broken after words", error(4, "api_error")),
        ("an unknown error", error(4, "new_error")),
        ("too large", error(0, "request_too_large")),
        ("a block that is none", Act::empty().and(Piece::Raw(json!({"type": "tool_use"})))),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", fails(act).await);
    }
    expect![[r#"
        overloaded: Busy(None)
        overloaded after words: Busy(None)
        broken after words: Broken("it broke on our side")
        an unknown error: Broken("it broke on our side")
        too large: Full("it broke on our side")
        a block that is none: Garbled("an event that is not in its language")
    "#]]
    .assert_eq(&told);
}

/// E3: stop reasons without an answer are distinguished.
#[tokio::test]
async fn an_ending_that_is_no_answer_says_which_one() {
    let cases = [
        ("refusal", Act::says("no").stopping("refusal")),
        ("no room", Act::says("so").stopping("max_tokens")),
        ("no room in a call", Act::says("so").and(bad_call(r#"{"te"#)).stopping("max_tokens")),
        ("no more context", Act::says("so").stopping("model_context_window_exceeded")),
        ("nothing", Act::empty()),
        ("a word that is none", Act::says("")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        let reply = play(act).await.1.unwrap();
        told += &format!("{name}: {:?} {:?}\n", reply.stop, reply.blocks);
    }
    expect![[r#"
        refusal: Refusal(Unstated) [Text("no")]
        no room: Length [Text("so")]
        no room in a call: Length [Text("so")]
        no more context: Length [Text("so")]
        nothing: Said []
        a word that is none: Said []
    "#]]
    .assert_eq(&told);
}

/// The vendor's category gives the reason of a refusal. An unknown category counts as unstated.
#[tokio::test]
async fn a_refusal_comes_with_its_category() {
    let cases = [
        (Some("cyber"), Declined::Cyber),
        (Some("bio"), Declined::Biology),
        (Some("frontier_llm"), Declined::AiDevelopment),
        (Some("reasoning_extraction"), Declined::ReasoningExtraction),
        (Some("general_harms"), Declined::GeneralHarms),
        (Some("new_category"), Declined::Unstated),
        (None, Declined::Unstated),
    ];
    for (category, expected) in cases {
        let reply = play(Act::says("I").declining(category)).await.1.unwrap();
        assert_eq!(reply.stop, Stop::Refusal(expected), "{category:?}");
    }
}

/// A permission that the key lacks for a model concerns the model, not the key.
#[tokio::test]
async fn a_model_that_the_key_may_not_use_is_named_with_the_way_out() {
    let refused = "Your API key does not have access to the model claude-test-1.";
    let failure = play(Act::refuses(403, "permission_error", refused)).await.1.unwrap_err();
    let Failure::NoSuchModel { model, reason, advice } = &failure else { panic!("{failure:?}") };
    assert_eq!((model.as_str(), reason.as_str()), ("claude-test-1", refused));
    assert!(advice.contains("has no access to it") && advice.contains("`/model haiku`"), "{advice}");
}

#[tokio::test]
async fn the_version_is_told_and_a_wrong_key_refused_in_the_words_of_the_vendor() {
    let options = Options { key: Some(KEY.to_owned()), ..Options::default() };
    let server = ModelServer::start_with(options).await.unwrap();
    let context = context(vec![human("hi")]);
    assert!(ask(&model(&server.url()), &context).await.1.is_ok());
    let mut other = settings(&server.url());
    other.key = Key::new("sk-other");
    let told = ask(&Anthropic::new(other).unwrap(), &context).await.1.unwrap_err();
    assert_eq!(told, Failure::BadKey("ANTHROPIC_API_KEY, 401: invalid x-api-key".to_owned()));
    assert_eq!(server.requests()[0].version.as_deref(), Some("2023-06-01"));
}

/// A sink that records only the usage.
#[derive(Default)]
struct Counting(std::sync::Mutex<domain::conversation::Usage>);

impl engine::ports::Hearing for Counting {
    fn words(&self, _: &str) {}

    fn used(&self, usage: domain::conversation::Usage) {
        *self.0.lock().unwrap() = usage;
    }
}

/// E2: the input of a reply that breaks off is billed, so its usage is reported early.
#[tokio::test]
async fn a_reply_that_breaks_off_has_told_what_it_used() {
    use engine::ports::Model as _;
    let server = ModelServer::start().await.unwrap();
    server.script([Act::says("half an answer").with(Fault::Cut(3))]);
    let counting = Counting::default();
    let reply = super::stage::model(&server.url()).reply(&context(vec![human("hi")]), &counting).await;
    assert!(reply.is_err());
    let told = *counting.0.lock().unwrap();
    assert!(told.read() > 0 && told.read() == server.usage()[0].read(), "{told:?}");
}

/// MC-26: the model that a context names answers, and is reported.
#[tokio::test]
async fn a_context_may_ask_for_another_model() {
    use engine::ports::Model as _;
    let server = ModelServer::start().await.unwrap();
    let model = super::stage::model(&server.url());
    let asked =
        domain::context::Context { model: Some("claude-test-2".to_owned()), ..context(vec![human("hi")]) };
    super::stage::ask(&model, &asked).await.1.unwrap();
    assert_eq!(server.requests()[0].json["model"], "claude-test-2");
    assert_eq!(model.name_for(&asked), "anthropic:claude-test-2");
    assert_eq!(model.name_for(&context(Vec::new())), "anthropic:claude-test-1");
}
