//! K3: tests of limits for connections and requests.

use std::time::Duration;

use surfaces::web::{MAX_MESSAGE_BYTES, WebLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, RawRequest, read_response};

/// The start of a request that is never completed.
const HALF_REQUEST: &[u8] = b"GET /api/health HTTP/1.1\r\nhost: 127.0.0.1";

async fn half_open(rig: &Fixture, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = rig.connect().await;
        stream.write_all(HALF_REQUEST).await.unwrap();
        streams.push(stream);
    }
    streams
}

/// K3: unpaired connections are bounded; the oldest silent one is dropped with a response that says
/// why.
#[tokio::test]
async fn the_oldest_silent_connection_is_dropped_with_a_response() {
    let rig =
        Fixture::with_limits(WebLimits { unpaired: 2, grace: Duration::ZERO, ..WebLimits::DEFAULT }).await;
    let mut strangers = half_open(&rig, 2).await;
    assert_eq!(rig.send(&rig.paired_request("GET", "/api/health", "")).await.status, 200);
    // More of the request arrives after it was refused: the connection is closed, not reset.
    strangers[0].write_all(&[b'a'; 4096]).await.unwrap();
    let mut all = Vec::new();
    strangers[0].read_to_end(&mut all).await.unwrap();
    let text = String::from_utf8(all).unwrap();
    assert!(text.starts_with("HTTP/1.1 503 ") && text.contains("Too many connections are open."), "{text}");
    strangers[1].write_all(b"\r\n\r\n").await.unwrap();
    assert_ne!(read_response(&mut strangers[1]).await.status, 503);
}

/// K3: unpaired connections take no capacity from paired browsers, within their limit or beyond it.
#[tokio::test]
async fn half_open_connections_do_not_block_paired_browsers() {
    for limits in
        [WebLimits::DEFAULT, WebLimits { unpaired: 64, grace: Duration::ZERO, ..WebLimits::DEFAULT }]
    {
        let rig = Fixture::with_limits(limits).await;
        let mut known = Vec::new();
        for _ in 0..12 {
            let mut stream = rig.connect().await;
            stream.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
            assert_eq!(read_response(&mut stream).await.status, 200);
            known.push(stream);
        }
        let _strangers = half_open(&rig, 64).await;
        for number in 0..100 {
            let answer = rig.send(&rig.paired_request("GET", "/api/health", "")).await;
            assert_eq!(answer.status, 200, "{number}: {answer:?}");
        }
        let code = rig.app.pairing().create_code().unwrap();
        assert_eq!(rig.pair(code.reveal()).await.status, 200);
    }
}

/// Two hundred concurrent messages are all accepted, next to silent unpaired connections.
#[tokio::test]
async fn two_hundred_concurrent_messages_are_accepted() {
    let rig = Fixture::new().await;
    let _strangers = half_open(&rig, 64).await;
    let messages = (0..200)
        .map(|number| rig.paired_request("POST", "/api/messages", &format!("{{\"text\":\"m{number}\"}}")));
    let messages: Vec<_> = messages.collect();
    let answers = futures_util::future::join_all(messages.iter().map(|message| rig.send(message))).await;
    for answer in answers {
        assert_eq!(answer.status, 202, "{answer:?}");
    }
}

/// Paired devices have a limit of their own. Beyond it, the client gets a response.
#[tokio::test]
async fn too_many_paired_connections_get_an_error() {
    let rig = Fixture::with_limits(WebLimits { paired: 1, ..WebLimits::DEFAULT }).await;
    let mut known = rig.connect().await;
    known.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    assert_eq!(read_response(&mut known).await.status, 200);
    let refused = rig.send(&rig.paired_request("GET", "/api/health", "")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "10"));
    assert!(refused.error_message().starts_with("Too many connections are open."));

    let by_file = RawRequest::new("GET", "/api/events").with_header("host", "ollim");
    let mut first = surfaces::web::listener::connect_file(rig.home.path(), "ollim.sock").await.unwrap();
    first.write_all(by_file.text().as_bytes()).await.unwrap();
    assert_eq!(read_response(&mut first).await.status, 200);
    assert_eq!(
        rig.send_by_file(&RawRequest::new("GET", "/api/health").with_header("host", "ollim")).await.status,
        503
    );
}

