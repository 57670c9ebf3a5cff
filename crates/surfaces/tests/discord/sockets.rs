//! Tests of the network transport over loopback sockets, against the fake Discord.

use std::sync::Arc;

use surfaces::discord::events::Event;
use surfaces::discord::gateway::{Gateway, GatewayConfig, GatewayExit, GatewayUpdate};
use surfaces::discord::message::OutgoingMessage;
use surfaces::discord::rest::{DiscordError, Rest};
use surfaces::discord::transport::net::{InvalidSettings, NetworkTransport};
use surfaces::discord::transport::{DiscordTransport as _, FetchError, File, TransportError};
use surfaces::discord::{Snowflake, Token};
use testkit::clock::VirtualClock;
use testkit::fake_discord::{
    DiscordFault as Upset, FakeDiscord, RequestFault, RequestFilter, Server, Setup, Upload, serve,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

struct RunningServer {
    discord: FakeDiscord,
    server: Server,
    token: Token,
    net: NetworkTransport,
}

async fn start_server() -> RunningServer {
    let clock = VirtualClock::new("2026-11-16T09:00[Europe/Madrid]".parse().unwrap());
    let discord = FakeDiscord::new(Setup::default(), Arc::new(clock));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(discord.clone(), listener).unwrap();
    let token = Token::parse(&discord.token()).unwrap();
    let net = NetworkTransport::new(&format!("{}/api/v10", server.url()), &token).unwrap();
    RunningServer { discord, server, token, net }
}

/// Returns the next event that `wanted` accepts.
async fn event<T>(told: &mut Receiver<GatewayUpdate>, wanted: impl Fn(Event) -> Option<T>) -> T {
    loop {
        if let GatewayUpdate::Event(event) = told.recv().await.unwrap()
            && let Some(found) = wanted(event)
        {
            return found;
        }
    }
}

/// D1: a session is resumed by the next process over real sockets too.
#[tokio::test]
async fn a_conversation_over_real_sockets_goes_on_after_a_restart() {
    let RunningServer { discord, server, token, net } = start_server().await;
    let wire = Arc::new(net);
    let rest = Rest::new(wire.clone());
    let mut session = None;
    for life in 0..2 {
        let beginning = GatewayConfig { token: token.clone(), session: session.take(), seed: 1 };
        let (listener, mut told) = channel(64);
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(Gateway::new(wire.clone(), rest.clone(), beginning).run(listener, stop.clone()));
        let is_in = |event| matches!(event, Event::Ready { .. } | Event::Resumed).then_some(());
        event(&mut told, is_in).await;
        discord.owner().send_text(&format!("hello {life}"));
        let message = |event| if let Event::Message(message) = event { Some(message) } else { None };
        assert_eq!(event(&mut told, message).await.content, format!("hello {life}"));
        if let GatewayUpdate::SaveSession(kept) = told.recv().await.unwrap() {
            session = Some(kept);
        }
        stop.cancel();
        assert_eq!(task.join_next().await.unwrap().unwrap(), GatewayExit::Stopped);
    }
    let ledger = discord.log();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (1, 1));
    server.stop().await;
}

#[tokio::test]
async fn files_are_uploaded_and_downloaded() {
    let RunningServer { discord, server, net, .. } = start_server().await;
    let rest = Rest::new(Arc::new(net.clone()));
    let channel = Snowflake(discord.owner().channel().0);
    let file = File { name: "day.png".into(), description: "the day".into(), bytes: b"png"[..].into() };
    let outgoing = OutgoingMessage { files: vec![file], ..OutgoingMessage::text("look") };
    rest.create_message(channel, &outgoing, Some("n")).await.unwrap();
    let seen = discord.visible().remove(0);
    assert_eq!(seen.attachments[0]["filename"], "day.png");

    discord.owner().send_with_files("", vec![Upload::new("big.bin", vec![7; 100_000])]);
    let heard = rest.messages_after(channel, Snowflake(seen.id.0), 10).await.unwrap().remove(0);
    let url = &heard.attachments[0].url;
    assert_eq!(rest.fetch(url, 100_000).await.unwrap().len(), 100_000);
    assert_eq!(rest.fetch(url, 99_999).await, Err(FetchError::TooBig(99_999)));
    assert_eq!(rest.fetch("http://example.com/a.png", 10).await, Err(FetchError::InsecureAddress));
    assert_eq!(rest.fetch("file:///etc/passwd", 10).await, Err(FetchError::InsecureAddress));
    server.stop().await;
}

