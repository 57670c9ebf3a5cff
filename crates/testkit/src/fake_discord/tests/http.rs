//! The fake Discord over real sockets.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

use super::bot::{INTENTS, identify};
use crate::clock::VirtualClock;
use crate::fake_discord::{
    DiscordFault, FakeDiscord, GatewayFault, RequestFault, RequestFilter, Server, Setup, serve,
};

async fn started_server() -> (FakeDiscord, Server) {
    let start = "2026-11-16T09:00:00[Europe/Berlin]".parse().unwrap();
    let discord = FakeDiscord::new(Setup::default(), Arc::new(VirtualClock::new(start)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(discord.clone(), listener).unwrap();
    (discord, server)
}

async fn request(server: &Server, head: &str, body: &[u8]) -> String {
    let url = server.url();
    let mut socket = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    let head =
        format!("{head}\r\nHost: discord\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const TOKEN: &str = "Authorization: Bot played-token";

#[tokio::test]
async fn rest_api_works_over_http() {
    let (discord, server) = started_server().await;
    let own_user = request(&server, &format!("GET /api/v10/users/@me HTTP/1.1\r\n{TOKEN}"), b"").await;
    assert!(own_user.starts_with("HTTP/1.1 200 OK"), "{own_user}");
    assert!(own_user.contains("\r\ncontent-type: application/json\r\n"), "{own_user}");
    let unauthorized = request(&server, "GET /api/v10/users/@me HTTP/1.1", b"").await;
    assert!(unauthorized.starts_with("HTTP/1.1 401"), "{unauthorized}");

    let channel = discord.owner().channel();
    let head = format!("POST /api/v10/channels/{channel}/messages HTTP/1.1\r\n{TOKEN}");
    let kind = "Content-Type: multipart/form-data; boundary=XX";
    let body = "--XX\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n{\"content\": \"a file\"}\r\n\
        --XX\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"a.txt\"\r\n\r\nwords\r\n--XX--\r\n";
    let sent = request(&server, &format!("{head}\r\n{kind}"), body.as_bytes()).await;
    assert!(sent.starts_with("HTTP/1.1 200"), "{sent}");
    let url = discord.visible()[0].attachments[0]["url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&server.url()).expect("an address of this server");
    let fetched = request(&server, &format!("GET {path} HTTP/1.1"), b"").await;
    assert!(fetched.ends_with("\r\n\r\nwords"), "{fetched}");

    discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter));
    let json = "Content-Type: application/json";
    let lost = request(&server, &format!("{head}\r\n{json}"), br#"{"content": "lost"}"#).await;
    assert_eq!((lost.as_str(), discord.visible().len()), ("", 2));
    let wrong = request(&server, &format!("{head}\r\n{json}"), b"{").await;
    assert!(wrong.contains("50109"), "{wrong}");
    server.stop().await;
}

#[tokio::test]
async fn websocket_delivers_messages_and_faults() {
    let (discord, server) = started_server().await;
    let url = format!("{}/gw/?v=10&encoding=json&compress=zlib-stream", server.url().replace("http", "ws"));
    let (mut socket, _) = tokio_tungstenite::connect_async(url.clone()).await.unwrap();
    let read = |message: Message| serde_json::from_str::<Value>(message.to_text().unwrap()).unwrap();
    assert_eq!(read(socket.next().await.unwrap().unwrap())["op"], 10);
    socket.send(Message::text(identify("played-token", INTENTS))).await.unwrap();
    let ready = read(socket.next().await.unwrap().unwrap());
    assert_eq!(ready["d"]["resume_gateway_url"], format!("{}/gw", server.url().replace("http", "ws")));
    discord.owner().send_text("hello");
    assert_eq!(read(socket.next().await.unwrap().unwrap())["d"]["content"], "hello");
    discord.inject_fault(DiscordFault::Gateway(GatewayFault::Drop));
    assert!(socket.next().await.is_none_or(|broken| broken.is_err()));

    let (mut again, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    again.next().await;
    let resume = json!({"token": "played-token", "session_id": ready["d"]["session_id"], "seq": 2});
    again.send(Message::text(json!({"op": 6, "d": resume}).to_string())).await.unwrap();
    assert_eq!(read(again.next().await.unwrap().unwrap())["t"], "RESUMED");
    discord.inject_fault(DiscordFault::Gateway(GatewayFault::Close(4000)));
    let Some(Ok(Message::Close(Some(frame)))) = again.next().await else { panic!("no close frame") };
    assert_eq!(u16::from(frame.code), 4000);
    drop(again);
    server.stop().await;
}
