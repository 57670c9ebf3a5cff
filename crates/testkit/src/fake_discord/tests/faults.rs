//! Injected faults.

use std::time::Duration;

use serde_json::json;

use super::bot::{Bot, INTENTS, code, next_frame};
use crate::fake_discord::{
    ApiReply, ApiRequest, Body, DiscordFault, RequestFault, RequestFilter, SocketEvent,
};

fn send(bot: &Bot, text: &str) -> ApiReply {
    let path = format!("/channels/{}/messages", bot.channel);
    let body = Body::Json(json!({"content": text, "nonce": "n1", "enforce_nonce": true}));
    bot.discord.request(ApiRequest::new("POST", &path, &bot.discord.token(), body)).reply
}

#[tokio::test(start_paused = true)]
async fn message_with_lost_response_is_posted_once() {
    let bot = Bot::new();
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter));
    assert_eq!(send(&bot, "once"), ApiReply::Lost);
    assert_eq!(bot.discord.visible().len(), 1);
    let ApiReply::Response(again) = send(&bot, "once") else { panic!("lost again") };
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["id"], bot.discord.visible()[0].id.to_string());
    assert_eq!(bot.discord.visible().len(), 1);
    let nonces: Vec<_> = bot.discord.log().requests.into_iter().map(|request| request.nonce).collect();
    assert_eq!(nonces, [Some("n1".to_owned()), Some("n1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn nonce_expires_after_five_minutes() {
    let bot = Bot::new();
    send(&bot, "once");
    tokio::time::advance(Duration::from_secs(300)).await;
    send(&bot, "twice");
    assert_eq!(bot.discord.visible().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn message_lost_before_arrival_is_not_posted() {
    let bot = Bot::new();
    bot.discord.inject_fault(DiscordFault::Request(
        RequestFilter::send().after(1).times(2),
        RequestFault::LostBefore,
    ));
    assert!(matches!(send(&bot, "one"), ApiReply::Response(_)));
    tokio::time::advance(Duration::from_secs(300)).await;
    assert_eq!(send(&bot, "two"), ApiReply::Lost);
    assert_eq!(send(&bot, "two"), ApiReply::Lost);
    assert_eq!(bot.discord.visible().len(), 1);
    assert!(matches!(send(&bot, "two"), ApiReply::Response(_)));
    assert_eq!(bot.discord.visible().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn errors_and_delays_can_be_injected() {
    let bot = Bot::new();
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::Status(502)));
    let page = bot.send(json!({"content": "x"}));
    assert_eq!((page.status, page.header("content-type")), (502, Some("text/html")));
    assert!(page.json().is_null());
    bot.discord
        .inject_fault(DiscordFault::Request(RequestFilter::send().always(), RequestFault::Code(50007)));
    assert_eq!(code(&bot.send(json!({"content": "x"}))), (403, 50007));
    assert_eq!(code(&bot.send(json!({"content": "x"}))), (403, 50007));
    bot.discord.clear_faults();
    let slow = Duration::from_secs(7);
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::Slow(slow)));
    let path = format!("/channels/{}/messages", bot.channel);
    let body = Body::Json(json!({"content": "x"}));
    let outcome = bot.discord.request(ApiRequest::new("POST", &path, &bot.discord.token(), body));
    assert_eq!(outcome.delay, slow);
    let before = tokio::time::Instant::now();
    assert!(matches!(outcome.wait().await, ApiReply::Response(_)));
    assert_eq!(before.elapsed(), slow);
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::edit(), RequestFault::Code(30046)));
    let mine = bot.discord.visible()[0].id;
    assert_eq!(code(&bot.message_request("PATCH", mine, "", json!({"content": "y"}))), (429, 30046));
}

#[tokio::test(start_paused = true)]
async fn revoked_token_is_refused() {
    let bot = Bot::new();
    let mut socket = bot.connect(INTENTS).await;
    bot.discord.inject_fault(DiscordFault::TokenRevoked);
    assert_eq!(socket.next().await, SocketEvent::Closed(4004));
    let answer = bot.request("GET", "/users/@me", json!(null));
    assert_eq!(answer.json(), json!({"message": "401: Unauthorized", "code": 0}));
    assert_eq!(answer.status, 401);
    let mut again = bot.discord.connect("").unwrap();
    next_frame(&mut again).await;
    again.send(&super::bot::identify("played-token", INTENTS));
    assert_eq!(again.next().await, SocketEvent::Closed(4004));
    assert_eq!(bot.discord.invalid_request_count(), 1);
}
