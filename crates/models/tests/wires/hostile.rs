//! A malicious server costs a bounded amount of memory and time.

use domain::conversation::Text;
use domain::failure::{Failure, InvalidReply};
use domain::turn::ModelReply;
use testkit::chat_server::Style;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::api::{ApiKind, BOTH_APIS};
use crate::support::{call_model, context, user};

pub const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// Sends `start`, then `again` until the client disconnects or `times` is reached, then `end`.
pub struct Flood {
    pub start: String,
    pub again: Vec<u8>,
    pub times: usize,
    pub end: &'static str,
}

impl Flood {
    /// Sends only `start`.
    fn only(start: impl Into<String>) -> Self {
        Self { start: start.into(), again: Vec::new(), times: 0, end: "" }
    }

    /// Sends `start`, then `again` until the client disconnects.
    pub fn endless(start: impl Into<String>, again: Vec<u8>) -> Self {
        Self { start: start.into(), again, times: usize::MAX, end: "" }
    }

    async fn serve(self, listener: TcpListener) {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = vec![0; 65536];
        let _ = socket.read(&mut asked).await;
        let _ = socket.write_all(self.start.as_bytes()).await;
        for _ in 0..self.times {
            if socket.write_all(&self.again).await.is_err() {
                return;
            }
        }
        let _ = socket.write_all(self.end.as_bytes()).await;
    }
}

pub async fn answer(wire: ApiKind, flood: Flood) -> Result<ModelReply, Failure> {
    text_and_reply(wire, flood).await.1
}

/// Returns the streamed text and the reply.
async fn text_and_reply(wire: ApiKind, flood: Flood) -> (String, Result<ModelReply, Failure>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let model = wire.model(&url);
    let context = context(vec![user("hi")]);
    let both = async {
        tokio::select! {
            text_and_reply = call_model(model.as_ref(), &context) => text_and_reply,
            () = async { flood.serve(listener).await; std::future::pending().await } => unreachable!(),
        }
    };
    tokio::time::timeout(testkit::TEST_TIMEOUT, both).await.unwrap()
}

/// One event with this many kilobytes of text.
fn text_event(wire: ApiKind, kilobytes: usize) -> Flood {
    let (before, after, end) = match wire {
        ApiKind::Messages => (
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"",
            "\"}}\n\n",
            "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n",
        ),
        ApiKind::Chat(_) => ("data: {\"choices\":[{\"delta\":{\"content\":\"", "\"}}]}\n\n", CHAT_END),
    };
    let mut again = vec![b'a'; kilobytes * 1024];
    again.extend_from_slice(after.as_bytes());
    Flood { start: format!("{HEAD}{before}"), again, times: 1, end }
}

/// The end of a stream of a chat server.
pub const CHAT_END: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub fn garbled(why: &str) -> Result<ModelReply, Failure> {
    Err(Failure::InvalidResponse(why.to_owned()))
}

#[tokio::test]
async fn long_event_is_accepted_and_endless_event_is_not() {
    for wire in BOTH_APIS {
        let long = answer(wire, text_event(wire, 200)).await.unwrap();
        assert_eq!(long.blocks.text().len(), 200 * 1024);
        assert_eq!(answer(wire, text_event(wire, 5 * 1024)).await, garbled("an event is longer than 4 MB"));
    }
}

/// The size limit of a reply with few tokens.
const REPLY_LIMIT: usize = 256 * 1024;

fn too_large() -> Result<ModelReply, Failure> {
    Err(InvalidReply::TooLarge { kilobytes: REPLY_LIMIT / 1024 }.into())
}

#[tokio::test]
async fn reply_in_one_event_is_cut_at_the_limit() {
    for wire in BOTH_APIS {
        let (words, reply) = text_and_reply(wire, text_event(wire, 1024)).await;
        // The bytes that Anthropic sends at the start of a block also count.
        assert!((REPLY_LIMIT - 128..=REPLY_LIMIT).contains(&words.len()), "{}", words.len());
        assert_eq!(reply, too_large());
    }
}

