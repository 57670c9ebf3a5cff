//! Rate limits and their headers.

use std::time::Duration;

use serde_json::json;

use super::bot::Bot;
use crate::fake_discord::{DiscordFault, LimitScope, Rate, Rates, RequestFault, RequestFilter, Setup};

#[tokio::test(start_paused = true)]
async fn messages_are_limited_to_five_in_five_seconds() {
    let bot = Bot::new();
    let responses: Vec<_> = (0..6).map(|n| bot.send(json!({"content": format!("{n}")}))).collect();
    let header = |at: usize, name: &str| responses[at].header(name).map(str::to_owned);
    assert_eq!(header(0, "x-ratelimit-limit").unwrap(), "5");
    assert_eq!(header(0, "x-ratelimit-remaining").unwrap(), "4");
    assert_eq!(header(4, "x-ratelimit-remaining").unwrap(), "0");
    assert_eq!(header(4, "x-ratelimit-reset-after").unwrap(), "5.000");
    assert_eq!(header(4, "x-ratelimit-reset").unwrap(), "1794816005.000");
    assert_eq!(header(4, "x-ratelimit-scope"), None);
    assert_eq!(responses[5].status, 429);
    assert_eq!(header(5, "x-ratelimit-scope").unwrap(), "user");
    assert_eq!(header(5, "retry-after").unwrap(), "5");
    let body = responses[5].json();
    assert_eq!(body, json!({"message": "You are being rate limited.", "retry_after": 5.0, "global": false}));
    assert_eq!(bot.discord.log().premature_requests.len(), 0);

    tokio::time::advance(Duration::from_millis(4_999)).await;
    assert_eq!(bot.send(json!({"content": "too early"})).status, 429);
    assert_eq!(bot.discord.log().premature_requests.len(), 1);
    assert_eq!(bot.discord.invalid_request_count(), 2);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(bot.send(json!({"content": "in time"})).status, 200);
    assert_eq!(bot.discord.visible().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn edits_and_other_channels_have_separate_limits() {
    let bot = Bot::new();
    let mine = *(0..5).map(|n| bot.send_text(&n.to_string())).collect::<Vec<_>>().last().unwrap();
    assert_eq!(bot.message_request("PATCH", mine, "", json!({"content": "5"})).status, 200);
    let other = bot.discord.other_user("sam").channel();
    assert_eq!(
        bot.request("POST", &format!("/channels/{other}/messages"), json!({"content": "hi"})).status,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn all_requests_share_a_global_limit() {
    let rates = Rates { others: Rate::new(1_000, 1_000), ..Rates::default() };
    let bot = Bot::with(Setup { rates, ..Setup::default() });
    for _ in 0..50 {
        assert_eq!(bot.request("GET", "/users/@me", json!(null)).status, 200);
    }
    let refused = bot.request("GET", "/users/@me", json!(null));
    assert_eq!((refused.status, refused.header("x-ratelimit-global")), (429, Some("true")));
    assert_eq!(refused.json()["global"], true);
    assert_eq!(bot.send(json!({"content": "x"})).header("x-ratelimit-scope"), Some("global"));
    assert_eq!(bot.discord.log().premature_requests.len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(bot.send(json!({"content": "x"})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn limit_can_apply_despite_remaining_requests() {
    let bot = Bot::new();
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::ClaimRemaining(4)));
    assert_eq!(bot.send(json!({"content": "x"})).header("x-ratelimit-remaining"), Some("4"));
    let wait = Duration::from_millis(650);
    bot.discord.inject_fault(DiscordFault::Request(
        RequestFilter::send(),
        RequestFault::RateLimited { scope: LimitScope::Shared, retry_after: wait },
    ));
    let refused = bot.send(json!({"content": "x"}));
    assert_eq!((refused.status, refused.header("x-ratelimit-scope")), (429, Some("shared")));
    assert_eq!(refused.json()["retry_after"], 0.65);
    assert_eq!(bot.discord.invalid_request_count(), 0);
    assert_eq!(bot.send(json!({"content": "x"})).status, 429);
    assert_eq!(bot.discord.log().premature_requests.len(), 1);
    tokio::time::advance(wait).await;
    assert_eq!(bot.send(json!({"content": "x"})).status, 200);
}

#[tokio::test(start_paused = true)]
async fn global_limit_applies_to_every_route() {
    let bot = Bot::new();
    let wait = Duration::from_secs(2);
    let global = RequestFault::RateLimited { scope: LimitScope::Global, retry_after: wait };
    bot.discord.inject_fault(DiscordFault::Request(RequestFilter::any(), global));
    assert_eq!(bot.send(json!({"content": "x"})).status, 429);
    assert_eq!(bot.request("GET", "/users/@me", json!(null)).status, 429);
    tokio::time::advance(wait).await;
    assert_eq!(bot.request("GET", "/users/@me", json!(null)).status, 200);
    assert_eq!(bot.discord.log().premature_requests.len(), 1);
    assert_eq!(bot.discord.log().matching("POST", "/channels/*/messages").count(), 1);
}
