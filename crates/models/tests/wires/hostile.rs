//! A malicious server costs a bounded amount of memory and time.

use domain::conversation::Text;
use domain::failure::{Failure, Unsaid};
use domain::turn::Reply;
use testkit::chat_server::Style;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::stage::{ask, context, human};
use crate::wire::{BOTH, Wire};

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

pub async fn answer(wire: Wire, flood: Flood) -> Result<Reply, Failure> {
    heard(wire, flood).await.1
}

/// Returns the streamed text and the reply.
async fn heard(wire: Wire, flood: Flood) -> (String, Result<Reply, Failure>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let model = wire.model(&url);
    let context = context(vec![human("hi")]);
    let both = async {
        tokio::select! {
            heard = ask(model.as_ref(), &context) => heard,
            () = async { flood.serve(listener).await; std::future::pending().await } => unreachable!(),
        }
    };
    tokio::time::timeout(testkit::PATIENCE, both).await.unwrap()
}

/// One event with this many kilobytes of text.
fn text_of(wire: Wire, kilobytes: usize) -> Flood {
    let (before, after, end) = match wire {
        Wire::Messages => (
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n\
             data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"",
            "\"}}\n\n",
            "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n",
        ),
        Wire::Chat(_) => ("data: {\"choices\":[{\"delta\":{\"content\":\"", "\"}}]}\n\n", CHAT_END),
    };
    let mut again = vec![b'a'; kilobytes * 1024];
    again.extend_from_slice(after.as_bytes());
    Flood { start: format!("{HEAD}{before}"), again, times: 1, end }
}

/// The end of a stream of a chat server.
pub const CHAT_END: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub fn garbled(why: &str) -> Result<Reply, Failure> {
    Err(Failure::Garbled(why.to_owned()))
}

#[tokio::test]
async fn an_event_may_be_long_but_not_without_end() {
    for wire in BOTH {
        let long = answer(wire, text_of(wire, 200)).await.unwrap();
        assert_eq!(long.blocks.text().len(), 200 * 1024);
        assert_eq!(answer(wire, text_of(wire, 5 * 1024)).await, garbled("an event is longer than 4 MB"));
    }
}

/// The size limit of a reply with few tokens.
const REPLY: usize = 256 * 1024;

fn too_large() -> Result<Reply, Failure> {
    Err(Unsaid::TooLarge { kilobytes: REPLY / 1024 }.into())
}

#[tokio::test]
async fn a_reply_in_one_event_is_cut_at_its_bound() {
    for wire in BOTH {
        let (words, reply) = heard(wire, text_of(wire, 1024)).await;
        // The bytes that Anthropic sends at the start of a block also count.
        assert!((REPLY - 128..=REPLY).contains(&words.len()), "{}", words.len());
        assert_eq!(reply, too_large());
    }
}

/// Text, thinking and arguments of calls share one limit, and each may be endless. A two-byte
/// character is not split.
#[tokio::test]
async fn a_reply_without_end_is_cut_at_its_bound() {
    let messages = |block: &str, delta: &str| {
        let start = format!(
            "{HEAD}data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{{block}}}}}\n\n"
        );
        let again =
            format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{{delta}}}}}\n\n");
        (Wire::Messages, start, again)
    };
    let chat = |delta: &str| {
        (BOTH[1], HEAD.to_owned(), format!("data: {{\"choices\":[{{\"delta\":{{{delta}}}}}]}}\n\n"))
    };
    let much = "äbc".repeat(300);
    let words = [
        messages(r#""type":"text""#, &format!(r#""type":"text_delta","text":"{much}""#)),
        chat(&format!(r#""content":"{much}""#)),
    ];
    for (wire, start, again) in words {
        let (words, reply) = heard(wire, Flood::endless(start, again.into_bytes())).await;
        assert!((REPLY - 128..=REPLY).contains(&words.len()), "{}", words.len());
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
        let (words, reply) = heard(wire, Flood::endless(start, again.into_bytes())).await;
        assert_eq!((words.as_str(), reply), ("", too_large()));
    }
}

/// Blocks without text are limited too.
#[tokio::test]
async fn a_flood_of_empty_blocks_is_cut() {
    let block = |index: usize| {
        format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"text\"}}}}\n\n"
        )
    };
    let again: String = (0..10_000).map(block).collect();
    let flood = Flood { start: HEAD.to_owned(), again: again.into_bytes(), times: 1, end: "" };
    assert_eq!(answer(Wire::Messages, flood).await, too_large());
}

#[tokio::test]
async fn a_reply_that_does_not_end_is_not_heard_to_the_end() {
    for (wire, fields) in BOTH.into_iter().zip([r#""type":"ping""#, r#""choices":[]"#]) {
        let ping = format!("data: {{{fields},\"pad\":\"{}\"}}\n\n", "a".repeat(1024 * 1024));
        let flood = Flood::endless(HEAD, ping.into_bytes());
        assert_eq!(answer(wire, flood).await, garbled("more than 64 MB in one stream"));
    }
}

#[tokio::test]
async fn headers_that_do_not_end_are_not_read_to_the_end() {
    for wire in BOTH {
        let endless = Flood::endless("HTTP/1.1 200 OK\r\n", b"x-more: and more and more\r\n".to_vec());
        for flood in [endless, Flood::only("SSH-2.0-OpenSSH_9.9\r\n")] {
            let failure = answer(wire, flood).await.unwrap_err();
            let told = matches!(&failure, Failure::Garbled(why) if why.contains("does not speak HTTP"));
            assert!(told, "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_does_not_end_is_not_read_to_the_end() {
    for wire in BOTH {
        let flood = Flood::endless("HTTP/1.1 418 Teapot\r\n\r\n", vec![b'a'; 100_000]);
        let failure = answer(wire, flood).await.unwrap_err();
        assert!(matches!(&failure, Failure::Rejected(why) if why.len() < 400), "{failure:?}");
    }
}

/// Only a chat server may answer with one JSON body.
#[tokio::test]
async fn an_answer_of_another_kind_is_not_read_at_all() {
    let chat = Wire::Chat(Style::OpenAi);
    let page = "text/html";
    let bytes = "application/octet-stream";
    let kinds = [(Wire::Messages, page), (Wire::Messages, bytes), (chat, page), (chat, bytes)];
    for (wire, kind) in kinds.into_iter().chain([(Wire::Messages, "application/json")]) {
        let start = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        let flood = Flood::endless(start, vec![b'a'; 100_000]);
        assert_eq!(answer(wire, flood).await, garbled("it is not a stream of events"));
    }
    for wire in BOTH {
        let start = "HTTP/1.1 200 OK\r\n\r\n".to_owned();
        let flood = Flood { start, again: vec![b'a'; 9], times: 9, end: "" };
        assert_eq!(answer(wire, flood).await, garbled("it is not a stream of events"));
    }
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_elsewhere() {
    for wire in BOTH {
        let elsewhere = wire.serve().await;
        let place = elsewhere.url() + wire.path();
        let start = format!("HTTP/1.1 307 Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
        let reply = answer(wire, Flood::only(start)).await;
        assert_eq!(reply, Err(Failure::Unreachable("307: the address points elsewhere".to_owned())));
        assert_eq!(elsewhere.requests(), 0);
    }
}
