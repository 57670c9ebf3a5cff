//! A server that means harm costs a bounded amount of memory and time.

use std::time::Duration;

use domain::conversation::Text;
use domain::failure::Failure;
use domain::turn::Reply;
use testkit::model_server::ModelServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::stage::{ask, context, human, model};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const END: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

/// Sends `start`, then `again` until nobody listens any more or `times` is reached, then `end`.
struct Flood {
    start: String,
    again: Vec<u8>,
    times: usize,
    end: &'static str,
}

impl Flood {
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

async fn answer(flood: Flood) -> Result<Reply, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (model, context) = (model(&url), context(vec![human("hi")]));
    let both = async {
        tokio::select! {
            (_, reply) = ask(&model, &context) => reply,
            () = async { flood.serve(listener).await; std::future::pending().await } => unreachable!(),
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both).await.unwrap()
}

fn text_of(megabytes: usize) -> Flood {
    let begin =
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n";
    let delta =
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"";
    let text = vec![b'a'; megabytes * 1024 * 1024];
    let mut again = text;
    again.extend_from_slice(b"\"}}\n\n");
    Flood { start: format!("{HEAD}{begin}{delta}"), again, times: 1, end: END }
}

fn garbled(why: &str) -> Result<Reply, Failure> {
    Err(Failure::Garbled(why.to_owned()))
}

#[tokio::test]
async fn an_event_may_be_long_but_not_without_end() {
    let long = answer(text_of(10)).await.unwrap();
    assert_eq!(long.blocks.text().len(), 10 * 1024 * 1024);
    assert_eq!(answer(text_of(17)).await, garbled("an event is longer than 16 MB"));
}

#[tokio::test]
async fn a_reply_that_does_not_end_is_not_heard_to_the_end() {
    let ping = format!("data: {{\"type\":\"ping\",\"pad\":\"{}\"}}\n\n", "a".repeat(1024 * 1024));
    let flood = Flood { start: HEAD.to_owned(), again: ping.into_bytes(), times: usize::MAX, end: "" };
    assert_eq!(answer(flood).await, garbled("more than 64 MB in one reply"));
}

#[tokio::test]
async fn headers_that_do_not_end_are_not_read_to_the_end() {
    let start = "HTTP/1.1 200 OK\r\n".to_owned();
    let flood = Flood { start, again: b"x-more: and more and more\r\n".to_vec(), times: usize::MAX, end: "" };
    let failure = answer(flood).await.unwrap_err();
    assert!(matches!(&failure, Failure::Garbled(why) if why.contains("does not speak HTTP")), "{failure:?}");
    let start = "SSH-2.0-OpenSSH_9.9\r\n".to_owned();
    let failure = answer(Flood { start, again: Vec::new(), times: 0, end: "" }).await.unwrap_err();
    assert!(matches!(&failure, Failure::Garbled(why) if why.contains("does not speak HTTP")), "{failure:?}");
}

#[tokio::test]
async fn a_refusal_that_does_not_end_is_not_read_to_the_end() {
    let start = "HTTP/1.1 418 Teapot\r\n\r\n".to_owned();
    let flood = Flood { start, again: vec![b'a'; 100_000], times: usize::MAX, end: "" };
    let failure = answer(flood).await.unwrap_err();
    assert!(matches!(&failure, Failure::Rejected(why) if why.len() < 400), "{failure:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_not_read_at_all() {
    for kind in ["text/html", "application/json", "application/octet-stream"] {
        let start = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        let flood = Flood { start, again: vec![b'a'; 100_000], times: usize::MAX, end: "" };
        assert_eq!(answer(flood).await, garbled("it is not a stream of events"));
    }
    let flood =
        Flood { start: "HTTP/1.1 200 OK\r\n\r\n".to_owned(), again: vec![b'a'; 9], times: 9, end: "" };
    assert_eq!(answer(flood).await, garbled("it is not a stream of events"));
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_elsewhere() {
    let elsewhere = ModelServer::start().await.unwrap();
    let start = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}/v1/messages\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url()
    );
    let reply = answer(Flood { start, again: Vec::new(), times: 0, end: "" }).await;
    assert_eq!(reply, Err(Failure::Unreachable("307: the address points elsewhere".to_owned())));
    assert!(elsewhere.requests().is_empty());
}
