//! K3: how much is borne from whoever connects.

use std::time::Duration;

use surfaces::web::{Limits, SAY_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{Rig, read};

/// K3: eight sockets that nobody knows.
#[tokio::test]
async fn the_ninth_stranger_is_turned_away_and_who_is_known_takes_no_room() {
    let rig = Rig::new().await;
    let mut known = Vec::new();
    for _ in 0..12 {
        let mut stream = rig.connect().await;
        stream.write_all(rig.own("GET", "/api/events", "").text().as_bytes()).await.unwrap();
        assert_eq!(read(&mut stream).await.status, 200);
        known.push(stream);
    }
    let mut strangers = Vec::new();
    for _ in 0..8 {
        strangers.push(rig.connect().await);
    }
    let mut ninth = rig.connect().await;
    let answer = read(&mut ninth).await;
    assert_eq!(answer.status, 503);
    assert!(answer.sentence().contains("too many connections"));

    // One of the eight speaks, is answered and so makes room.
    let mut first = strangers.remove(0);
    first.write_all(rig.stranger("GET", "/", "").text().as_bytes()).await.unwrap();
    assert_eq!(read(&mut first).await.status, 200);
    drop(first);
    let again = rig.send(&rig.stranger("GET", "/", "")).await;
    assert_eq!(again.status, 200);
}

/// K3: a bounded time for the head of a request.
#[tokio::test]
async fn who_does_not_finish_the_head_is_hung_up_on() {
    let head = Duration::from_millis(50);
    let rig = Rig::with(Limits { head, ..Limits::HOUSE }).await;
    for start in ["", "GET / HTTP/1.1\r\nhost: 127.0.0.1"] {
        let mut stream = rig.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!String::from_utf8_lossy(&rest).starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn who_does_not_finish_the_body_is_told_so() {
    let body = Duration::from_millis(50);
    let rig = Rig::with(Limits { body, ..Limits::HOUSE }).await;
    let raw = rig.stranger("POST", "/api/pair", "").without("content-length").with("content-length", "100");
    let answer = rig.send(&raw).await;
    assert_eq!(answer.status, 408, "{answer:?}");
}

#[tokio::test]
async fn a_stranger_who_stays_too_long_is_shown_out() {
    let stay = Duration::from_millis(50);
    let rig = Rig::with(Limits { stay, ..Limits::HOUSE }).await;
    let mut stream = rig.connect().await;
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    let mut known = rig.connect().await;
    known.write_all(rig.own("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    assert_eq!(read(&mut known).await.status, 200);
}

#[tokio::test]
async fn oversized_heads_and_bodies_are_refused() {
    let rig = Rig::new().await;
    let long = rig.stranger("GET", "/", "").with("x-long", &"a".repeat(40_000));
    assert!(matches!(rig.send(&long).await.status, 0 | 431));
    let many =
        (0..100).fold(rig.stranger("GET", "/", ""), |raw, number| raw.with(&format!("x-{number}"), "1"));
    assert!(matches!(rig.send(&many).await.status, 0 | 431));

    let fits = format!("{{\"text\":\"{}\"}}", "a".repeat(90_000));
    assert_eq!(rig.send(&rig.own("POST", "/api/messages", &fits)).await.status, 202);
    let declared = rig.own("POST", "/api/messages", "").without("content-length");
    let declared = declared.with("content-length", &(SAY_BYTES + 1).to_string());
    assert_eq!(rig.send(&declared).await.status, 413);
    let pair = rig.stranger("POST", "/api/pair", &"a".repeat(5_000));
    assert_eq!(rig.send(&pair).await.status, 413);
}

#[tokio::test]
async fn an_undeclared_flood_is_cut_off() {
    let rig = Rig::new().await;
    let raw =
        rig.own("POST", "/api/commands", "").without("content-length").with("transfer-encoding", "chunked");
    let mut stream = rig.connect().await;
    stream.write_all(raw.text().as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    for _ in 0..20 {
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    assert!(matches!(read(&mut stream).await.status, 0 | 413));
    assert!(rig.journal.0.borrow().is_empty());
}
