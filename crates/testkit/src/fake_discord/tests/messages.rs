//! Messages, reactions and files.

use serde_json::{Value, json};

use super::bot::{Bot, INTENTS, available_frames, code, id};
use crate::fake_discord::{ApiRequest, Body, Id, Rate, Rates, Setup, Upload};

fn unlimited_bot() -> Bot {
    let many = Rate::new(10_000, 1_000);
    let rates =
        Rates { sends: many, reactions: many, edits: many, others: many, global: many, ..Rates::default() };
    Bot::with(Setup { rates, ..Setup::default() })
}

fn ids(listed: &Value) -> Vec<Id> {
    listed.as_array().unwrap().iter().map(id).collect()
}

#[tokio::test(start_paused = true)]
async fn messages_are_listed_newest_first() {
    let bot = unlimited_bot();
    let said: Vec<_> = (0..150).map(|n| bot.discord.owner().send_text(&n.to_string())).collect();
    let listed = |query: &str| {
        ids(&bot.request("GET", &format!("/channels/{}/messages?{query}", bot.channel), Value::Null).json())
    };
    let newest_first = |range: std::ops::Range<usize>| said[range].iter().rev().copied().collect::<Vec<_>>();
    assert_eq!(listed(""), newest_first(100..150));
    assert_eq!(listed("limit=3"), newest_first(147..150));
    assert_eq!(listed(&format!("after={}&limit=100", said[9])), newest_first(10..110));
    assert_eq!(listed(&format!("after={}&limit=100", said[109])), newest_first(110..150));
    assert_eq!(listed(&format!("before={}&limit=2", said[10])), newest_first(8..10));
    assert_eq!(listed(&format!("around={}&limit=3", said[10])), newest_first(9..12));
    let refused = bot.request("GET", &format!("/channels/{}/messages?limit=101", bot.channel), Value::Null);
    assert_eq!(code(&refused), (400, 50035));
}

