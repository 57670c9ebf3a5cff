//! Rate limits and their headers.

use std::time::Duration;

use serde_json::json;

use super::bot::Bot;
use crate::discord::{Mishap, On, Rate, Rates, Scope, Setup, Trouble};

#[tokio::test(start_paused = true)]
async fn five_messages_in_five_seconds_and_then_a_rest() {
    let bot = Bot::new();
    let told: Vec<_> = (0..6).map(|n| bot.sends(json!({"content": format!("{n}")}))).collect();
    let header = |at: usize, name: &str| told[at].header(name).map(str::to_owned);
    assert_eq!(header(0, "x-ratelimit-limit").unwrap(), "5");
    assert_eq!(header(0, "x-ratelimit-remaining").unwrap(), "4");
    assert_eq!(header(4, "x-ratelimit-remaining").unwrap(), "0");
    assert_eq!(header(4, "x-ratelimit-reset-after").unwrap(), "5.000");
    assert_eq!(header(4, "x-ratelimit-reset").unwrap(), "1794816005.000");
    assert_eq!(header(4, "x-ratelimit-scope"), None);
    assert_eq!(told[5].status, 429);
    assert_eq!(header(5, "x-ratelimit-scope").unwrap(), "user");
    assert_eq!(header(5, "retry-after").unwrap(), "5");
    let body = told[5].json();
    assert_eq!(body, json!({"message": "You are being rate limited.", "retry_after": 5.0, "global": false}));
    assert_eq!(bot.discord.ledger().embargo_breaches.len(), 0);

    tokio::time::advance(Duration::from_millis(4_999)).await;
    assert_eq!(bot.sends(json!({"content": "too early"})).status, 429);
    assert_eq!(bot.discord.ledger().embargo_breaches.len(), 1);
    assert_eq!(bot.discord.invalid_requests(), 2);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(bot.sends(json!({"content": "in time"})).status, 200);
    assert_eq!(bot.discord.visible().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn edits_and_other_channels_are_counted_apart() {
    let bot = Bot::new();
    let mine = *(0..5).map(|n| bot.says(&n.to_string())).collect::<Vec<_>>().last().unwrap();
    assert_eq!(bot.on("PATCH", mine, "", json!({"content": "5"})).status, 200);
    let other = bot.discord.stranger("sam").channel();
    assert_eq!(bot.ask("POST", &format!("/channels/{other}/messages"), json!({"content": "hi"})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn everything_together_has_a_limit_too() {
    let rates = Rates { others: Rate::new(1_000, 1_000), ..Rates::default() };
    let bot = Bot::with(Setup { rates, ..Setup::default() });
    for _ in 0..50 {
        assert_eq!(bot.ask("GET", "/users/@me", json!(null)).status, 200);
    }
    let refused = bot.ask("GET", "/users/@me", json!(null));
    assert_eq!((refused.status, refused.header("x-ratelimit-global")), (429, Some("true")));
    assert_eq!(refused.json()["global"], true);
    assert_eq!(bot.sends(json!({"content": "x"})).header("x-ratelimit-scope"), Some("global"));
    assert_eq!(bot.discord.ledger().embargo_breaches.len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(bot.sends(json!({"content": "x"})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_limit_comes_though_something_was_said_to_remain() {
    let bot = Bot::new();
    bot.discord.trouble(Trouble::Call(On::send(), Mishap::Claims(4)));
    assert_eq!(bot.sends(json!({"content": "x"})).header("x-ratelimit-remaining"), Some("4"));
    let wait = Duration::from_millis(650);
    bot.discord
        .trouble(Trouble::Call(On::send(), Mishap::TooMany { scope: Scope::Shared, retry_after: wait }));
    let refused = bot.sends(json!({"content": "x"}));
    assert_eq!((refused.status, refused.header("x-ratelimit-scope")), (429, Some("shared")));
    assert_eq!(refused.json()["retry_after"], 0.65);
    assert_eq!(bot.discord.invalid_requests(), 0);
    assert_eq!(bot.sends(json!({"content": "x"})).status, 429);
    assert_eq!(bot.discord.ledger().embargo_breaches.len(), 1);
    tokio::time::advance(wait).await;
    assert_eq!(bot.sends(json!({"content": "x"})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_global_embargo_holds_for_every_route() {
    let bot = Bot::new();
    let wait = Duration::from_secs(2);
    let global = Mishap::TooMany { scope: Scope::Global, retry_after: wait };
    bot.discord.trouble(Trouble::Call(On::anything(), global));
    assert_eq!(bot.sends(json!({"content": "x"})).status, 429);
    assert_eq!(bot.ask("GET", "/users/@me", json!(null)).status, 429);
    tokio::time::advance(wait).await;
    assert_eq!(bot.ask("GET", "/users/@me", json!(null)).status, 200);
    assert_eq!(bot.discord.ledger().embargo_breaches.len(), 1);
    assert_eq!(bot.discord.ledger().of("POST", "/channels/*/messages").count(), 1);
}
