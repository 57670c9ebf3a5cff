//! Gateway connections and sessions.

use std::time::Duration;

use serde_json::json;

use super::bot::{Bot, INTENTS, available_frames, frame_summaries, identify, next_frame, op};
use crate::fake_discord::{
    ConnectError, DiscordFault, GatewayFault, GatewaySetup, GatewaySocket, Resumable, Setup, SocketEvent,
};

async fn start_session(bot: &Bot) -> (GatewaySocket, String) {
    let mut socket = bot.discord.connect("v=10&encoding=json").unwrap();
    next_frame(&mut socket).await;
    socket.send(&identify(&bot.discord.token(), INTENTS));
    let ready = next_frame(&mut socket).await;
    assert!(ready["d"]["resume_gateway_url"].as_str().unwrap().starts_with("ws://127.0.0.1:"));
    (socket, ready["d"]["session_id"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn events_match_the_intents() {
    let bot = Bot::new();
    let mut socket = bot.connect(INTENTS).await;
    let said = bot.discord.owner().send_text("good morning");
    bot.discord.owner().add_reaction(said, "👍").unwrap();
    bot.discord.owner().start_typing();
    let frames = available_frames(&mut socket).await;
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0]["d"]["content"], "good morning");
    assert_eq!(frames[0]["d"]["channel_type"], 1);
    assert!(frames[0]["d"].get("guild_id").is_none());
    assert_eq!(frames[1]["t"], "MESSAGE_REACTION_ADD");
    assert_eq!((frames[0]["s"].as_u64(), frames[1]["s"].as_u64()), (Some(2), Some(3)));
}

#[tokio::test(start_paused = true)]
async fn messages_require_their_intent() {
    let bot = Bot::new();
    let mut socket = bot.connect(1 << 13).await;
    bot.discord.owner().send_text("good morning");
    assert_eq!(frame_summaries(&mut socket).await, [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn resume_delivers_missed_events() {
    let bot = Bot::new();
    let (mut socket, session) = start_session(&bot).await;
    bot.discord.owner().send_text("one");
    assert_eq!(frame_summaries(&mut socket).await, ["said one"]);
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Drop));
    assert_eq!(socket.next().await, SocketEvent::Dropped);
    bot.discord.owner().send_text("two");
    bot.discord.owner().send_text("three");

    let mut again = bot.resume(&session, 2).await;
    assert_eq!(frame_summaries(&mut again).await, ["said two", "said three", "RESUMED"]);
    bot.discord.owner().send_text("four");
    assert_eq!(frame_summaries(&mut again).await, ["said four"]);
    assert_eq!(bot.discord.log().resumes.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn session_ends_by_timeout_or_normal_close() {
    let bot = Bot::new();
    let (socket, session) = start_session(&bot).await;
    drop(socket);
    tokio::time::advance(Duration::from_secs(181)).await;
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["op 9 false"]);

    let (socket, session) = start_session(&bot).await;
    socket.close(1000);
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["op 9 false"]);

    tokio::time::advance(Duration::from_secs(5)).await;
    let (socket, session) = start_session(&bot).await;
    socket.close(4900);
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["RESUMED"]);
}

#[tokio::test(start_paused = true)]
async fn resume_fails_after_too_many_events() {
    let gateway = GatewaySetup { replay_limit: 3, ..GatewaySetup::default() };
    let bot = Bot::with(Setup { gateway, ..Setup::default() });
    let (socket, session) = start_session(&bot).await;
    drop(socket);
    for text in ["one", "two", "three", "four"] {
        bot.discord.owner().send_text(text);
    }
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["op 9 false"]);
}

