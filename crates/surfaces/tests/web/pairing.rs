//! K3: tests of pairing, and of limits for failed attempts.

use std::time::Duration;

use surfaces::web::devices::DeviceStore;
use surfaces::web::pairing::CODE_LIFETIME;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{Fixture, READS, RawRequest, WRITES, read_response};

/// K3: a one-time code is exchanged for a cookie that no script and no other site can use.
#[tokio::test]
async fn a_code_pairs_exactly_one_browser() {
    let rig = Fixture::new().await;
    let code = rig.app.pairing().create_code().unwrap();
    let paired = rig.pair(code.reveal()).await;
    assert_eq!(paired.status, 200, "{paired:?}");
    assert!(!paired.body.contains(code.reveal()));
    let cookie = &paired.headers["set-cookie"];
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.to_ascii_lowercase().contains("domain"));
    let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
    assert_eq!(value.len(), 64);
    let mine =
        rig.unpaired_request("GET", "/api/health", "").with_header("cookie", &format!("{name}={value}"));
    assert_eq!(rig.send(&mine).await.status, 200);

    let again = rig.pair(code.reveal()).await;
    assert_eq!(again.status, 403);
    assert!(again.error_message().contains("run `ollim-bot open`"));
    let kept = format!("{:?}", rig.devices.list().await.unwrap());
    assert!(!kept.contains(value));
}

#[tokio::test]
async fn a_code_expires_after_ten_minutes() {
    let rig = Fixture::new().await;
    let code = rig.app.pairing().create_code().unwrap();
    rig.advance_clock(CODE_LIFETIME);
    assert_eq!(rig.pair(code.reveal()).await.status, 403);
}

#[tokio::test]
async fn the_api_requires_a_valid_cookie() {
    let rig = Fixture::new().await;
    let right = &rig.credential;
    let wrong = [
        String::new(),
        format!("ollim-{}=", rig.port),
        format!("ollim-{}={}", rig.port, &right[1..]),
        format!("ollim-{}={right}x", rig.port),
        format!("ollim-{}={}", rig.port, right.to_uppercase()),
        format!("other={right}"),
        format!("ollim-{}", rig.port),
    ];
    let reads = READS.map(|address| ("GET", address));
    let writes =
        WRITES.into_iter().filter(|address| *address != "/api/pair").map(|address| ("POST", address));
    for (method, address) in reads.into_iter().chain(writes) {
        for cookie in &wrong {
            rig.advance_clock(Duration::from_secs(60));
            let query = format!("{address}?token={right}&k={right}");
            let raw = rig.unpaired_request(method, &query, "{}").with_header("cookie", cookie);
            let raw = raw.with_header("authorization", &format!("Bearer {right}"));
            let answer = rig.send(&raw).await;
            assert_eq!(answer.status, 401, "{method} {address} {cookie}");
            assert!(answer.error_message().starts_with("this page isn't paired yet: run `ollim-bot open`"));
        }
    }
}

/// K3: ten wrong codes per minute are accepted from one address; a right one is accepted at any
/// time.
#[tokio::test]
async fn wrong_codes_block_only_wrong_codes() {
    let rig = Fixture::new().await;
    let code = rig.app.pairing().create_code().unwrap();
    for _ in 0..10 {
        assert_eq!(rig.pair("wrong").await.status, 403);
    }
    let eleventh = rig.pair("wrong").await;
    assert_eq!(eleventh.status, 429);
    assert!(eleventh.error_message().contains("a new link works at once"));
    assert_eq!(rig.pair(code.reveal()).await.status, 200);
    rig.advance_clock(Duration::from_secs(60));
    assert_eq!(rig.pair("wrong").await.status, 403);
}

#[tokio::test]
async fn wrong_cookies_block_only_wrong_cookies() {
    let rig = Fixture::new().await;
    let wrong = rig.unpaired_request("GET", "/api/health", "").with_header("cookie", "ollim-1=guess");
    for _ in 0..10 {
        assert_eq!(rig.send(&wrong).await.status, 401);
    }
    assert_eq!(rig.send(&wrong).await.status, 429);
    assert_eq!(rig.send(&rig.paired_request("GET", "/api/health", "")).await.status, 200);
}

#[tokio::test]
async fn only_the_command_line_can_invite_a_browser() {
    let rig = Fixture::new().await;
    let refused = rig.send(&rig.paired_request("POST", "/api/pairings", "{}")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.error_message().contains("ollim-bot open"));

    let raw = RawRequest::new("POST", "/api/pairings").with_header("host", "ollim").json("{}");
    let invited = rig.send_by_file(&raw).await;
    let link = invited.json()["link"].as_str().unwrap().to_owned();
    let (page, code) = link.split_once("/#k=").unwrap();
    assert_eq!(page, format!("http://127.0.0.1:{}", rig.port));
    assert_eq!(rig.pair(code).await.status, 200);
}

/// K6: the connections of a removed device are closed.
#[tokio::test]
async fn the_connections_of_a_removed_device_are_closed() {
    let rig = Fixture::new().await;
    let mut stream = rig.connect().await;
    stream.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    assert_eq!(read_response(&mut stream).await.status, 200);
    let id = rig.devices.list().await.unwrap()[0].id.clone();
    let raw = RawRequest::new("POST", "/api/devices/remove")
        .with_header("host", "ollim")
        .json(&format!("{{\"id\":\"{id}\"}}"));
    assert_eq!(rig.send_by_file(&raw).await.status, 200);

    let ended = tokio::time::timeout(testkit::TEST_TIMEOUT, stream.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok());
    assert_eq!(rig.send(&rig.paired_request("GET", "/api/health", "")).await.status, 401);
}
