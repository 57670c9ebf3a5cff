//! The rate limits in a response head reach the sink, also with a refusal.

use std::sync::Mutex;

use engine::ports::{ResponseHead, StreamSink};
use expect_test::expect;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::api::{ApiKind, BOTH_APIS};
use crate::support::{context, user};

/// Records response heads.
#[derive(Default)]
struct RecordedHeads(Mutex<Vec<ResponseHead>>);

impl StreamSink for RecordedHeads {
    fn text(&self, _: &str) {}

    fn response_head(&self, head: &ResponseHead) {
        self.0.lock().unwrap().push(head.clone());
    }
}

/// Calls a server that answers with `status` and `limits` and no body. Returns the recorded heads.
async fn recorded_heads(wire: ApiKind, status: &str, limits: &str) -> Vec<ResponseHead> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\nconnection: close\r\n{limits}\r\n"
    );
    let serve = async {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 65_536];
            let _ = socket.read(&mut asked).await;
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    };
    let model = wire.model(&url);
    let context = context(vec![user("hi")]);
    let recorded = RecordedHeads::default();
    tokio::select! {
        reply = model.reply(&context, &recorded) => assert!(reply.is_err(), "there is no body"),
        () = serve => {}
    }
    recorded.0.into_inner().unwrap()
}

#[tokio::test]
async fn rate_limits_of_each_response_are_reported() {
    let mut told = String::new();
    for (wire, limits) in BOTH_APIS.into_iter().zip([
        "date: Thu, 19 Nov 2026 03:20:10 GMT\r\nanthropic-ratelimit-requests-limit: 50\r\n\
         anthropic-ratelimit-requests-remaining: 7\r\nanthropic-ratelimit-requests-reset: 2026-11-19T03:20:40Z\r\n",
        "x-ratelimit-limit-requests: 60\r\nx-ratelimit-remaining-requests: 8\r\nx-ratelimit-reset-requests: 52s\r\n",
    ]) {
        for status in ["200 OK", "429 Too Many Requests"] {
            for head in recorded_heads(wire, status, limits).await {
                told += &format!("{status}: accepted {}, {:?}\n", head.accepted, head.limits);
            }
        }
    }
    expect![[r#"
        200 OK: accepted true, [RateLimit { unit: Requests, limit: 50, remaining: 7, resets_in: 30s }]
        429 Too Many Requests: accepted false, [RateLimit { unit: Requests, limit: 50, remaining: 7, resets_in: 30s }]
        200 OK: accepted true, [RateLimit { unit: Requests, limit: 60, remaining: 8, resets_in: 52s }]
        429 Too Many Requests: accepted false, [RateLimit { unit: Requests, limit: 60, remaining: 8, resets_in: 52s }]
    "#]]
    .assert_eq(&told);
}