/// Returns the close code after these frames.
async fn close_code_after(frames: &[String]) -> Option<u16> {
    let bot = Bot::new();
    let mut socket = bot.discord.connect("v=10&encoding=json").unwrap();
    frames.iter().for_each(|frames| socket.send(frames));
    loop {
        match tokio::time::timeout(Duration::from_millis(1), socket.next()).await {
            Ok(SocketEvent::Text(_)) => {}
            Ok(SocketEvent::Closed(code)) => return Some(code),
            Ok(SocketEvent::Dropped) | Err(_) => return None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_frames_have_close_codes() {
    let good = || identify("played-token", INTENTS);
    let presence = || json!({"op": 3, "d": {}}).to_string();
    let seq = json!({"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}).to_string();
    for (frames, code) in [
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
        assert_eq!(
            close_code_after(&frames).await,
            code,
            "{}",
            frames[0].chars().take(80).collect::<String>()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_version_and_sequence_are_refused() {
    let bot = Bot::new();
    let mut old = bot.discord.connect("v=5&encoding=json").unwrap();
    next_frame(&mut old).await;
    assert_eq!(old.next().await, SocketEvent::Closed(4012));
    let (socket, session) = start_session(&bot).await;
    drop(socket);
    let mut again = bot.resume(&session, 99).await;
    assert_eq!(again.next().await, SocketEvent::Closed(4007));
}

#[tokio::test(start_paused = true)]
async fn connection_without_heartbeat_is_closed() {
    let bot = Bot::new();
    let (mut socket, session) = start_session(&bot).await;
    socket.send(r#"{"op":1,"d":1}"#);
    assert_eq!(op(&next_frame(&mut socket).await), 11);
    let before = tokio::time::Instant::now();
    assert_eq!(socket.next().await, SocketEvent::Closed(4009));
    assert!(before.elapsed() > Duration::from_secs(41));
    assert_eq!(bot.discord.log().closes, [4009]);
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["op 9 false"]);
}

#[tokio::test(start_paused = true)]
async fn zombie_connection_stores_events_for_resume() {
    let bot = Bot::new();
    let (mut socket, session) = start_session(&bot).await;
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Zombie));
    socket.send(r#"{"op":1,"d":1}"#);
    bot.discord.owner().send_text("are you there?");
    assert_eq!(frame_summaries(&mut socket).await, [] as [&str; 0]);
    drop(socket);
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["said are you there?", "RESUMED"]);
}

#[tokio::test(start_paused = true)]
async fn identifies_must_be_five_seconds_apart() {
    let bot = Bot::new();
    let first = bot.connect(INTENTS).await;
    let mut second = bot.discord.connect("").unwrap();
    second.send(&identify("played-token", INTENTS));
    assert_eq!(frame_summaries(&mut second).await[1..], ["op 9 false"]);
    tokio::time::advance(Duration::from_secs(5)).await;
    second.send(&identify("played-token", INTENTS));
    assert_eq!(frame_summaries(&mut second).await, ["READY"]);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn too_many_sessions_revoke_the_token() {
    let gateway = GatewaySetup { daily_identifies: 2, ..GatewaySetup::default() };
    let bot = Bot::with(Setup { gateway, ..Setup::default() });
    for _ in 0..2 {
        bot.connect(INTENTS).await;
        tokio::time::advance(Duration::from_secs(6)).await;
    }
    let left =
        bot.request("GET", "/gateway/bot", json!(null)).json()["session_start_limit"]["remaining"].clone();
    assert_eq!(left, 0);
    let mut third = bot.discord.connect("").unwrap();
    next_frame(&mut third).await;
    third.send(&identify("played-token", INTENTS));
    assert_eq!(third.next().await, SocketEvent::Closed(4004));
    assert_eq!(bot.request("GET", "/users/@me", json!(null)).status, 401);
}

#[tokio::test(start_paused = true)]
async fn duplicate_and_swapped_events_can_be_injected() {
    let bot = Bot::new();
    let mut socket = bot.connect(INTENTS).await;
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Duplicate));
    bot.discord.owner().send_text("one");
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Swap));
    bot.discord.owner().send_text("two");
    bot.discord.owner().send_text("three");
    bot.discord.owner().send_text("four");
    assert_eq!(
        frame_summaries(&mut socket).await,
        ["said one", "said one", "said three", "said two", "said four"]
    );
}

#[tokio::test(start_paused = true)]
async fn reconnect_and_invalid_session_can_be_injected() {
    let bot = Bot::new();
    let (mut socket, session) = start_session(&bot).await;
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Reconnect));
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Raw("nonsense".into())));
    assert_eq!(op(&next_frame(&mut socket).await), 7);
    assert_eq!(socket.next().await, SocketEvent::Text("nonsense".into()));
    bot.discord.inject_fault(DiscordFault::Gateway(GatewayFault::InvalidSession(Resumable::No)));
    assert_eq!(frame_summaries(&mut socket).await, ["op 9 false"]);
    assert_eq!(frame_summaries(&mut bot.resume(&session, 1).await).await, ["op 9 false"]);
}

#[tokio::test(start_paused = true)]
async fn outage_drops_connections_and_requests() {
    let bot = Bot::new();
    let mut socket = bot.connect(INTENTS).await;
    let second = Duration::from_secs(1);
    bot.discord.inject_fault(DiscordFault::Down { after: 10 * second, lasts: 60 * second });
    bot.send_text("still here");
    assert_eq!(next_frame(&mut socket).await["d"]["content"], "still here");
    assert_eq!(socket.next().await, SocketEvent::Dropped);
    assert_eq!(bot.discord.connect("").unwrap_err(), ConnectError);
    let call = crate::fake_discord::ApiRequest::get("/users/@me", "played-token");
    assert!(bot.discord.request(call.clone()).response().is_none());
    tokio::time::advance(60 * second).await;
    assert_eq!(bot.discord.request(call).response().unwrap().status, 200);
    bot.connect(INTENTS).await;
}