/// Text, thinking and arguments of calls share one limit, and each may be endless. A two-byte
/// character is not split.
#[tokio::test]
async fn endless_reply_is_cut_at_the_limit() {
    let messages = |block: &str, delta: &str| {
        let start = format!(
            "{HEAD}data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{{block}}}}}\n\n"
        );
        let again =
            format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{{delta}}}}}\n\n");
        (ApiKind::Messages, start, again)
    };
    let chat = |delta: &str| {
        (BOTH_APIS[1], HEAD.to_owned(), format!("data: {{\"choices\":[{{\"delta\":{{{delta}}}}}]}}\n\n"))
    };
    let much = "äbc".repeat(300);
    let words = [
        messages(r#""type":"text""#, &format!(r#""type":"text_delta","text":"{much}""#)),
        chat(&format!(r#""content":"{much}""#)),
    ];
    for (wire, start, again) in words {
        let (words, reply) = text_and_reply(wire, Flood::endless(start, again.into_bytes())).await;
        assert!((REPLY_LIMIT - 128..=REPLY_LIMIT).contains(&words.len()), "{}", words.len());
        assert_eq!(reply, too_large());
    }
    let unheard = [
        messages(r#""type":"thinking""#, &format!(r#""type":"thinking_delta","thinking":"{much}""#)),
        messages(r#""type":"thinking""#, &format!(r#""type":"signature_delta","signature":"{much}""#)),
        messages(
            r#""type":"tool_use","id":"a","name":"note""#,
            &format!(r#""type":"input_json_delta","partial_json":"{much}""#),
        ),
        chat(&format!(r#""reasoning_content":"{much}""#)),
        chat(&format!(r#""reasoning_details":[{{"text":"{much}"}}]"#)),
        chat(&format!(
            r#""tool_calls":[{{"index":0,"id":"a","function":{{"name":"note","arguments":"{much}"}}}}]"#
        )),
    ];
    for (wire, start, again) in unheard {
        let (words, reply) = text_and_reply(wire, Flood::endless(start, again.into_bytes())).await;
        assert_eq!((words.as_str(), reply), ("", too_large()));
    }
}

/// Blocks without text are limited too.
#[tokio::test]
async fn many_empty_blocks_are_cut_at_the_limit() {
    let block = |index: usize| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"text\"}}}}\n\n"
        )
    };
    let again: String = (0..10_000).map(block).collect();
    let flood = Flood { start: HEAD.to_owned(), again: again.into_bytes(), times: 1, end: "" };
    assert_eq!(answer(ApiKind::Messages, flood).await, too_large());
}

#[tokio::test]
async fn endless_stream_is_aborted() {
    for (wire, fields) in BOTH_APIS.into_iter().zip([r#""type":"ping""#, r#""choices":[]"#]) {
        let ping = format!("data: {{{fields},\"pad\":\"{}\"}}\n\n", "a".repeat(1024 * 1024));
        let flood = Flood::endless(HEAD, ping.into_bytes());
        assert_eq!(answer(wire, flood).await, garbled("more than 64 MB in one stream"));
    }
}

#[tokio::test]
async fn endless_headers_are_aborted() {
    for wire in BOTH_APIS {
        let endless = Flood::endless("HTTP/1.1 200 OK\r\n", b"x-more: and more and more\r\n".to_vec());
        for flood in [endless, Flood::only("SSH-2.0-OpenSSH_9.9\r\n")] {
            let failure = answer(wire, flood).await.unwrap_err();
            let told =
                matches!(&failure, Failure::InvalidResponse(why) if why.contains("does not speak HTTP"));
            assert!(told, "{failure:?}");
        }
    }
}

#[tokio::test]
async fn endless_refusal_is_truncated() {
    for wire in BOTH_APIS {
        let flood = Flood::endless("HTTP/1.1 418 Teapot\r\n\r\n", vec![b'a'; 100_000]);
        let failure = answer(wire, flood).await.unwrap_err();
        assert!(matches!(&failure, Failure::Rejected(why) if why.len() < 400), "{failure:?}");
    }
}

/// Only a chat server may answer with one JSON body.
#[tokio::test]
async fn response_with_another_content_type_is_rejected() {
    let chat = ApiKind::Chat(Style::OpenAi);
    let page = "text/html";
    let bytes = "application/octet-stream";
    let kinds = [(ApiKind::Messages, page), (ApiKind::Messages, bytes), (chat, page), (chat, bytes)];
    for (wire, kind) in kinds.into_iter().chain([(ApiKind::Messages, "application/json")]) {
        let start = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        let flood = Flood::endless(start, vec![b'a'; 100_000]);
        assert_eq!(answer(wire, flood).await, garbled("it is not a stream of events"));
    }
    for wire in BOTH_APIS {
        let start = "HTTP/1.1 200 OK\r\n\r\n".to_owned();
        let flood = Flood { start, again: vec![b'a'; 9], times: 9, end: "" };
        assert_eq!(answer(wire, flood).await, garbled("it is not a stream of events"));
    }
}

#[tokio::test]
async fn redirect_does_not_forward_the_key() {
    for wire in BOTH_APIS {
        let elsewhere = wire.start_server().await;
        let place = elsewhere.url() + wire.path();
        let start = format!("HTTP/1.1 307 Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
        let reply = answer(wire, Flood::only(start)).await;
        assert_eq!(reply, Err(Failure::Unreachable("307: the address points elsewhere".to_owned())));
        assert_eq!(elsewhere.requests(), 0);
    }
}