#[tokio::test(start_paused = true)]
async fn bot_edits_only_its_own_messages() {
    let bot = unlimited_bot();
    let mut socket = bot.connect(INTENTS).await;
    let mine = bot.send_text("helo");
    let edited = bot.message_request("PATCH", mine, "", json!({"content": "hello"})).json();
    assert_eq!(edited["content"], "hello");
    assert_eq!(edited["edited_timestamp"], "2026-11-16T08:00:00.000000+00:00");
    let embedded = bot.message_request("PATCH", mine, "", json!({"embeds": [{"title": "t"}]})).json();
    assert_eq!((&embedded["content"], &embedded["embeds"][0]["type"]), (&json!("hello"), &json!("rich")));
    let theirs = bot.discord.owner().send_text("mine");
    assert_eq!(code(&bot.message_request("PATCH", theirs, "", json!({"content": "no"}))), (403, 50005));
    assert_eq!(bot.message_request("DELETE", mine, "", Value::Null).status, 204);
    assert_eq!(code(&bot.message_request("PATCH", mine, "", json!({"content": "no"}))), (404, 10008));
    assert_eq!(code(&bot.message_request("DELETE", mine, "", Value::Null)), (404, 10008));
    let kinds: Vec<_> = available_frames(&mut socket).await.iter().map(|frame| frame["t"].clone()).collect();
    let expected = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_UPDATE", "MESSAGE_CREATE", "MESSAGE_DELETE"];
    assert_eq!(kinds, expected);
    assert_eq!(bot.discord.visible().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_resources_have_error_codes() {
    let bot = unlimited_bot();
    assert_eq!(code(&bot.request("POST", "/channels/1/messages", json!({"content": "x"}))), (404, 10003));
    assert_eq!(code(&bot.message_request("GET", Id(1), "", Value::Null)), (404, 10008));
    assert_eq!(code(&bot.request("POST", "/users/@me/channels", json!({"recipient_id": "1"}))), (404, 10013));
    assert_eq!(bot.request("GET", "/nowhere", Value::Null).status, 404);
    let owner = bot.discord.owner();
    let opened =
        bot.request("POST", "/users/@me/channels", json!({"recipient_id": owner.id().to_string()})).json();
    assert_eq!(id(&opened), owner.channel());
    assert_eq!(opened["recipients"][0]["username"], "owner");
}

#[tokio::test(start_paused = true)]
async fn reply_contains_the_original_until_it_is_deleted() {
    let bot = unlimited_bot();
    let mut socket = bot.connect(INTENTS).await;
    let mine = bot.send_text("shall i?");
    bot.discord.owner().reply(mine, "yes");
    bot.message_request("DELETE", mine, "", Value::Null);
    bot.discord.owner().reply(mine, "too late");
    let frames = available_frames(&mut socket).await;
    assert_eq!(
        (&frames[1]["d"]["type"], &frames[1]["d"]["referenced_message"]["content"]),
        (&json!(19), &json!("shall i?"))
    );
    assert_eq!(frames[3]["d"].get("referenced_message"), Some(&Value::Null));
    let refused = bot.send(json!({"content": "x", "message_reference": {"message_id": mine.to_string()}}));
    assert_eq!(code(&refused), (400, 50035));
    let lenient = json!({"message_id": mine.to_string(), "fail_if_not_exists": false});
    assert_eq!(bot.send(json!({"content": "x", "message_reference": lenient})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn message_has_at_most_twenty_reactions() {
    let bot = unlimited_bot();
    let theirs = bot.discord.owner().send_text("look");
    let react =
        |emoji: &str| bot.message_request("PUT", theirs, &format!("/reactions/{emoji}/@me"), Value::Null);
    assert_eq!(react("%F0%9F%91%80").status, 204);
    assert_eq!(bot.discord.visible()[0].reactions, [("👀".to_owned(), vec!["ollim".to_owned()])]);
    let by = bot.message_request("GET", theirs, "/reactions/%F0%9F%91%80", Value::Null).json();
    assert_eq!(by[0]["username"], "ollim");
    assert_eq!(code(&react("eyes")), (400, 10014));
    assert_eq!(code(&react("name:123456789")), (400, 10014));
    for at in 0..19 {
        let emoji = char::from_u32(0x1f600 + at).unwrap().to_string();
        assert_eq!(react(&emoji).status, 204);
    }
    assert_eq!(code(&react("🦀")), (400, 30010));
    bot.message_request("DELETE", theirs, "/reactions/%F0%9F%91%80/@me", Value::Null);
    assert_eq!(bot.discord.visible()[0].reactions.len(), 19);
}

#[tokio::test(start_paused = true)]
async fn files_are_transferred_with_claimed_sizes() {
    let bot = unlimited_bot();
    let mut socket = bot.connect(INTENTS).await;
    let mut upload = Upload::new("cat.png", b"#!/bin/sh".to_vec());
    upload.claimed_size = Some(100_000_000);
    bot.discord.owner().send_with_files("", vec![upload]);
    let attachment = available_frames(&mut socket).await[0]["d"]["attachments"][0].clone();
    assert_eq!(
        (&attachment["content_type"], &attachment["size"]),
        (&json!("image/png"), &json!(100_000_000))
    );
    let url = attachment["url"].as_str().unwrap();
    let fetched = bot.discord.request(ApiRequest {
        method: "GET".into(),
        path: url.into(),
        token: None,
        body: Body::Empty,
    });
    assert_eq!(fetched.response().unwrap().body, b"#!/bin/sh");

    let path = format!("/channels/{}/messages", bot.channel);
    let payload = json!({"attachments": [{"id": 0, "description": "the day"}]});
    let body = |size: usize| Body::Multipart {
        payload: payload.clone(),
        files: vec![("day.png".to_owned(), vec![7; size])],
    };
    let send = |size| {
        bot.discord
            .request(ApiRequest::new("POST", &path, "played-token", body(size)))
            .response()
            .cloned()
            .unwrap()
    };
    let sent = send(3).json();
    assert_eq!(sent["attachments"][0]["description"], "the day");
    assert_eq!(code(&send(26 * 1024 * 1024)), (413, 40005));
}

#[tokio::test(start_paused = true)]
async fn typing_indicator_lasts_ten_seconds() {
    let bot = unlimited_bot();
    bot.request("POST", &format!("/channels/{}/typing", bot.channel), Value::Null);
    assert!(bot.discord.is_typing());
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    assert!(!bot.discord.is_typing());
}

#[tokio::test(start_paused = true)]
async fn only_allowed_mentions_are_reported() {
    let bot = unlimited_bot();
    let text = format!("<@{}> hello", bot.discord.owner().id());
    assert_eq!(bot.send(json!({"content": text})).json()["mentions"].as_array().unwrap().len(), 1);
    let quiet = bot.send(json!({"content": text, "allowed_mentions": {"parse": []}})).json();
    assert_eq!(quiet["mentions"], json!([]));
    assert_eq!(bot.discord.allowed_mentions(id(&quiet)), json!({"parse": []}));
}
