//! Injected faults.

use std::time::Duration;

use serde_json::json;

use super::bot::{Bot, INTENTS, code, text};
use crate::discord::{Body, Call, Incoming, Mishap, On, Reply, Trouble};

fn send(bot: &Bot, text: &str) -> Reply {
    let path = format!("/channels/{}/messages", bot.channel);
    let body = Body::Json(json!({"content": text, "nonce": "n1", "enforce_nonce": true}));
    bot.discord.call(Call::new("POST", &path, &bot.discord.token(), body)).reply
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_answer_was_lost_is_there_once() {
    let bot = Bot::new();
    bot.discord.trouble(Trouble::Call(On::send(), Mishap::LostAfter));
    assert_eq!(send(&bot, "once"), Reply::Lost);
    assert_eq!(bot.discord.visible().len(), 1);
    let Reply::Answered(again) = send(&bot, "once") else { panic!("lost again") };
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["id"], bot.discord.visible()[0].id.to_string());
    assert_eq!(bot.discord.visible().len(), 1);
    let nonces: Vec<_> = bot.discord.ledger().requests.into_iter().map(|request| request.nonce).collect();
    assert_eq!(nonces, [Some("n1".to_owned()), Some("n1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_nonce_is_forgotten_after_five_minutes() {
    let bot = Bot::new();
    send(&bot, "once");
    tokio::time::advance(Duration::from_secs(300)).await;
    send(&bot, "twice");
    assert_eq!(bot.discord.visible().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_lost_on_the_way_is_not_there() {
    let bot = Bot::new();
    bot.discord.trouble(Trouble::Call(On::send().after(1).times(2), Mishap::LostBefore));
    assert!(matches!(send(&bot, "one"), Reply::Answered(_)));
    tokio::time::advance(Duration::from_secs(300)).await;
    assert_eq!(send(&bot, "two"), Reply::Lost);
    assert_eq!(send(&bot, "two"), Reply::Lost);
    assert_eq!(bot.discord.visible().len(), 1);
    assert!(matches!(send(&bot, "two"), Reply::Answered(_)));
    assert_eq!(bot.discord.visible().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn servers_fail_answers_are_slow_and_people_close_their_door() {
    let bot = Bot::new();
    bot.discord.trouble(Trouble::Call(On::send(), Mishap::Status(502)));
    let page = bot.sends(json!({"content": "x"}));
    assert_eq!((page.status, page.header("content-type")), (502, Some("text/html")));
    assert!(page.json().is_null());
    bot.discord.trouble(Trouble::Call(On::send().always(), Mishap::Code(50007)));
    assert_eq!(code(&bot.sends(json!({"content": "x"}))), (403, 50007));
    assert_eq!(code(&bot.sends(json!({"content": "x"}))), (403, 50007));
    bot.discord.calm();
    let slow = Duration::from_secs(7);
    bot.discord.trouble(Trouble::Call(On::send(), Mishap::Slow(slow)));
    let path = format!("/channels/{}/messages", bot.channel);
    let body = Body::Json(json!({"content": "x"}));
    let outcome = bot.discord.call(Call::new("POST", &path, &bot.discord.token(), body));
    assert_eq!(outcome.delay, slow);
    let before = tokio::time::Instant::now();
    assert!(matches!(outcome.arrives().await, Reply::Answered(_)));
    assert_eq!(before.elapsed(), slow);
    bot.discord.trouble(Trouble::Call(On::edit(), Mishap::Code(30046)));
    let mine = bot.discord.visible()[0].id;
    assert_eq!(code(&bot.on("PATCH", mine, "", json!({"content": "y"}))), (429, 30046));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_taken_away_opens_nothing() {
    let bot = Bot::new();
    let mut socket = bot.connects(INTENTS).await;
    bot.discord.trouble(Trouble::Revoked);
    assert_eq!(socket.next().await, Incoming::Closed(4004));
    let answer = bot.ask("GET", "/users/@me", json!(null));
    assert_eq!(answer.json(), json!({"message": "401: Unauthorized", "code": 0}));
    assert_eq!(answer.status, 401);
    let mut again = bot.discord.connect("").unwrap();
    text(&mut again).await;
    again.say(&super::bot::identify("played-token", INTENTS));
    assert_eq!(again.next().await, Incoming::Closed(4004));
    assert_eq!(bot.discord.invalid_requests(), 1);
}
