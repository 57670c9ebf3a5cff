//! Everything that can go wrong is a failure of its own kind, with words for the human.

use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use engine::ports::Model;
use expect_test::expect;
use models::anthropic::{Anthropic, Key};
use serde_json::json;
use testkit::model_server::{Act, Fault, Gate, ModelServer, Options, Piece, Refused};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::stage::{KEY, ask, context, human, model, play, settings};

async fn fails(act: Act) -> String {
    format!("{:?}", play(act).await.1.unwrap_err())
}

fn refused(status: u16, retry_after: Option<&str>, message: &str) -> Act {
    Act::empty().with(Fault::Refuse(Refused {
        status,
        kind: "some_error".to_owned(),
        message: message.to_owned(),
        retry_after: retry_after.map(str::to_owned),
    }))
}

/// E1, E3, E5: who must act, and when to come back, is told apart.
#[tokio::test]
async fn every_refusal_is_a_failure_of_its_kind() {
    let cases = [
        ("401", refused(401, None, "invalid x-api-key")),
        ("403", refused(403, None, "not allowed")),
        ("429 with a time", Act::rate_limited(30)),
        ("429 with a date", refused(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), "spend less")),
        ("429 about money", Act::spend_limited()),
        ("429 about nothing", refused(429, None, "slow down")),
        ("400 about money", refused(400, None, "Your credit balance is too low.")),
        ("402", refused(402, None, "pay")),
        ("529", Act::overloaded()),
        ("503", refused(503, Some("7"), "later")),
        ("400 overloaded", Act::refuses(400, "overloaded_error", "later")),
        ("500", Act::broken()),
        ("504", refused(504, None, "too slow")),
        ("400", Act::refuses(400, "invalid_request_error", "max_tokens: too many\u{7}\r\n")),
        ("413", refused(413, None, "too large")),
        ("307", refused(307, None, "over there")),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", fails(act).await);
    }
    expect![[r#"
        401: BadKey("ANTHROPIC_API_KEY, 401: invalid x-api-key")
        403: BadKey("ANTHROPIC_API_KEY, 403: not allowed")
        429 with a time: Busy(Some(30))
        429 with a date: Busy(None)
        429 about money: SpendLimit(Account("429: You have reached your specified workspace spend limit."))
        429 about nothing: Busy(None)
        400 about money: SpendLimit(Account("400: Your credit balance is too low."))
        402: SpendLimit(Account("402: pay"))
        529: Busy(None)
        503: Busy(Some(7))
        400 overloaded: Busy(None)
        500: Broken("500: Internal server error")
        504: Broken("504: too slow")
        400: Rejected("400: max_tokens: too many")
        413: Rejected("413: too large")
        307: Unreachable("307: the address points elsewhere")
    "#]]
    .assert_eq(&told);
}

/// E2, E3: what goes wrong after a good beginning.
#[tokio::test]
async fn every_broken_stream_is_a_failure_of_its_kind() {
    let words = || Act::says("one two three four five six");
    let error = |at, kind: &str| words().with(Fault::Error(at, kind.to_owned()));
    let cases = [
        ("cut before words", words().with(Fault::Cut(2))),
        ("cut after words", words().with(Fault::Cut(4))),
        ("ended before words", words().with(Fault::End(2))),
        ("ended after words", words().with(Fault::End(4))),
        ("overloaded", error(0, "overloaded_error")),
        ("overloaded after words", error(4, "overloaded_error")),
        ("broken after words", error(4, "api_error")),
        ("an unknown error", error(4, "new_error")),
        ("garbage", words().with(Fault::Garbage(4))),
        ("bad json", words().with(Fault::BadJson(4))),
        ("a page", words().with(Fault::Html)),
        ("an input that is no object", Act::empty().and(bad_call("[1]"))),
        ("half an input", Act::empty().and(bad_call(r#"{"text": "#))),
        ("a block that is none", Act::empty().and(Piece::Raw(json!({"type": "tool_use"})))),
    ];
    let mut told = String::new();
    for (name, act) in cases {
        told += &format!("{name}: {}\n", fails(act).await);
    }
    expect![[r#"
        cut before words: Broken("the connection was lost")
        cut after words: CutOff("the connection was lost")
        ended before words: Broken("its words ended too early")
        ended after words: CutOff("its words ended too early")
        overloaded: Busy(None)
        overloaded after words: Busy(None)
        broken after words: Broken("it broke on our side")
        an unknown error: Broken("it broke on our side")
        garbage: Garbled("an event is not text")
        bad json: Garbled("an event that is not in its language")
        a page: Garbled("it is not a stream of events")
        an input that is no object: Garbled("the input of a tool call is no JSON object")
        half an input: Garbled("the input of a tool call is no JSON object")
        a block that is none: Garbled("an event that is not in its language")
    "#]]
    .assert_eq(&told);
}

/// E3: five endings that are no answer are five different things.
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
        refusal: Refusal [Text("no")]
        no room: Length [Text("so")]
        no room in a call: Length [Text("so")]
        no more context: Length [Text("so")]
        nothing: Said []
        a word that is none: Said []
    "#]]
    .assert_eq(&told);
}

fn bad_call(input: &str) -> Piece {
    Piece::Call { name: "note".to_owned(), input: input.to_owned() }
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_out_of_reach() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (_, reply) = ask(&model(&format!("http://{address}")), &context(vec![human("hi")])).await;
    let failure = reply.unwrap_err();
    let expected = format!("{address}: Connection refused");
    assert!(matches!(&failure, Failure::Unreachable(why) if why.starts_with(&expected)), "{failure:?}");
}

/// The clock is stopped once everybody stands still, and then jumps to the only thing that is waited for.
#[tokio::test]
async fn silence_before_the_first_byte_is_out_of_reach() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    server.script([Act::says("too late").held_back(&gate)]);
    let model = model(&server.url());
    let context = context(vec![human("hi")]);
    let stop_time = async {
        gate.reached().await;
        tokio::time::pause();
    };
    let ((_, reply), ()) = tokio::join!(ask(&model, &context), stop_time);
    assert_eq!(reply.unwrap_err(), Failure::Unreachable("silent for 60 s".to_owned()));
}

#[tokio::test]
async fn silence_before_the_first_word_is_out_of_reach_and_after_it_a_cut() {
    let server = ModelServer::start().await.unwrap();
    let context = context(vec![human("hi")]);
    let said = silent_at(&server, 1, &context).await;
    assert_eq!(said, ("".to_owned(), Failure::Unreachable("silent for 60 s".to_owned())));
    let said = silent_at(&server, 5, &context).await;
    assert_eq!(said, ("one two three four".to_owned(), Failure::CutOff("silent for 60 s".to_owned())));
}

async fn silent_at(server: &ModelServer, event: usize, context: &Context) -> (String, Failure) {
    let gate = Gate::new();
    server.script([Act::says("one two three four five").held_at(event, &gate)]);
    let model = model(&server.url());
    let expected = if event < 3 { "" } else { "one two three four" };
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let listener = move |words: &str| heard.send(words.to_owned()).unwrap();
    let stop_time = async {
        gate.reached().await;
        let mut all = String::new();
        while all != expected {
            all += &hearing.recv().await.unwrap();
        }
        tokio::time::pause();
        (all, Instant::now())
    };
    let (reply, (heard, since)) = tokio::join!(model.reply(context, &listener), stop_time);
    let waited = since.elapsed();
    tokio::time::resume();
    assert!(waited > Duration::from_secs(50) && waited < Duration::from_secs(61), "{waited:?}");
    (heard, reply.unwrap_err())
}

#[tokio::test]
async fn the_key_is_sent_and_never_told() {
    let options = Options { key: Some(KEY.to_owned()), ..Options::default() };
    let server = ModelServer::start_with(options).await.unwrap();
    server.script([
        Act::says("hello"),
        Act::refuses(400, "invalid_request_error", &format!("what is {KEY}?")),
        Act::refuses(400, "invalid_request_error", &"x".repeat(100_000)),
    ]);
    let model = model(&server.url());
    let context = context(vec![human("hi")]);
    assert!(ask(&model, &context).await.1.is_ok());
    let told = ask(&model, &context).await.1.unwrap_err();
    assert_eq!(told, Failure::Rejected("400: what is [key]?".to_owned()));
    assert!(ask(&model, &context).await.1.unwrap_err().to_string().len() < 400);
    assert!(!format!("{model:?} {:?}", settings(&server.url())).contains(KEY));

    let mut other = settings(&server.url());
    other.key = Key::new("sk-other");
    let other = Anthropic::new(other).unwrap();
    let told = ask(&other, &context).await.1.unwrap_err();
    assert_eq!(told, Failure::BadKey("ANTHROPIC_API_KEY, 401: invalid x-api-key".to_owned()));
    assert_eq!(server.requests()[0].version.as_deref(), Some("2023-06-01"));
}

#[test]
fn a_key_with_a_line_break_is_refused_before_anybody_is_called() {
    let mut bad = settings("http://127.0.0.1:1");
    bad.key = Key::new("sk-secret\n");
    let told = Anthropic::new(bad).unwrap_err().to_string();
    assert_eq!(
        told,
        "the model's key has a line break or another character that no key has; copy it once more"
    );
}

/// An interrupted turn costs nothing more.
#[tokio::test]
async fn a_request_that_is_dropped_ends_at_the_server_too() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    server.script([Act::says("one two three").held_at(4, &gate)]);
    let model = model(&server.url());
    let context = context(vec![human("hi")]);
    tokio::select! {
        _ = ask(&model, &context) => panic!("it was held"),
        () = gate.reached() => {}
    }
    gate.left().await;
}
