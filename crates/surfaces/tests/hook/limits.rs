//! How much is borne: long bodies, slow callers, many at once; by raw bytes over a real connection.

use std::time::Duration;

use domain::schedule::Proof;
use surfaces::hook::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{Rig, WHSEC};

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// All that is heard until the other side hangs up.
async fn heard(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // Who hangs up while we speak has still said something.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn head(slug: &str, more: &str) -> String {
    format!("POST /hook/{slug} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {WHSEC}\r\n{more}\r\n")
}

/// F4, WH-5: a body that says it is too long is refused before a byte of it came; one that does not say so, while it comes.
#[tokio::test]
async fn a_long_body_is_refused_before_it_is_read() {
    let mut rig = Rig::new();
    let port = rig.open(Limits::HOUSE).await;
    let mut stream = connect(port).await;
    stream.write_all(head("bearer", "content-length: 10241\r\n").as_bytes()).await.unwrap();
    assert!(heard(&mut stream).await.starts_with("HTTP/1.1 413 "));

    let mut stream = connect(port).await;
    stream.write_all(head("bearer", "transfer-encoding: chunked\r\n").as_bytes()).await.unwrap();
    let chunk = format!("1000\r\n{}\r\n", "a".repeat(0x1000));
    for _ in 0..3 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert!(heard(&mut stream).await.starts_with("HTTP/1.1 413 "));

    let fits = format!("{{\"test\": 1{}}}", " ".repeat(10_240 - 11));
    assert_eq!(fits.len(), 10_240);
    let mut stream = connect(port).await;
    let whole = head("bearer", "content-length: 10240\r\n") + &fits;
    stream.write_all(whole.as_bytes()).await.unwrap();
    assert!(heard(&mut stream).await.starts_with("HTTP/1.1 202 "));
    assert_eq!(rig.taken(), 1);
}

/// F4: whoever takes too long is hung up on, in the head and in the body, known or not.
#[tokio::test]
async fn whoever_dawdles_is_hung_up_on() {
    let mut rig = Rig::new();
    let port = rig.open(Limits { call: Duration::from_millis(60), ..Limits::HOUSE }).await;
    let starts = [
        String::new(),
        "POST /hook/bearer HTTP/1.1\r\nhost".to_owned(),
        head("bearer", "content-length: 12\r\n") + "{\"te",
        head(
            "standard",
            "webhook-id: a\r\nwebhook-timestamp: 1614265330\r\nwebhook-signature: v1,x\r\ncontent-length: 12\r\n",
        ),
    ];
    for start in starts {
        let mut stream = connect(port).await;
        stream.write_all(start.as_bytes()).await.unwrap();
        assert!(!heard(&mut stream).await.contains(" 202 "), "{start}");
    }
    assert_eq!(Limits::HOUSE.call, Duration::from_secs(10));
    assert_eq!(rig.taken(), 0);
}

/// F4: eight who have not shown who they are, and the ninth is turned away; whoever knows the secret makes room.
#[tokio::test]
async fn the_ninth_stranger_is_turned_away() {
    let mut rig = Rig::new();
    let port = rig.open(Limits::HOUSE).await;
    let mut strangers = Vec::new();
    for _ in 0..8 {
        strangers.push(connect(port).await);
    }
    let mut ninth = connect(port).await;
    assert!(heard(&mut ninth).await.starts_with("HTTP/1.1 503 "));
    let mut first = strangers.remove(0);
    first.write_all((head("bearer", "content-length: 11\r\n") + "{\"test\": 1}").as_bytes()).await.unwrap();
    assert!(heard(&mut first).await.starts_with("HTTP/1.1 202 "));
    let mut again = connect(port).await;
    again.write_all((head("bearer", "content-length: 11\r\n") + "{\"test\": 2}").as_bytes()).await.unwrap();
    assert!(heard(&mut again).await.starts_with("HTTP/1.1 202 "));
}

/// WH-1: the door is shut when the house is, and only this machine reaches it.
#[tokio::test]
async fn the_door_is_shut_with_the_house() {
    let mut rig = Rig::new();
    let door = surfaces::hook::bind(0).await.unwrap();
    assert!(door.address().ip().is_loopback());
    drop(door);
    let port = rig.open(Limits::HOUSE).await;
    connect(port).await;
    rig.stop.cancel();
    while rig.tasks.len() > 1 {
        rig.tasks.join_next().await;
    }
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(rig.right(Proof::Bearer, "1", "{}").body, b"{}");
}
