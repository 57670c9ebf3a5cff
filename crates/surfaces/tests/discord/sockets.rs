//! Tests of the network transport over loopback sockets, against the fake Discord.

use std::sync::Arc;

use surfaces::discord::events::Event;
use surfaces::discord::gateway::{Beginning, Ended, Gateway, Told};
use surfaces::discord::message::Outgoing;
use surfaces::discord::rest::{Rest, Trouble};
use surfaces::discord::wire::net::{BadSettings, Net};
use surfaces::discord::wire::{Broken, File, Unfetched, Wire as _};
use surfaces::discord::{Snowflake, Token};
use testkit::clock::VirtualClock;
use testkit::discord::{Attached, Discord, Mishap, On, Server, Setup, Trouble as Upset, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

struct Open {
    discord: Discord,
    server: Server,
    token: Token,
    net: Net,
}

async fn open() -> Open {
    let clock = VirtualClock::new("2026-11-16T09:00[Europe/Madrid]".parse().unwrap());
    let discord = Discord::new(Setup::default(), Arc::new(clock));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(discord.clone(), listener).unwrap();
    let token = Token::read(&discord.token()).unwrap();
    let net = Net::new(&format!("{}/api/v10", server.url()), &token).unwrap();
    Open { discord, server, token, net }
}

/// Returns the next event that `wanted` accepts.
async fn event<T>(told: &mut Receiver<Told>, wanted: impl Fn(Event) -> Option<T>) -> T {
    loop {
        if let Told::Event(event) = told.recv().await.unwrap()
            && let Some(found) = wanted(event)
        {
            return found;
        }
    }
}

/// D1: a session is resumed by the next process over real sockets too.
#[tokio::test]
async fn a_conversation_over_real_sockets_goes_on_after_a_restart() {
    let Open { discord, server, token, net } = open().await;
    let wire = Arc::new(net);
    let rest = Rest::new(wire.clone());
    let mut session = None;
    for life in 0..2 {
        let beginning = Beginning { token: token.clone(), session: session.take(), seed: 1 };
        let (listener, mut told) = channel(64);
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(Gateway::new(wire.clone(), rest.clone(), beginning).run(listener, stop.clone()));
        let is_in = |event| matches!(event, Event::Ready { .. } | Event::Resumed).then_some(());
        event(&mut told, is_in).await;
        discord.owner().types(&format!("hello {life}"));
        let message = |event| if let Event::Message(message) = event { Some(message) } else { None };
        assert_eq!(event(&mut told, message).await.content, format!("hello {life}"));
        if let Told::Keep(kept) = told.recv().await.unwrap() {
            session = Some(kept);
        }
        stop.cancel();
        assert_eq!(task.join_next().await.unwrap().unwrap(), Ended::Stopped);
    }
    let ledger = discord.ledger();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (1, 1));
    server.stop().await;
}

#[tokio::test]
async fn files_go_up_and_come_down() {
    let Open { discord, server, net, .. } = open().await;
    let rest = Rest::new(Arc::new(net.clone()));
    let channel = Snowflake(discord.owner().channel().0);
    let file = File { name: "day.png".into(), description: "the day".into(), bytes: b"png"[..].into() };
    let outgoing = Outgoing { files: vec![file], ..Outgoing::words("look") };
    rest.create_message(channel, &outgoing, Some("n")).await.unwrap();
    let seen = discord.visible().remove(0);
    assert_eq!(seen.attachments[0]["filename"], "day.png");

    discord.owner().types_with("", vec![Attached::new("big.bin", vec![7; 100_000])]);
    let heard = rest.messages_after(channel, Snowflake(seen.id.0), 10).await.unwrap().remove(0);
    let url = &heard.attachments[0].url;
    assert_eq!(rest.fetch(url, 100_000).await.unwrap().len(), 100_000);
    assert_eq!(rest.fetch(url, 99_999).await, Err(Unfetched::TooBig(99_999)));
    assert_eq!(rest.fetch("http://example.com/a.png", 10).await, Err(Unfetched::NotAllowed));
    assert_eq!(rest.fetch("file:///etc/passwd", 10).await, Err(Unfetched::NotAllowed));
    server.stop().await;
}

#[tokio::test]
async fn a_broken_line_says_whether_the_request_may_have_arrived() {
    let Open { discord, server, net, token } = open().await;
    let rest = Rest::new(Arc::new(net.clone()));
    let channel = Snowflake(discord.owner().channel().0);
    discord.trouble(Upset::Call(On::send(), Mishap::LostAfter));
    let sent = rest.create_message(channel, &Outgoing::words("hello"), Some("n")).await;
    assert!(matches!(sent, Err(Trouble::Unknown(_))), "{sent:?}");
    let again = rest.create_message(channel, &Outgoing::words("hello"), Some("n")).await.unwrap();
    assert_eq!(discord.visible().len(), 1);
    assert_eq!(again.id.0, discord.visible()[0].id.0);

    let refused = net.connect("wss://127.0.0.1:1/").await.err().unwrap();
    assert!(matches!(refused, Broken::Before(_)));
    let insecure = net.connect("ws://gateway.discord.gg/").await.err().unwrap();
    assert_eq!(insecure, Broken::Before("the gateway's address is not a secure one".into()));

    let nobody = Net::new("http://127.0.0.1:1/api/v10", &token).unwrap();
    let trouble = Rest::new(Arc::new(nobody)).create_message(channel, &Outgoing::words("hello"), None).await;
    assert!(matches!(trouble, Err(Trouble::Away(_))), "{trouble:?}");
    server.stop().await;
}

/// D2: an invalid token is reported over real sockets too, and never printed.
#[tokio::test]
async fn a_wrong_token_is_said_so_and_never_printed() {
    let Open { discord, server, .. } = open().await;
    let token = Token::read("wrong.token.secret").unwrap();
    let net = Net::new(&format!("{}/api/v10/", server.url()), &token).unwrap();
    assert!(!format!("{net:?}").contains("secret"));
    let rest = Rest::new(Arc::new(net));
    assert_eq!(rest.me().await, Err(Trouble::Token));
    assert_eq!(discord.ledger().requests.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn an_address_that_would_show_the_token_is_refused() {
    let token = Token::read("a.b.c").unwrap();
    let refused = |base: &str| Net::new(base, &token).err().unwrap();
    assert_eq!(refused("discord.com"), BadSettings::Address("discord.com".into()));
    assert_eq!(refused("http://discord.com/api"), BadSettings::Insecure("http://discord.com/api".into()));
    // J1, SU-13: a password in the address is not shown.
    assert_eq!(refused("https://me:canary@discord.com"), BadSettings::Address("...@discord.com".into()));
    assert_eq!(refused("http://discord.com/?canary"), BadSettings::Address("http://discord.com/".into()));
    assert!(Net::new("https://discord.com/api/v10", &token).is_ok());
    // A secure address without a listener is refused before anything is sent.
    let net = Net::new("http://127.0.0.1:9", &token).unwrap();
    let fetched = tokio::time::timeout(testkit::PATIENCE, net.fetch("https://127.0.0.1:1/a", 10)).await;
    assert!(matches!(fetched.unwrap(), Err(Unfetched::Broken(_))));
}
