//! Tests of authentication: published examples, schemes, rotation and repeated calls.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use domain::schedule::WebhookAuth;
use surfaces::webhook::{WebhookCall, WebhookReply};

use crate::fixture::{Call, Fixture, WHSEC};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| ((*name).parse().unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

/// F1: the published example of Standard Webhooks is accepted, also among several signatures.
#[test]
fn the_published_example_of_standard_webhooks_is_accepted() {
    let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let body = br#"{"test": 2432232314}"#;
    let called = |signature: &str, seconds: i64, secret: &str| {
        let headers = headers(&[
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ]);
        let at = jiff::Timestamp::from_second(seconds).unwrap();
        WebhookCall { id: "x", headers: &headers, at }.verify(WebhookAuth::Standard, secret, body).is_ok()
    };
    assert!(called(right, 1_614_265_330, WHSEC));
    assert!(called(right, 1_614_265_330, WHSEC.trim_start_matches("whsec_")));
    let several = format!("v1a,abc v1,AAAA {right}");
    assert!(called(&several, 1_614_265_330, WHSEC));
    assert!(called(right, 1_614_265_330 + 300, WHSEC) && called(right, 1_614_265_330 - 300, WHSEC));
    for wrong in [301, -301, 86_400, i64::from(i32::MAX)] {
        assert!(!called(right, 1_614_265_330 + wrong, WHSEC), "{wrong}");
    }
    for wrong in ["", "whsec_", "whsec_!", "not base64 at all"] {
        assert!(!called(right, 1_614_265_330, wrong), "{wrong}");
    }
}

/// F1: the example of GitHub's documentation is accepted.
#[test]
fn the_documented_example_of_github_is_accepted() {
    let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let called = |signature: &str, secret: &str, body: &[u8]| {
        let headers = headers(&[("x-hub-signature-256", signature), ("x-github-delivery", "72d3162e")]);
        let at = jiff::Timestamp::UNIX_EPOCH;
        WebhookCall { id: "x", headers: &headers, at }.verify(WebhookAuth::GitHub, secret, body).is_ok()
    };
    let secret = "It's a Secret to Everybody";
    assert!(called(right, secret, b"Hello, World!"));
    assert!(!called(right, secret, b"Hello, World?"));
    assert!(!called(right, "", b"Hello, World!"));
    assert!(!called(&right.to_uppercase(), secret, b"Hello, World!"));
    assert!(!called(&right.replace("sha256", "sha1"), secret, b"Hello, World!"));
}

/// WH-2, WH-3, WH-4, WH-11: checks are made in order: path, method, secret, name.
#[tokio::test]
async fn checks_are_made_in_order() {
    let rig = Fixture::new();
    let right = rig.valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#);
    assert_eq!(rig.call(&right).await, WebhookReply::Accepted);
    assert_eq!(rig.call(&right).await.body()["status"], "accepted");
    for path in ["/", "/hook", "/hook/", "/hook/bearer/x", "/hooks/bearer", "/api/health"] {
        assert_eq!(rig.call(&right.clone().at_path(path)).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    for method in ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let mut call = right.clone();
        call.method = method.to_owned();
        assert_eq!(rig.call(&call).await.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
    let stranger =
        rig.call(&right.clone().with_header("authorization", "Bearer wrong").at_path("/hook/nobody")).await;
    assert_eq!(
        (stranger.status(), stranger.body()),
        (StatusCode::UNAUTHORIZED, serde_json::json!({"error": "unauthorized"}))
    );
    let missing = rig.call(&right.at_path("/hook/nobody")).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(missing.body()["error"], "webhook not found: nobody");
}

/// WH-3: the secret is compared as bytes, and a header that is not valid text is refused.
#[tokio::test]
async fn a_header_with_invalid_text_is_refused() {
    let rig = Fixture::new();
    let secret = rig.webhooks.secret.borrow().clone().unwrap();
    for (number, value) in [
        b"Bearer \xff\xfe".to_vec(),
        format!("Bearer {secret}\u{e9}").into_bytes(),
        format!("Basic {secret}").into_bytes(),
        secret.clone().into_bytes(),
        b"Bearer ".to_vec(),
    ]
    .into_iter()
    .enumerate()
    {
        let mut call = rig.valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#);
        call.from = std::net::IpAddr::from([10, 0, 0, u8::try_from(number).unwrap()]);
        call.headers[0].1 = value;
        assert_eq!(rig.call(&call).await, WebhookReply::unauthorized());
    }
    rig.webhooks.secret.send_replace(Some("größe".to_owned()));
    assert_eq!(
        rig.call(&rig.valid_call(WebhookAuth::Bearer, "2", r#"{"test": 1}"#)).await,
        WebhookReply::Accepted
    );
}

/// J4, F1: a changed secret applies to the next call, and without a secret all calls are refused.
#[tokio::test]
async fn a_rotated_secret_applies_at_once_and_a_missing_one_refuses_all() {
    let rig = Fixture::new();
    for proof in WebhookAuth::ALL {
        let old = rig.valid_call(proof, &format!("{proof:?}"), r#"{"test": 1}"#);
        rig.webhooks.secret.send_replace(Some("whsec_c2VzYW1lc2VzYW1l".to_owned()));
        assert_eq!(rig.call(&old).await, WebhookReply::unauthorized(), "{proof:?}");
        let new = rig.valid_call(proof, &format!("{proof:?}"), r#"{"test": 1}"#);
        assert_eq!(rig.call(&new).await, WebhookReply::Accepted, "{proof:?}");
        for none in [None, Some(String::new())] {
            rig.webhooks.secret.send_replace(none);
            assert_eq!(
                rig.call(&rig.valid_call(proof, "x", r#"{"test": 1}"#)).await,
                WebhookReply::unauthorized(),
                "{proof:?}"
            );
            rig.webhooks.secret.send_replace(Some(WHSEC.to_owned()));
        }
    }
}

/// F2: a delivery with another key order, or under another id that GitHub does not sign, is a
/// repeat.
#[tokio::test]
async fn a_replay_is_answered_and_has_no_effect() {
    let rig = Fixture::new();
    let fields = r#"{"properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {}, "d": {}}}}}"#;
    for proof in WebhookAuth::ALL {
        rig.add_webhook(crate::fixture::spec(proof.as_str(), proof, fields, "Look."));
        let first = rig.valid_call(proof, "one", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#);
        assert_eq!(rig.call(&first).await, WebhookReply::Accepted, "{proof:?}");
        assert_eq!(rig.call(&first).await, WebhookReply::Repeat, "{proof:?}");
        let turned = rig.valid_call(proof, "one", r#"{ "b": {"d": 3, "c": 2}, "a": 1 }"#);
        assert_eq!(rig.call(&turned).await, WebhookReply::Repeat, "{proof:?}");
    }
    assert_eq!(rig.delivery_count(), 3);
    // An intercepted call of GitHub can be given another id, which is not signed.
    let renamed = rig.valid_call(WebhookAuth::GitHub, "two", r#"{"b": {"d": 3, "c": 2}, "a": 1}"#);
    assert_eq!(rig.call(&renamed).await, WebhookReply::Repeat);
    // An id that is signed, or given by a caller that knows the secret, is another call.
    let another = rig.valid_call(WebhookAuth::Standard, "two", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#);
    assert_eq!(rig.call(&another).await, WebhookReply::Accepted);
    // Ids are separate for each webhook.
    assert_eq!(rig.delivery_count(), 4);
    rig.clock.0.send_modify(|now| *now += 7 * 24 * 3600);
    let later = rig.valid_call(WebhookAuth::GitHub, "one", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#);
    assert_eq!(rig.call(&later).await, WebhookReply::Accepted);
}

/// A ping of GitHub is answered; a forged one is refused.
#[tokio::test]
async fn a_ping_of_github_is_answered() {
    let rig = Fixture::new();
    let ping = rig
        .valid_call(WebhookAuth::GitHub, "1", r#"{"zen": "Design for failure."}"#)
        .with_header("x-github-event", "ping");
    assert_eq!(rig.call(&ping).await, WebhookReply::Pong);
    let forged = ping.with_header("x-hub-signature-256", "sha256=00");
    assert_eq!(rig.call(&forged).await, WebhookReply::unauthorized());
    assert_eq!(rig.delivery_count(), 0);
}

/// Makes ten calls with a wrong secret.
async fn make_failed_calls(rig: &Fixture, bad: &Call) {
    for number in 0..10 {
        let call = bad.clone().with_header("x-forwarded-for", &format!("192.0.2.{number}"));
        assert_eq!(rig.call(&call).await, WebhookReply::unauthorized(), "{number}");
    }
}

/// F4: with a secret that can be guessed, an address is blocked after ten failures in a minute,
/// also for correct calls and whatever a header claims. A signature made with such a secret can be
/// guessed too.
#[tokio::test]
async fn failures_block_an_address_for_a_minute() {
    let rig = Fixture::new();
    // 23 bytes, in each encoding.
    for (proof, secret) in [
        (WebhookAuth::Bearer, "twenty-three-bytes-long"),
        (WebhookAuth::GitHub, "twenty-three-bytes-long"),
        (WebhookAuth::Standard, "whsec_dHdlbnR5LXRocmVlLWJ5dGVzLWxvbmc="),
    ] {
        rig.webhooks.secret.send_replace(Some(secret.to_owned()));
        let good = rig.valid_call(proof, "1", r#"{"test": 1}"#);
        let bad = rig
            .valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#)
            .with_header("authorization", "Bearer guess");
        make_failed_calls(&rig, &bad).await;
        for call in [&bad, &good, &bad.clone().with_header("x-forwarded-for", "192.0.2.77")] {
            assert_eq!(rig.call(call).await.status(), StatusCode::TOO_MANY_REQUESTS, "{proof:?}");
        }
        rig.clock.0.send_modify(|now| *now += 60);
        assert_eq!(
            rig.call(&rig.valid_call(proof, "1", r#"{"test": 1}"#)).await,
            WebhookReply::Accepted,
            "{proof:?}"
        );
    }
}

/// F4: failures do not block callers that prove an unguessable secret; all others are refused.
#[tokio::test]
async fn a_long_secret_is_accepted_while_the_address_is_blocked() {
    let rig = Fixture::new();
    for proof in WebhookAuth::ALL {
        rig.clock.0.send_modify(|now| *now += 60);
        let good = rig.valid_call(proof, "1", r#"{"test": 1}"#);
        let bad = rig
            .valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#)
            .with_header("authorization", "Bearer guess");
        make_failed_calls(&rig, &bad).await;
        let forged =
            Call { body: br#"{"test": 2}"#.to_vec(), ..rig.valid_call(proof, "2", r#"{"test": 1}"#) };
        let long = Call { body: vec![b' '; 20_000], ..rig.valid_call(proof, "3", r#"{"test": 1}"#) };
        let unsigned = Call { headers: Vec::new(), ..good.clone() };
        let nowhere = bad.clone().at_path("/hook/nowhere");
        let forged = if proof == WebhookAuth::Bearer { bad.clone() } else { forged };
        let long = if proof == WebhookAuth::Bearer { bad.clone() } else { long };
        for call in [&bad, &forged, &long, &unsigned, &nowhere] {
            assert_eq!(rig.call(call).await.status(), StatusCode::TOO_MANY_REQUESTS, "{proof:?} {call:?}");
        }
        assert_eq!(rig.call(&good).await, WebhookReply::Accepted, "{proof:?}");
    }
    assert_eq!(rig.delivery_count(), 3);
}

/// F4: behind a proxy named by the user, each caller is counted separately. The last address is the
/// one that the proxy saw; an invalid one, or a header from another machine, is ignored.
#[tokio::test]
async fn behind_a_proxy_callers_are_counted_separately() {
    let mut rig = Fixture::new();
    rig.ports.address_header = Some(HeaderName::from_static("x-forwarded-for"));
    rig.webhooks.secret.send_replace(Some("short".to_owned()));
    let good = rig.valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#);
    let bad = good.clone().with_header("authorization", "Bearer guess");
    let from = |call: &Call, told: &str| call.clone().with_header("x-forwarded-for", told);
    for number in 0..10 {
        let call = from(&bad, &format!("198.51.100.{number}, ::ffff:192.0.2.7"));
        assert_eq!(rig.call(&call).await, WebhookReply::unauthorized(), "{number}");
    }
    assert_eq!(rig.call(&from(&good, "192.0.2.7")).await.status(), StatusCode::TOO_MANY_REQUESTS);
    for told in ["192.0.2.7, 192.0.2.8", "192.0.2.7, nonsense", ""] {
        assert!(rig.call(&from(&good, told)).await.status().is_success(), "{told}");
    }
    let elsewhere = Call { from: IpAddr::from([203, 0, 113, 9]), ..from(&good, "192.0.2.7") };
    assert!(rig.call(&elsewhere).await.status().is_success(), "who is elsewhere is no proxy of ours");
}

/// F4: the user is notified on all surfaces when an address is blocked, at most once an hour.
#[tokio::test]
async fn the_user_is_notified_of_failed_calls() {
    let rig = Fixture::new();
    let bad = rig
        .valid_call(WebhookAuth::Bearer, "1", r#"{"test": 1}"#)
        .with_header("authorization", "Bearer guess");
    for number in 0..9 {
        assert_eq!(rig.call(&bad).await, WebhookReply::unauthorized(), "{number}");
        assert_eq!(rig.posted_texts().await, [""; 0]);
    }
    for minutes in [0, 1, 59] {
        rig.clock.0.send_modify(|now| *now += 60 * minutes);
        for _ in 0..12 {
            rig.call(&bad).await;
        }
        assert_eq!(rig.posted_texts().await.len(), if minutes == 59 { 2 } else { 1 });
    }
    let posted = rig.posted_texts().await;
    assert!(posted[0].starts_with("somebody at 127.0.0.1 called webhooks 10 times"), "{posted:?}");
}
