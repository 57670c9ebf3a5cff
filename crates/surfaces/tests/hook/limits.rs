//! Tests of limits: long bodies, slow callers and many connections, with raw bytes over real
//! connections.

use std::time::Duration;

use domain::schedule::WebhookAuth;
use surfaces::webhook::WebhookLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, WHSEC};

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// Reads until the connection is closed.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // After a connection error, the bytes received so far are still returned.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Headers of a call whose signature is well-formed.
const SIGNED: &str = "webhook-id: a\r\nwebhook-timestamp: 1614265330\r\n\
    webhook-signature: v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n";

fn head(slug: &str, more: &str) -> String {
    format!("POST /hook/{slug} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {WHSEC}\r\n{more}\r\n")
}

/// F4, WH-5: a body announced as too long is refused before it is received; another one while it is
/// received.
#[tokio::test]
async fn a_long_body_is_refused_before_it_is_read() {
    let mut rig = Fixture::new();
    let port = rig.serve(WebhookLimits::DEFAULT).await;
    let mut stream = connect(port).await;
    stream.write_all(head("bearer", "content-length: 10241\r\n").as_bytes()).await.unwrap();
    assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 413 "));

    let mut stream = connect(port).await;
    stream.write_all(head("bearer", "transfer-encoding: chunked\r\n").as_bytes()).await.unwrap();
    let chunk = format!("1000\r\n{}\r\n", "a".repeat(0x1000));
    for _ in 0..3 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 413 "));

    let fits = format!("{{\"test\": 1{}}}", " ".repeat(10_240 - 11));
    assert_eq!(fits.len(), 10_240);
    let mut stream = connect(port).await;
    let whole = head("bearer", "content-length: 10240\r\n") + &fits;
    stream.write_all(whole.as_bytes()).await.unwrap();
    assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 202 "));
    assert_eq!(rig.delivery_count(), 1);
}

/// F4: a call that takes too long is closed, in its head or body, with or without a valid secret.
#[tokio::test]
async fn a_slow_call_is_closed() {
    let mut rig = Fixture::new();
    let port =
        rig.serve(WebhookLimits { call_timeout: Duration::from_millis(60), ..WebhookLimits::DEFAULT }).await;
    let starts = [
        String::new(),
        "POST /hook/bearer HTTP/1.1\r\nhost".to_owned(),
        head("bearer", "content-length: 12\r\n") + "{\"te",
        head("standard", &format!("{SIGNED}content-length: 12\r\n")),
    ];
    for start in starts {
        let mut stream = connect(port).await;
        stream.write_all(start.as_bytes()).await.unwrap();
        assert!(!read_response(&mut stream).await.contains(" 202 "), "{start}");
    }
    assert_eq!(WebhookLimits::DEFAULT.call_timeout, Duration::from_secs(10));
    assert_eq!(rig.delivery_count(), 0);
}

/// F4: the oldest silent connection is dropped for the next one and gets a response that says why.
#[tokio::test]
async fn the_oldest_silent_connection_is_dropped_with_a_response() {
    let mut rig = Fixture::new();
    let port =
        rig.serve(WebhookLimits { unproven: 2, grace: Duration::ZERO, ..WebhookLimits::DEFAULT }).await;
    let mut first = connect(port).await;
    first.write_all(b"POST /hook/bearer HTTP/1.1\r\nhost").await.unwrap();
    let _second = connect(port).await;
    let mut third = connect(port).await;
    third.write_all((head("bearer", "content-length: 11\r\n") + "{\"test\": 1}").as_bytes()).await.unwrap();
    assert!(read_response(&mut third).await.starts_with("HTTP/1.1 202 "));
    // More of the call arrives after it was refused: the connection is closed, not reset.
    first.write_all(&[b'a'; 4096]).await.unwrap();
    let mut all = String::new();
    first.read_to_string(&mut all).await.unwrap();
    assert!(all.starts_with("HTTP/1.1 503 ") && all.contains("too many connections"), "{all}");
}

/// F4: connections that send nothing, half a head, or a signature without a body do not block
/// correct calls.
#[tokio::test]
async fn half_open_connections_do_not_block_correct_calls() {
    for limits in [
        WebhookLimits::DEFAULT,
        WebhookLimits { unproven: 32, grace: Duration::ZERO, ..WebhookLimits::DEFAULT },
    ] {
        let mut rig = Fixture::new();
        let port = rig.serve(limits).await;
        let mut silent = Vec::new();
        for number in 0..64 {
            let mut stream = connect(port).await;
            let start = match number % 3 {
                0 => String::new(),
                1 => "POST /hook/bearer HTTP/1.1\r\nhost".to_owned(),
                _ => head("standard", &format!("{SIGNED}content-length: 12\r\n")),
            };
            stream.write_all(start.as_bytes()).await.unwrap();
            silent.push(stream);
        }
        let mut sent = 0;
        for number in 0..20 {
            for proof in WebhookAuth::ALL {
                let body = "{\"test\": 1}";
                let call = rig.valid_call(proof, &format!("{number}"), body);
                let headers = call
                    .headers
                    .iter()
                    .map(|(name, value)| format!("{name}: {}\r\n", String::from_utf8_lossy(value)));
                let text = format!(
                    "POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n{}\r\n{body}",
                    call.path,
                    body.len(),
                    headers.collect::<String>()
                );
                let mut stream = connect(port).await;
                stream.write_all(text.as_bytes()).await.unwrap();
                let answer = read_response(&mut stream).await;
                assert!(answer.starts_with("HTTP/1.1 202 "), "{number} {proof:?}: {answer}");
                sent += 1;
            }
        }
        assert_eq!(sent, 60);
    }
}

/// F4: a call whose proof cannot be right is refused before its body is received.
#[tokio::test]
async fn an_impossible_proof_is_refused_before_the_body() {
    let mut rig = Fixture::new();
    let port = rig.serve(WebhookLimits::DEFAULT).await;
    let old = SIGNED.replace("1614265330", "1614260000");
    let short = "webhook-id: a\r\nwebhook-timestamp: 1614265330\r\nwebhook-signature: v1,x\r\n".to_owned();
    let hex = "x-github-delivery: 1\r\nx-hub-signature-256: sha256=1\r\n".to_owned();
    let secret = format!("authorization: Bearer {}\r\n", WHSEC.replace(char::is_numeric, "x"));
    let proofs = [
        ("standard", old),
        ("standard", short),
        ("github", hex),
        ("bearer", secret),
        ("bearer", String::new()),
    ];
    for (slug, proof) in proofs {
        let mut stream = connect(port).await;
        let text = format!("POST /hook/{slug} HTTP/1.1\r\nhost: x\r\n{proof}content-length: 12\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 401 "), "{slug} {proof}");
    }
}

/// WH-1: the port is closed when the daemon stops, and only this machine reaches it.
#[tokio::test]
async fn the_port_is_closed_when_the_daemon_stops() {
    let mut rig = Fixture::new();
    let door = surfaces::webhook::bind(0).await.unwrap();
    assert!(door.address().ip().is_loopback());
    drop(door);
    let port = rig.serve(WebhookLimits::DEFAULT).await;
    connect(port).await;
    rig.stop.cancel();
    while rig.tasks.len() > 1 {
        rig.tasks.join_next().await;
    }
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(rig.valid_call(WebhookAuth::Bearer, "1", "{}").body, b"{}");
}
