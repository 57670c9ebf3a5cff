//! Gateway connections and sessions.

use std::time::Duration;

use serde_json::json;

use super::bot::{Bot, INTENTS, identify, kinds, now, op, text};
use crate::discord::{GatewaySetup, Incoming, Refused, Resumable, Setup, Socket, Trouble, Upset};

async fn session_of(bot: &Bot) -> (Socket, String) {
    let mut socket = bot.discord.connect("v=10&encoding=json").unwrap();
    text(&mut socket).await;
    socket.say(&identify(&bot.discord.token(), INTENTS));
    let ready = text(&mut socket).await;
    assert!(ready["d"]["resume_gateway_url"].as_str().unwrap().starts_with("ws://127.0.0.1:"));
    (socket, ready["d"]["session_id"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_bot_hears_what_it_asked_to_hear() {
    let bot = Bot::new();
    let mut socket = bot.connects(INTENTS).await;
    let said = bot.discord.owner().types("good morning");
    bot.discord.owner().reacts(said, "👍").unwrap();
    bot.discord.owner().starts_typing();
    let came = now(&mut socket).await;
    assert_eq!(came.len(), 2);
    assert_eq!(came[0]["d"]["content"], "good morning");
    assert_eq!(came[0]["d"]["channel_type"], 1);
    assert!(came[0]["d"].get("guild_id").is_none());
    assert_eq!(came[1]["t"], "MESSAGE_REACTION_ADD");
    assert_eq!((came[0]["s"].as_u64(), came[1]["s"].as_u64()), (Some(2), Some(3)));
}

#[tokio::test(start_paused = true)]
async fn a_bot_that_asked_for_no_messages_gets_none() {
    let bot = Bot::new();
    let mut socket = bot.connects(1 << 13).await;
    bot.discord.owner().types("good morning");
    assert_eq!(kinds(&mut socket).await, [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_broke_is_taken_up_where_it_ended() {
    let bot = Bot::new();
    let (mut socket, session) = session_of(&bot).await;
    bot.discord.owner().types("one");
    assert_eq!(kinds(&mut socket).await, ["said one"]);
    bot.discord.trouble(Trouble::Gateway(Upset::Drop));
    assert_eq!(socket.next().await, Incoming::Dropped);
    bot.discord.owner().types("two");
    bot.discord.owner().types("three");

    let mut again = bot.resumes(&session, 2).await;
    assert_eq!(kinds(&mut again).await, ["said two", "said three", "RESUMED"]);
    bot.discord.owner().types("four");
    assert_eq!(kinds(&mut again).await, ["said four"]);
    assert_eq!(bot.discord.ledger().resumes.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_gone_after_a_while_or_when_the_bot_says_goodbye() {
    let bot = Bot::new();
    let (socket, session) = session_of(&bot).await;
    drop(socket);
    tokio::time::advance(Duration::from_secs(181)).await;
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["op 9 false"]);

    let (socket, session) = session_of(&bot).await;
    socket.close(1000);
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["op 9 false"]);

    tokio::time::advance(Duration::from_secs(5)).await;
    let (socket, session) = session_of(&bot).await;
    socket.close(4900);
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["RESUMED"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_keeps_so_many_events_and_no_more() {
    let gateway = GatewaySetup { kept_events: 3, ..GatewaySetup::default() };
    let bot = Bot::with(Setup { gateway, ..Setup::default() });
    let (socket, session) = session_of(&bot).await;
    drop(socket);
    for text in ["one", "two", "three", "four"] {
        bot.discord.owner().types(text);
    }
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["op 9 false"]);
}

/// Returns the close code after these frames.
async fn closed_after(words: &[String]) -> Option<u16> {
    let bot = Bot::new();
    let mut socket = bot.discord.connect("v=10&encoding=json").unwrap();
    words.iter().for_each(|words| socket.say(words));
    loop {
        match tokio::time::timeout(Duration::from_millis(1), socket.next()).await {
            Ok(Incoming::Text(_)) => {}
            Ok(Incoming::Closed(code)) => return Some(code),
            Ok(Incoming::Dropped) | Err(_) => return None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_mistake_has_its_code() {
    let good = || identify("played-token", INTENTS);
    let presence = || json!({"op": 3, "d": {}}).to_string();
    let seq = json!({"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}).to_string();
    for (words, code) in [
        (vec!["{not json".to_owned()], Some(4002)),
        (vec![json!({"op": 1, "d": "x".repeat(4096)}).to_string()], Some(4002)),
        (vec![json!({"op": 99}).to_string()], Some(4001)),
        (vec![presence()], Some(4003)),
        (vec![good(), presence()], None),
        (vec![good(), good()], Some(4005)),
        (vec![identify("wrong", INTENTS)], Some(4004)),
        (vec![seq], Some(4004)),
        (vec![identify("played-token", 1 << 40)], Some(4013)),
        (vec![identify("played-token", INTENTS | 1 << 15)], Some(4014)),
        (vec![json!({"op": 1, "d": null}).to_string(); 120], None),
        (vec![json!({"op": 1, "d": null}).to_string(); 121], Some(4008)),
    ] {
        assert_eq!(closed_after(&words).await, code, "{}", words[0].chars().take(80).collect::<String>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_version_and_a_sequence_from_the_future_are_refused() {
    let bot = Bot::new();
    let mut old = bot.discord.connect("v=5&encoding=json").unwrap();
    text(&mut old).await;
    assert_eq!(old.next().await, Incoming::Closed(4012));
    let (socket, session) = session_of(&bot).await;
    drop(socket);
    let mut again = bot.resumes(&session, 99).await;
    assert_eq!(again.next().await, Incoming::Closed(4007));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_beating_is_left() {
    let bot = Bot::new();
    let (mut socket, session) = session_of(&bot).await;
    socket.say(r#"{"op":1,"d":1}"#);
    assert_eq!(op(&text(&mut socket).await), 11);
    let before = tokio::time::Instant::now();
    assert_eq!(socket.next().await, Incoming::Closed(4009));
    assert!(before.elapsed() > Duration::from_secs(41));
    assert_eq!(bot.discord.ledger().closes, [4009]);
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["op 9 false"]);
}

#[tokio::test(start_paused = true)]
async fn a_zombie_says_nothing_and_keeps_what_it_should_have_said() {
    let bot = Bot::new();
    let (mut socket, session) = session_of(&bot).await;
    bot.discord.trouble(Trouble::Gateway(Upset::Zombie));
    socket.say(r#"{"op":1,"d":1}"#);
    bot.discord.owner().types("are you there?");
    assert_eq!(kinds(&mut socket).await, [] as [&str; 0]);
    drop(socket);
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["said are you there?", "RESUMED"]);
}

#[tokio::test(start_paused = true)]
async fn two_sessions_begun_at_once_are_one_too_many() {
    let bot = Bot::new();
    let first = bot.connects(INTENTS).await;
    let mut second = bot.discord.connect("").unwrap();
    second.say(&identify("played-token", INTENTS));
    assert_eq!(kinds(&mut second).await[1..], ["op 9 false"]);
    tokio::time::advance(Duration::from_secs(5)).await;
    second.say(&identify("played-token", INTENTS));
    assert_eq!(kinds(&mut second).await, ["READY"]);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_sessions_a_day_cost_the_token() {
    let gateway = GatewaySetup { identifies: 2, ..GatewaySetup::default() };
    let bot = Bot::with(Setup { gateway, ..Setup::default() });
    for _ in 0..2 {
        bot.connects(INTENTS).await;
        tokio::time::advance(Duration::from_secs(6)).await;
    }
    let left = bot.ask("GET", "/gateway/bot", json!(null)).json()["session_start_limit"]["remaining"].clone();
    assert_eq!(left, 0);
    let mut third = bot.discord.connect("").unwrap();
    text(&mut third).await;
    third.say(&identify("played-token", INTENTS));
    assert_eq!(third.next().await, Incoming::Closed(4004));
    assert_eq!(bot.ask("GET", "/users/@me", json!(null)).status, 401);
}

#[tokio::test(start_paused = true)]
async fn events_come_twice_or_in_the_wrong_order_when_a_test_wants_it() {
    let bot = Bot::new();
    let mut socket = bot.connects(INTENTS).await;
    bot.discord.trouble(Trouble::Gateway(Upset::Duplicate));
    bot.discord.owner().types("one");
    bot.discord.trouble(Trouble::Gateway(Upset::Swap));
    bot.discord.owner().types("two");
    bot.discord.owner().types("three");
    bot.discord.owner().types("four");
    assert_eq!(kinds(&mut socket).await, ["said one", "said one", "said three", "said two", "said four"]);
}

#[tokio::test(start_paused = true)]
async fn discord_asks_to_come_again_or_forgets_the_session() {
    let bot = Bot::new();
    let (mut socket, session) = session_of(&bot).await;
    bot.discord.trouble(Trouble::Gateway(Upset::Reconnect));
    bot.discord.trouble(Trouble::Gateway(Upset::Raw("nonsense".into())));
    assert_eq!(op(&text(&mut socket).await), 7);
    assert_eq!(socket.next().await, Incoming::Text("nonsense".into()));
    bot.discord.trouble(Trouble::Gateway(Upset::InvalidSession(Resumable::No)));
    assert_eq!(kinds(&mut socket).await, ["op 9 false"]);
    assert_eq!(kinds(&mut bot.resumes(&session, 1).await).await, ["op 9 false"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_through_while_discord_is_down() {
    let bot = Bot::new();
    let mut socket = bot.connects(INTENTS).await;
    let second = Duration::from_secs(1);
    bot.discord.trouble(Trouble::Down { after: 10 * second, lasts: 60 * second });
    bot.says("still here");
    assert_eq!(text(&mut socket).await["d"]["content"], "still here");
    assert_eq!(socket.next().await, Incoming::Dropped);
    assert_eq!(bot.discord.connect("").unwrap_err(), Refused);
    let call = crate::discord::Call::get("/users/@me", "played-token");
    assert!(bot.discord.call(call.clone()).answer().is_none());
    tokio::time::advance(60 * second).await;
    assert_eq!(bot.discord.call(call).answer().unwrap().status, 200);
    bot.connects(INTENTS).await;
}
