//! Every error of every API becomes a specific failure with a text for the user.

use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use expect_test::{Expect, expect};
use testkit::scripted_replies::{ErrorReply, Gate, ReplyFault, ReplyPiece, ScriptedReply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::api::{ApiKind, BOTH_APIS, Server};
use crate::hostile::HEAD;
use crate::support::{KEY, call_model, context, user};

/// Checks the failure of each act, which is the same for every API except for the name of the
/// variable.
async fn check(cases: impl Fn(ApiKind) -> Vec<(&'static str, ScriptedReply)>, expected: Expect) {
    for api in BOTH_APIS {
        let mut actual = String::new();
        for (name, act) in cases(api) {
            actual += &format!("{name}: {:?}\n", api.reply_to(act).await.1.unwrap_err());
        }
        expected.assert_eq(&actual.replace(api.key_variable(), "[variable]"));
    }
}

pub fn refused(status: u16, retry_after: Option<&str>, message: &str) -> ScriptedReply {
    ScriptedReply::empty().with_fault(ReplyFault::Refuse(ErrorReply {
        status,
        kind: "some_error".to_owned(),
        message: message.to_owned(),
        retry_after: retry_after.map(str::to_owned),
    }))
}

pub fn bad_call(input: &str) -> ReplyPiece {
    ReplyPiece::Call { name: "note".to_owned(), input: input.to_owned() }
}

/// E1, E3, E5: each refusal becomes its own kind of failure, with a retry time where there is one.
#[tokio::test]
async fn every_refusal_maps_to_its_failure() {
    let cases = |_| {
        vec![
            ("401", refused(401, None, "a bad key")),
            ("403", refused(403, None, "This API key may not use this model")),
            ("403 by its kind", ScriptedReply::refusal(403, "permission_error", "not for you")),
            ("403 about the words", refused(403, None, "Your input was flagged for a keyword.")),
            ("429 with a time", ScriptedReply::rate_limited(30)),
            ("429 with a date", refused(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), "spend less")),
            ("429 about money", refused(429, None, "Your credit limit is reached")),
            ("429 about nothing", refused(429, None, "slow down")),
            ("402", refused(402, None, "pay")),
            ("503", refused(503, Some("7"), "later")),
            ("500", ScriptedReply::server_error()),
            ("504", refused(504, None, "too slow")),
            ("400", ScriptedReply::refusal(400, "invalid_request_error", "too many\u{7}\r\n")),
            ("413", refused(413, None, "too large")),
            ("400 too large", ScriptedReply::refusal(400, "request_too_large", "too large")),
            ("307", refused(307, None, "over there")),
        ]
    };
    let expected = expect![[r#"
        401: BadKey("[variable], 401: a bad key")
        403: BadKey("[variable], 403: This API key may not use this model")
        403 by its kind: BadKey("[variable], 403: not for you")
        403 about the words: Rejected("403: Your input was flagged for a keyword.")
        429 with a time: Overloaded(Some(30))
        429 with a date: Overloaded(None)
        429 about money: SpendLimit(Account("429: Your credit limit is reached"))
        429 about nothing: Overloaded(None)
        402: SpendLimit(Account("402: pay"))
        503: Overloaded(Some(7))
        500: VendorError("500: Internal server error")
        504: VendorError("504: too slow")
        400: Rejected("400: too many")
        413: ContextFull("413: too large")
        400 too large: ContextFull("400: too large")
        307: Unreachable("307: the address points elsewhere")
    "#]];
    check(cases, expected).await;
}

/// E2, E3: errors after the stream has started.
#[tokio::test]
async fn every_broken_stream_maps_to_its_failure() {
    let cases = |wire: ApiKind| {
        let words = || ScriptedReply::text("one two three four five six");
        let (before, after) = wire.events_around_text();
        vec![
            ("cut before words", words().with_fault(ReplyFault::Cut(before))),
            ("cut after words", words().with_fault(ReplyFault::Cut(after))),
            ("ended before words", words().with_fault(ReplyFault::End(before))),
            ("ended after words", words().with_fault(ReplyFault::End(after))),
            ("garbage", words().with_fault(ReplyFault::Garbage(after))),
            ("bad json", words().with_fault(ReplyFault::BadJson(after))),
            ("a page", words().with_fault(ReplyFault::Html)),
            ("an input that is no object", ScriptedReply::empty().with_piece(bad_call("[1]"))),
            ("half an input", ScriptedReply::empty().with_piece(bad_call(r#"{"text": "#))),
        ]
    };
    let expected = expect![[r#"
        cut before words: VendorError("the connection was lost")
        cut after words: CutOff("the connection was lost")
        ended before words: VendorError("its words ended too early")
        ended after words: CutOff("its words ended too early")
        garbage: InvalidResponse("an event is not text")
        bad json: InvalidResponse("an event that is not in its language")
        a page: InvalidResponse("it is not a stream of events")
        an input that is no object: InvalidResponse("the input of a tool call is no JSON object")
        half an input: InvalidResponse("the input of a tool call is no JSON object")
    "#]];
    check(cases, expected).await;
}

#[tokio::test]
async fn address_without_a_server_is_unreachable() {
    for wire in BOTH_APIS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let model = wire.model(&format!("http://{address}"));
        let failure = call_model(model.as_ref(), &context(vec![user("hi")])).await.1.unwrap_err();
        let expected = format!("{address}: Connection refused");
        assert!(matches!(&failure, Failure::Unreachable(why) if why.starts_with(&expected)), "{failure:?}");
    }
}

/// The clock is paused once all tasks wait, and then advances to the only timer.
#[tokio::test]
async fn stall_before_the_first_byte_is_unreachable() {
    for wire in BOTH_APIS {
        let server = wire.start_server().await;
        let gate = Gate::new();
        server.script(ScriptedReply::text("too late").waiting_at_start(&gate));
        let model = wire.model(&server.url());
        let context = context(vec![user("hi")]);
        let stop_time = async {
            gate.reached().await;
            tokio::time::pause();
        };
        let ((_, reply), ()) = tokio::join!(call_model(model.as_ref(), &context), stop_time);
        tokio::time::resume();
        assert_eq!(reply.unwrap_err(), Failure::Unreachable("silent for 60 s".to_owned()));
    }
}

#[tokio::test]
async fn stall_before_the_first_text_is_unreachable_and_after_it_a_cut_off() {
    let context = context(vec![user("hi")]);
    for (wire, heard) in BOTH_APIS.into_iter().zip([5, 3]) {
        let server = wire.start_server().await;
        let said = stall_at(wire, &server, 1, "", &context).await;
        assert_eq!(said, Failure::Unreachable("silent for 60 s".to_owned()));
        let said = stall_at(wire, &server, heard, "one two three four", &context).await;
        assert_eq!(said, Failure::CutOff("silent for 60 s".to_owned()));
    }
}

/// Returns the failure for a server that stalls at `event`, after `text` was streamed.
async fn stall_at(wire: ApiKind, server: &Server, event: usize, text: &str, context: &Context) -> Failure {
    let gate = Gate::new();
    server.script(ScriptedReply::text("one two three four five").waiting_at_event(event, &gate));
    let model = wire.model(&server.url());
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let sink = move |text: &str| sender.send(text.to_owned()).unwrap();
    let stop_time = async {
        gate.reached().await;
        let mut all = String::new();
        while all != text {
            all += &receiver.recv().await.unwrap();
        }
        tokio::time::pause();
        Instant::now()
    };
    let (reply, since) = tokio::join!(model.reply(context, &sink), stop_time);
    let waited = since.elapsed();
    tokio::time::resume();
    assert!(waited > Duration::from_secs(50) && waited < Duration::from_secs(61), "{waited:?}");
    reply.unwrap_err()
}

/// Sends `start`, then `again` every 20 seconds of virtual time for an hour. Returns the failure
/// and the time until it.
async fn keep_sending(wire: ApiKind, start: &str, again: &str) -> (Failure, Duration) {
    keep_sending_after(HEAD, wire, start, again).await
}

/// Like `keep_sending`, with another response head.
async fn keep_sending_after(head: &str, wire: ApiKind, start: &str, again: &str) -> (Failure, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = wire.model(&format!("http://{}", listener.local_addr().unwrap()));
    let context = context(vec![user("hi")]);
    let sends = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut vec![0; 65536]).await;
        socket.write_all(format!("{head}{start}").as_bytes()).await.unwrap();
        tokio::time::pause();
        for _ in 0..180 {
            tokio::time::sleep(Duration::from_secs(20)).await;
            if socket.write_all(again.as_bytes()).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let since = Instant::now();
    let failure = tokio::select! {
        (_, reply) = call_model(model.as_ref(), &context) => reply.unwrap_err(),
        () = sends => unreachable!(),
    };
    let waited = since.elapsed();
    tokio::time::resume();
    (failure, waited)
}

/// A stream that only sends keep-alive signals, in any form, counts as stalled.
#[tokio::test]
async fn keep_alive_signals_count_as_a_stall() {
    let begun = "data: {\"type\":\"message_start\",\"message\":{}}\n\n";
    for (wire, start, again) in [
        (ApiKind::Messages, begun, "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
        (ApiKind::Messages, begun, ": comment\n\n"),
        (BOTH_APIS[1], "", ": comment\n\n"),
        (BOTH_APIS[1], "", "data: {\"choices\":[]}\n\n"),
        (BOTH_APIS[1], "", "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"),
    ] {
        let (failure, waited) = keep_sending(wire, start, again).await;
        assert_eq!(failure, Failure::Unreachable("silent for 60 s".to_owned()), "{again}");
        assert!(waited < Duration::from_secs(61), "{waited:?}: {again}");
    }
}

/// A model that thinks, or a server that buffers the input of a call, sends only keep-alive
/// signals. Even then a reply has a total timeout.
#[tokio::test]
async fn reply_has_a_total_timeout() {
    let thinks = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\
                  \"thinking\":\"\",\"signature\":\"\"}}\n\n";
    let calls = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\
                 \"id\":\"c\",\"name\":\"note\",\"input\":{}}}\n\n";
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let late = "not done after 600 s".to_owned();
    for (wire, start, again, expected) in [
        (ApiKind::Messages, thinks, ping, Failure::Unreachable(late.clone())),
        (ApiKind::Messages, calls, ping, Failure::Unreachable(late.clone())),
        (BOTH_APIS[1], "", word, Failure::CutOff(late)),
    ] {
        let (failure, waited) = keep_sending(wire, start, again).await;
        assert_eq!(failure, expected, "{again}");
        assert!((599..=601).contains(&waited.as_secs()), "{waited:?}: {again}");
    }
}

/// A reply as one JSON body has the same total timeout.
#[tokio::test]
async fn json_reply_has_a_total_timeout() {
    let head = HEAD.replace("text/event-stream", "application/json");
    assert_ne!(head, HEAD);
    let (failure, waited) = keep_sending_after(&head, BOTH_APIS[1], "{", " ").await;
    assert_eq!(failure, Failure::Unreachable("not done after 600 s".to_owned()));
    assert!((599..=601).contains(&waited.as_secs()), "{waited:?}");
}

#[tokio::test]
async fn key_is_sent_and_never_shown() {
    for wire in BOTH_APIS {
        let server = wire.start_server_with_key().await;
        server.script(ScriptedReply::text("hello"));
        server.script(ScriptedReply::refusal(400, "invalid_request_error", &format!("what is {KEY}?")));
        server.script(ScriptedReply::refusal(400, "invalid_request_error", &"x".repeat(100_000)));
        let model = wire.model(&server.url());
        let context = context(vec![user("hi")]);
        assert!(call_model(model.as_ref(), &context).await.1.is_ok());
        let told = call_model(model.as_ref(), &context).await.1.unwrap_err();
        assert_eq!(told, Failure::Rejected("400: what is [key]?".to_owned()));
        assert!(call_model(model.as_ref(), &context).await.1.unwrap_err().to_string().len() < 500);
        assert!(!wire.debug_output().contains(KEY));
        let other = wire.model_with(&server.url(), "sk-other").unwrap();
        let told = call_model(other.as_ref(), &context).await.1.unwrap_err();
        let named = format!("{}, 401: ", wire.key_variable());
        assert!(matches!(&told, Failure::BadKey(why) if why.starts_with(&named)), "{told:?}");
    }
}

#[test]
fn key_with_a_line_break_is_refused_before_any_request() {
    for wire in BOTH_APIS {
        let told = wire.model_with("http://127.0.0.1:1", "sk-secret\n").err().unwrap();
        let expected =
            "the model's key has a line break or another character that no key has; copy it once more";
        assert_eq!(told, expected);
    }
}

/// An interrupted turn causes no further cost.
#[tokio::test]
async fn dropped_request_ends_at_the_server() {
    for (wire, event) in BOTH_APIS.into_iter().zip([4, 2]) {
        let server = wire.start_server().await;
        let gate = Gate::new();
        server.script(ScriptedReply::text("one two three").waiting_at_event(event, &gate));
        let model = wire.model(&server.url());
        let context = context(vec![user("hi")]);
        tokio::select! {
            _ = call_model(model.as_ref(), &context) => panic!("it was held"),
            () = gate.reached() => {}
        }
        gate.left().await;
    }
}
