//! K3: tests of pairing, and of limits for failed attempts.

use std::time::Duration;

use surfaces::web::devices::Devices;
use surfaces::web::pairing::CODE_LASTS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{READS, Raw, Rig, WRITES, read};

/// K3: a one-time code is exchanged for a cookie that no script and no other site can use.
#[tokio::test]
async fn a_code_makes_one_browser_known_and_nobody_else() {
    let rig = Rig::new().await;
    let code = rig.app.pairing().mint().unwrap();
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
    let mine = rig.stranger("GET", "/api/health", "").with("cookie", &format!("{name}={value}"));
    assert_eq!(rig.send(&mine).await.status, 200);

    let again = rig.pair(code.reveal()).await;
    assert_eq!(again.status, 403);
    assert!(again.sentence().contains("run `ollim-bot open`"));
    let kept = format!("{:?}", rig.devices.list().await.unwrap());
    assert!(!kept.contains(value));
}

#[tokio::test]
async fn a_code_is_too_old_after_ten_minutes() {
    let rig = Rig::new().await;
    let code = rig.app.pairing().mint().unwrap();
    rig.pass(CODE_LASTS);
    assert_eq!(rig.pair(code.reveal()).await.status, 403);
}

#[tokio::test]
async fn nobody_gets_at_the_api_without_the_right_cookie() {
    let rig = Rig::new().await;
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
            rig.pass(Duration::from_secs(60));
            let query = format!("{address}?token={right}&k={right}");
            let raw = rig.stranger(method, &query, "{}").with("cookie", cookie);
            let raw = raw.with("authorization", &format!("Bearer {right}"));
            let answer = rig.send(&raw).await;
            assert_eq!(answer.status, 401, "{method} {address} {cookie}");
            assert!(answer.sentence().starts_with("this page isn't paired yet: run `ollim-bot open`"));
        }
    }
}

/// K3: ten wrong codes per minute are accepted from one address; a right one is accepted at any
/// time.
#[tokio::test]
async fn wrong_codes_slow_down_only_wrong_codes() {
    let rig = Rig::new().await;
    let code = rig.app.pairing().mint().unwrap();
    for _ in 0..10 {
        assert_eq!(rig.pair("wrong").await.status, 403);
    }
    let eleventh = rig.pair("wrong").await;
    assert_eq!(eleventh.status, 429);
    assert!(eleventh.sentence().contains("a new link works at once"));
    assert_eq!(rig.pair(code.reveal()).await.status, 200);
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.pair("wrong").await.status, 403);
}

#[tokio::test]
async fn the_eleventh_wrong_cookie_in_a_minute_is_told_to_wait_and_the_right_one_is_not() {
    let rig = Rig::new().await;
    let wrong = rig.stranger("GET", "/api/health", "").with("cookie", "ollim-1=guess");
    for _ in 0..10 {
        assert_eq!(rig.send(&wrong).await.status, 401);
    }
    assert_eq!(rig.send(&wrong).await.status, 429);
    assert_eq!(rig.send(&rig.own("GET", "/api/health", "")).await.status, 200);
}

#[tokio::test]
async fn only_the_command_line_can_invite_a_browser() {
    let rig = Rig::new().await;
    let refused = rig.send(&rig.own("POST", "/api/pairings", "{}")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.sentence().contains("ollim-bot open"));

    let raw = Raw::new("POST", "/api/pairings").with("host", "ollim").json("{}");
    let invited = rig.by_file(&raw).await;
    let link = invited.json()["link"].as_str().unwrap().to_owned();
    let (page, code) = link.split_once("/#k=").unwrap();
    assert_eq!(page, format!("http://127.0.0.1:{}", rig.port));
    assert_eq!(rig.pair(code).await.status, 200);
}

/// K6: the connections of a removed device are closed.
#[tokio::test]
async fn a_device_that_is_forgotten_is_hung_up_on_at_once() {
    let rig = Rig::new().await;
    let mut stream = rig.connect().await;
    stream.write_all(rig.own("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    assert_eq!(read(&mut stream).await.status, 200);
    let id = rig.devices.list().await.unwrap()[0].id.clone();
    let raw =
        Raw::new("POST", "/api/devices/remove").with("host", "ollim").json(&format!("{{\"id\":\"{id}\"}}"));
    assert_eq!(rig.by_file(&raw).await.status, 200);

    let ended = tokio::time::timeout(testkit::PATIENCE, stream.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok());
    assert_eq!(rig.send(&rig.own("GET", "/api/health", "")).await.status, 401);
}