/// K3: the head of a request must arrive in time.
#[tokio::test]
async fn an_incomplete_head_is_closed_after_a_timeout() {
    let head = Duration::from_millis(50);
    let rig = Fixture::with_limits(WebLimits { head_timeout: head, ..WebLimits::DEFAULT }).await;
    for start in ["", "GET / HTTP/1.1\r\nhost: 127.0.0.1"] {
        let mut stream = rig.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn an_incomplete_body_gets_a_timeout_error() {
    let body = Duration::from_millis(50);
    let rig = Fixture::with_limits(WebLimits { body_timeout: body, ..WebLimits::DEFAULT }).await;
    let raw = rig
        .unpaired_request("POST", "/api/pair", "")
        .without_header("content-length")
        .with_header("content-length", "100");
    let answer = rig.send(&raw).await;
    assert_eq!(answer.status, 408, "{answer:?}");
}

/// K3: the cookie is checked before the body is received.
#[tokio::test]
async fn a_request_without_a_valid_cookie_is_refused_before_the_body() {
    let rig =
        Fixture::with_limits(WebLimits { body_timeout: Duration::from_secs(3_600), ..WebLimits::DEFAULT })
            .await;
    for path in ["/api/messages", "/api/commands"] {
        let raw = rig
            .unpaired_request("POST", path, "")
            .without_header("content-length")
            .with_header("content-length", "100");
        let answer = rig.send(&raw).await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn an_unpaired_connection_is_closed_after_its_lifetime() {
    let stay = Duration::from_millis(50);
    let rig = Fixture::with_limits(WebLimits { unpaired_lifetime: stay, ..WebLimits::DEFAULT }).await;
    let mut stream = rig.connect().await;
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    let mut known = rig.connect().await;
    known.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    assert_eq!(read_response(&mut known).await.status, 200);
}

#[tokio::test]
async fn oversized_heads_and_bodies_are_refused() {
    let rig = Fixture::new().await;
    let long = rig.unpaired_request("GET", "/", "").with_header("x-long", &"a".repeat(40_000));
    assert!(matches!(rig.send(&long).await.status, 0 | 431));
    let many = (0..100).fold(rig.unpaired_request("GET", "/", ""), |raw, number| {
        raw.with_header(&format!("x-{number}"), "1")
    });
    assert!(matches!(rig.send(&many).await.status, 0 | 431));

    let fits = format!("{{\"text\":\"{}\"}}", "a".repeat(90_000));
    assert_eq!(rig.send(&rig.paired_request("POST", "/api/messages", &fits)).await.status, 202);
    let declared = rig.paired_request("POST", "/api/messages", "").without_header("content-length");
    let declared = declared.with_header("content-length", &(MAX_MESSAGE_BYTES + 1).to_string());
    assert_eq!(rig.send(&declared).await.status, 413);
    let pair = rig.unpaired_request("POST", "/api/pair", &"a".repeat(5_000));
    assert_eq!(rig.send(&pair).await.status, 413);
}

#[tokio::test]
async fn an_oversized_chunked_body_is_cut_off() {
    let rig = Fixture::new().await;
    let raw = rig
        .paired_request("POST", "/api/commands", "")
        .without_header("content-length")
        .with_header("transfer-encoding", "chunked");
    let mut stream = rig.connect().await;
    stream.write_all(raw.text().as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    for _ in 0..20 {
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    assert!(matches!(read_response(&mut stream).await.status, 0 | 413));
    assert!(rig.journal.0.borrow().is_empty());
}
