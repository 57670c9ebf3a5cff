//! Every error of every API becomes a specific failure with a text for the user.

use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use expect_test::{Expect, expect};
use testkit::play::{Act, Fault, Gate, Piece, Refused};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::hostile::HEAD;
use crate::stage::{KEY, ask, context, human};
use crate::wire::{BOTH, Server, Wire};

/// Checks the failure of each act, which is the same for every API except for the name of the
/// variable.
async fn check(cases: impl Fn(Wire) -> Vec<(&'static str, Act)>, expected: Expect) {
    for wire in BOTH {
        let mut told = String::new();
        for (name, act) in cases(wire) {
            told += &format!("{name}: {:?}\n", wire.play(act).await.1.unwrap_err());
        }
        expected.assert_eq(&told.replace(wire.variable(), "[variable]"));
    }
}

pub fn refused(status: u16, retry_after: Option<&str>, message: &str) -> Act {
    Act::empty().with(Fault::Refuse(Refused {
        status,
        kind: "some_error".to_owned(),
        message: message.to_owned(),
        retry_after: retry_after.map(str::to_owned),
    }))
}

pub fn bad_call(input: &str) -> Piece {
    Piece::Call { name: "note".to_owned(), input: input.to_owned() }
}

/// E1, E3, E5: each refusal becomes its own kind of failure, with a retry time where there is one.
#[tokio::test]
async fn every_refusal_is_a_failure_of_its_kind() {
    let cases = |_| {
        vec![
            ("401", refused(401, None, "a bad key")),
            ("403", refused(403, None, "This API key may not use this model")),
            ("403 by its kind", Act::refuses(403, "permission_error", "not for you")),
            ("403 about the words", refused(403, None, "Your input was flagged for a keyword.")),
            ("429 with a time", Act::rate_limited(30)),
            ("429 with a date", refused(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), "spend less")),
            ("429 about money", refused(429, None, "Your credit limit is reached")),
            ("429 about nothing", refused(429, None, "slow down")),
            ("402", refused(402, None, "pay")),
            ("503", refused(503, Some("7"), "later")),
            ("500", Act::broken()),
            ("504", refused(504, None, "too slow")),
            ("400", Act::refuses(400, "invalid_request_error", "too many\u{7}\r\n")),
            ("413", refused(413, None, "too large")),
            ("400 too large", Act::refuses(400, "request_too_large", "too large")),
            ("307", refused(307, None, "over there")),
        ]
    };
    let expected = expect![[r#"
        401: BadKey("[variable], 401: a bad key")
        403: BadKey("[variable], 403: This API key may not use this model")
        403 by its kind: BadKey("[variable], 403: not for you")
        403 about the words: Rejected("403: Your input was flagged for a keyword.")
        429 with a time: Busy(Some(30))
        429 with a date: Busy(None)
        429 about money: SpendLimit(Account("429: Your credit limit is reached"))
        429 about nothing: Busy(None)
        402: SpendLimit(Account("402: pay"))
        503: Busy(Some(7))
        500: Broken("500: Internal server error")
        504: Broken("504: too slow")
        400: Rejected("400: too many")
        413: Full("413: too large")
        400 too large: Full("400: too large")
        307: Unreachable("307: the address points elsewhere")
    "#]];
    check(cases, expected).await;
}

/// E2, E3: errors after the stream has started.
#[tokio::test]
async fn every_broken_stream_is_a_failure_of_its_kind() {
    let cases = |wire: Wire| {
        let words = || Act::says("one two three four five six");
        let (before, after) = wire.around_words();
        vec![
            ("cut before words", words().with(Fault::Cut(before))),
            ("cut after words", words().with(Fault::Cut(after))),
            ("ended before words", words().with(Fault::End(before))),
            ("ended after words", words().with(Fault::End(after))),
            ("garbage", words().with(Fault::Garbage(after))),
            ("bad json", words().with(Fault::BadJson(after))),
            ("a page", words().with(Fault::Html)),
            ("an input that is no object", Act::empty().and(bad_call("[1]"))),
            ("half an input", Act::empty().and(bad_call(r#"{"text": "#))),
        ]
    };
    let expected = expect![[r#"
        cut before words: Broken("the connection was lost")
        cut after words: CutOff("the connection was lost")
        ended before words: Broken("its words ended too early")
        ended after words: CutOff("its words ended too early")
        garbage: Garbled("an event is not text")
        bad json: Garbled("an event that is not in its language")
        a page: Garbled("it is not a stream of events")
        an input that is no object: Garbled("the input of a tool call is no JSON object")
        half an input: Garbled("the input of a tool call is no JSON object")
    "#]];
    check(cases, expected).await;
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_out_of_reach() {
    for wire in BOTH {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let model = wire.model(&format!("http://{address}"));
        let failure = ask(model.as_ref(), &context(vec![human("hi")])).await.1.unwrap_err();
        let expected = format!("{address}: Connection refused");
        assert!(matches!(&failure, Failure::Unreachable(why) if why.starts_with(&expected)), "{failure:?}");
    }
}

/// The clock is paused once all tasks wait, and then advances to the only timer.
#[tokio::test]
async fn silence_before_the_first_byte_is_out_of_reach() {
    for wire in BOTH {
        let server = wire.serve().await;
        let gate = Gate::new();
        server.script(Act::says("too late").held_back(&gate));
        let model = wire.model(&server.url());
        let context = context(vec![human("hi")]);
        let stop_time = async {
            gate.reached().await;
            tokio::time::pause();
        };
        let ((_, reply), ()) = tokio::join!(ask(model.as_ref(), &context), stop_time);
        tokio::time::resume();
        assert_eq!(reply.unwrap_err(), Failure::Unreachable("silent for 60 s".to_owned()));
    }
}

#[tokio::test]
async fn silence_before_the_first_word_is_out_of_reach_and_after_it_a_cut() {
    let context = context(vec![human("hi")]);
    for (wire, heard) in BOTH.into_iter().zip([5, 3]) {
        let server = wire.serve().await;
        let said = silent_at(wire, &server, 1, "", &context).await;
        assert_eq!(said, Failure::Unreachable("silent for 60 s".to_owned()));
        let said = silent_at(wire, &server, heard, "one two three four", &context).await;
        assert_eq!(said, Failure::CutOff("silent for 60 s".to_owned()));
    }
}

/// Returns the failure for a server that stalls at `event`, after `text` was streamed.
async fn silent_at(wire: Wire, server: &Server, event: usize, words: &str, context: &Context) -> Failure {
    let gate = Gate::new();
    server.script(Act::says("one two three four five").held_at(event, &gate));
    let model = wire.model(&server.url());
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let listener = move |words: &str| heard.send(words.to_owned()).unwrap();
    let stop_time = async {
        gate.reached().await;
        let mut all = String::new();
        while all != words {
            all += &hearing.recv().await.unwrap();
        }
        tokio::time::pause();
        Instant::now()
    };
    let (reply, since) = tokio::join!(model.reply(context, &listener), stop_time);
    let waited = since.elapsed();
    tokio::time::resume();
    assert!(waited > Duration::from_secs(50) && waited < Duration::from_secs(61), "{waited:?}");
    reply.unwrap_err()
}

/// Sends `start`, then `again` every 20 seconds of virtual time for an hour. Returns the failure
/// and the time until it.
async fn keeps_sending(wire: Wire, start: &str, again: &str) -> (Failure, Duration) {
    keeps_sending_after(HEAD, wire, start, again).await
}

/// Like `keep_sending`, with another response head.
async fn keeps_sending_after(head: &str, wire: Wire, start: &str, again: &str) -> (Failure, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = wire.model(&format!("http://{}", listener.local_addr().unwrap()));
    let context = context(vec![human("hi")]);
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
        (_, reply) = ask(model.as_ref(), &context) => reply.unwrap_err(),
        () = sends => unreachable!(),
    };
    let waited = since.elapsed();
    tokio::time::resume();
    (failure, waited)
}

/// A stream that only sends keep-alive signals, in any form, counts as stalled.
#[tokio::test]
async fn signals_that_keep_a_connection_open_are_no_part_of_a_reply() {
    let begun = "data: {\"type\":\"message_start\",\"message\":{}}\n\n";
    for (wire, start, again) in [
        (Wire::Messages, begun, "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
        (Wire::Messages, begun, ": comment\n\n"),
        (BOTH[1], "", ": comment\n\n"),
        (BOTH[1], "", "data: {\"choices\":[]}\n\n"),
        (BOTH[1], "", "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"),
    ] {
        let (failure, waited) = keeps_sending(wire, start, again).await;
        assert_eq!(failure, Failure::Unreachable("silent for 60 s".to_owned()), "{again}");
        assert!(waited < Duration::from_secs(61), "{waited:?}: {again}");
    }
}

/// A model that thinks, or a server that buffers the input of a call, sends only keep-alive
/// signals. Even then a reply has a total timeout.
#[tokio::test]
async fn a_reply_has_so_much_time_in_all() {
    let thinks = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\
                  \"thinking\":\"\",\"signature\":\"\"}}\n\n";
    let calls = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\
                 \"id\":\"c\",\"name\":\"note\",\"input\":{}}}\n\n";
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let late = "not done after 600 s".to_owned();
    for (wire, start, again, expected) in [
        (Wire::Messages, thinks, ping, Failure::Unreachable(late.clone())),
        (Wire::Messages, calls, ping, Failure::Unreachable(late.clone())),
        (BOTH[1], "", word, Failure::CutOff(late)),
    ] {
        let (failure, waited) = keeps_sending(wire, start, again).await;
        assert_eq!(failure, expected, "{again}");
        assert!((599..=601).contains(&waited.as_secs()), "{waited:?}: {again}");
    }
}

/// A reply as one JSON body has the same total timeout.
#[tokio::test]
async fn a_reply_in_one_piece_has_so_much_time_in_all() {
    let head = HEAD.replace("text/event-stream", "application/json");
    assert_ne!(head, HEAD);
    let (failure, waited) = keeps_sending_after(&head, BOTH[1], "{", " ").await;
    assert_eq!(failure, Failure::Unreachable("not done after 600 s".to_owned()));
    assert!((599..=601).contains(&waited.as_secs()), "{waited:?}");
}

#[tokio::test]
async fn the_key_is_sent_and_never_told() {
    for wire in BOTH {
        let server = wire.serve_for_us().await;
        server.script(Act::says("hello"));
        server.script(Act::refuses(400, "invalid_request_error", &format!("what is {KEY}?")));
        server.script(Act::refuses(400, "invalid_request_error", &"x".repeat(100_000)));
        let model = wire.model(&server.url());
        let context = context(vec![human("hi")]);
        assert!(ask(model.as_ref(), &context).await.1.is_ok());
        let told = ask(model.as_ref(), &context).await.1.unwrap_err();
        assert_eq!(told, Failure::Rejected("400: what is [key]?".to_owned()));
        assert!(ask(model.as_ref(), &context).await.1.unwrap_err().to_string().len() < 500);
        assert!(!wire.shown().contains(KEY));
        let other = wire.model_with(&server.url(), "sk-other").unwrap();
        let told = ask(other.as_ref(), &context).await.1.unwrap_err();
        let named = format!("{}, 401: ", wire.variable());
        assert!(matches!(&told, Failure::BadKey(why) if why.starts_with(&named)), "{told:?}");
    }
}

#[test]
fn a_key_with_a_line_break_is_refused_before_anybody_is_called() {
    for wire in BOTH {
        let told = wire.model_with("http://127.0.0.1:1", "sk-secret\n").err().unwrap();
        let expected =
            "the model's key has a line break or another character that no key has; copy it once more";
        assert_eq!(told, expected);
    }
}

/// An interrupted turn causes no further cost.
#[tokio::test]
async fn a_request_that_is_dropped_ends_at_the_server_too() {
    for (wire, event) in BOTH.into_iter().zip([4, 2]) {
        let server = wire.serve().await;
        let gate = Gate::new();
        server.script(Act::says("one two three").held_at(event, &gate));
        let model = wire.model(&server.url());
        let context = context(vec![human("hi")]);
        tokio::select! {
            _ = ask(model.as_ref(), &context) => panic!("it was held"),
            () = gate.reached() => {}
        }
        gate.left().await;
    }
}
