//! A server that means harm costs a bounded amount of memory and time.

use std::time::Duration;

use domain::conversation::Text;
use domain::failure::Failure;
use domain::turn::Reply;
use testkit::chat_server::{ChatServer, Style};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::stage::{ask, context, human, model};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const END: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

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
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"";
    let text = vec![b'a'; megabytes * 1024 * 1024];
    let mut again = text;
    again.extend_from_slice(b"\"}}]}\n\n");
    Flood { start: format!("{HEAD}{delta}"), again, times: 1, end: END }
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
    let ping = format!("data: {{\"choices\":[],\"pad\":\"{}\"}}\n\n", "a".repeat(1024 * 1024));
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
async fn an_answer_that_is_neither_a_stream_nor_json_is_not_read_at_all() {
    for kind in ["text/html", "application/octet-stream"] {
        let start = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        let flood = Flood { start, again: vec![b'a'; 100_000], times: usize::MAX, end: "" };
        assert_eq!(answer(flood).await, garbled("it is not a stream of events"));
    }
    let flood =
        Flood { start: "HTTP/1.1 200 OK\r\n\r\n".to_owned(), again: vec![b'a'; 9], times: 9, end: "" };
    assert_eq!(answer(flood).await, garbled("it is not a stream of events"));
}

#[tokio::test]
async fn a_whole_answer_has_an_end_and_says_something() {
    let start = || "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_owned();
    let flood = Flood { start: start() + "\r\n", again: vec![b' '; 100_000], times: usize::MAX, end: "" };
    assert_eq!(answer(flood).await, garbled("an answer longer than 16 MB"));
    let check = async |body: &'static str, expected: Failure| {
        let start = start() + &format!("content-length: {}\r\n\r\n", body.len());
        assert_eq!(answer(Flood { start, again: Vec::new(), times: 0, end: body }).await, Err(expected));
    };
    check("{}", Failure::Garbled("it is not an answer to a conversation".to_owned())).await;
    check("[1]", Failure::Garbled("an event that is not in its language".to_owned())).await;
    check("\"hello\"", Failure::Garbled("an event that is not in its language".to_owned())).await;
    check("{\"error\":{\"message\":\"no\",\"code\":\"500\"}}", Failure::Broken("no".to_owned())).await;
}

/// A million pieces of calls cost what a million pieces of text cost.
#[tokio::test]
async fn many_small_pieces_of_calls_are_not_looked_at_again_and_again() {
    let piece = |index: usize| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"id\":\"{index}\",\"function\":{{\"name\":\"n\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"
        )
    };
    let again: String = (0..20_000).map(|at| piece(at) + &piece(at % 2)).collect();
    let flood = Flood { start: HEAD.to_owned(), again: again.into_bytes(), times: 1, end: END };
    let reply = answer(flood).await;
    assert!(
        matches!(&reply, Err(Failure::Garbled(_))) || reply.is_ok_and(|reply| reply.blocks.len() >= 20_000)
    );
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_elsewhere() {
    let elsewhere = ChatServer::start(Style::OpenAi).await.unwrap();
    let start = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}/chat/completions\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url()
    );
    let reply = answer(Flood { start, again: Vec::new(), times: 0, end: "" }).await;
    assert_eq!(reply, Err(Failure::Unreachable("307: the address points elsewhere".to_owned())));
    assert!(elsewhere.requests().is_empty());
}