#[tokio::test]
async fn a_connection_error_says_whether_the_request_may_have_arrived() {
    let RunningServer { discord, server, net, token } = start_server().await;
    let rest = Rest::new(Arc::new(net.clone()));
    let channel = Snowflake(discord.owner().channel().0);
    discord.inject_fault(Upset::Request(RequestFilter::send(), RequestFault::LostAfter));
    let sent = rest.create_message(channel, &OutgoingMessage::text("hello"), Some("n")).await;
    assert!(matches!(sent, Err(DiscordError::OutcomeUnknown(_))), "{sent:?}");
    let again = rest.create_message(channel, &OutgoingMessage::text("hello"), Some("n")).await.unwrap();
    assert_eq!(discord.visible().len(), 1);
    assert_eq!(again.id.0, discord.visible()[0].id.0);

    let refused = net.connect("wss://127.0.0.1:1/").await.err().unwrap();
    assert!(matches!(refused, TransportError::NotSent(_)));
    let insecure = net.connect("ws://gateway.discord.gg/").await.err().unwrap();
    assert_eq!(insecure, TransportError::NotSent("the gateway's address is not a secure one".into()));

    let nobody = NetworkTransport::new("http://127.0.0.1:1/api/v10", &token).unwrap();
    let trouble =
        Rest::new(Arc::new(nobody)).create_message(channel, &OutgoingMessage::text("hello"), None).await;
    assert!(matches!(trouble, Err(DiscordError::Unavailable(_))), "{trouble:?}");
    server.stop().await;
}

/// D2: an invalid token is reported over real sockets too, and never printed.
#[tokio::test]
async fn an_invalid_token_is_reported_and_never_printed() {
    let RunningServer { discord, server, .. } = start_server().await;
    let token = Token::parse("wrong.token.secret").unwrap();
    let net = NetworkTransport::new(&format!("{}/api/v10/", server.url()), &token).unwrap();
    assert!(!format!("{net:?}").contains("secret"));
    let rest = Rest::new(Arc::new(net));
    assert_eq!(rest.current_user().await, Err(DiscordError::InvalidToken));
    assert_eq!(discord.log().requests.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn an_insecure_address_is_refused() {
    let token = Token::parse("a.b.c").unwrap();
    let refused = |base: &str| NetworkTransport::new(base, &token).err().unwrap();
    assert_eq!(refused("discord.com"), InvalidSettings::Address("discord.com".into()));
    assert_eq!(refused("http://discord.com/api"), InvalidSettings::Insecure("http://discord.com/api".into()));
    // J1, SU-13: a password in the address is not shown.
    assert_eq!(refused("https://me:canary@discord.com"), InvalidSettings::Address("...@discord.com".into()));
    assert_eq!(refused("http://discord.com/?canary"), InvalidSettings::Address("http://discord.com/".into()));
    assert!(NetworkTransport::new("https://discord.com/api/v10", &token).is_ok());
    // A secure address without a listener is refused before anything is sent.
    let net = NetworkTransport::new("http://127.0.0.1:9", &token).unwrap();
    let fetched = tokio::time::timeout(testkit::TEST_TIMEOUT, net.fetch("https://127.0.0.1:1/a", 10)).await;
    assert!(matches!(fetched.unwrap(), Err(FetchError::Connection(_))));
}
