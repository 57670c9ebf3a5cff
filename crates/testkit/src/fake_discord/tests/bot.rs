//! A minimal bot client for tests of the fake Discord.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::VirtualClock;
use crate::fake_discord::{
    ApiRequest, ApiResponse, Body, FakeDiscord, GatewaySocket, Id, Setup, SocketEvent,
};

/// Intents for direct messages and reactions in them.
pub const INTENTS: u64 = 1 << 12 | 1 << 13;

/// A bot and its Discord.
pub struct Bot {
    pub discord: FakeDiscord,
    pub channel: Id,
}

impl Bot {
    /// Creates a bot on a Discord with default settings.
    pub fn new() -> Self {
        Self::with(Setup::default())
    }

    /// Creates a bot on a Discord with `setup`.
    pub fn with(setup: Setup) -> Self {
        let start = "2026-11-16T09:00:00[Europe/Berlin]".parse().unwrap();
        let discord = FakeDiscord::new(setup, Arc::new(VirtualClock::new(start)));
        let channel = discord.owner().channel();
        Self { discord, channel }
    }

    /// Sends a request and returns its response.
    pub fn request(&self, method: &str, path: &str, body: Value) -> ApiResponse {
        let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
        let call = ApiRequest::new(method, path, &self.discord.token(), body);
        self.discord.request(call).response().cloned().expect("an answer")
    }

    /// Sends a message and returns the response.
    pub fn send(&self, message: Value) -> ApiResponse {
        self.request("POST", &format!("/api/v10/channels/{}/messages", self.channel), message)
    }

    /// Sends a text, which must be accepted.
    pub fn send_text(&self, text: &str) -> Id {
        let answer = self.send(json!({"content": text}));
        assert_eq!(answer.status, 200, "{}", answer.json());
        id(&answer.json())
    }

    /// Sends a request about a message.
    pub fn message_request(&self, method: &str, message: Id, rest: &str, body: Value) -> ApiResponse {
        self.request(method, &format!("/channels/{}/messages/{message}{rest}", self.channel), body)
    }

    /// Opens a connection and starts a session with these intents.
    pub async fn connect(&self, intents: u64) -> GatewaySocket {
        let mut socket = self.discord.connect("v=10&encoding=json").expect("a line");
        assert_eq!(op(&next_frame(&mut socket).await), 10);
        socket.send(&identify(&self.discord.token(), intents));
        let ready = next_frame(&mut socket).await;
        assert_eq!(ready["t"], "READY", "{ready}");
        socket
    }

    /// Opens a connection and resumes a session.
    pub async fn resume(&self, session: &str, seq: u64) -> GatewaySocket {
        let mut socket = self.discord.connect("v=10&encoding=json").expect("a line");
        assert_eq!(op(&next_frame(&mut socket).await), 10);
        let data = json!({"token": self.discord.token(), "session_id": session, "seq": seq});
        socket.send(&json!({"op": 6, "d": data}).to_string());
        socket
    }
}

/// Returns the frame that starts a session.
pub fn identify(token: &str, intents: u64) -> String {
    let properties = json!({"os": "linux", "browser": "b", "device": "b"});
    json!({"op": 2, "d": {"token": token, "intents": intents, "properties": properties}}).to_string()
}

/// Returns the next frame, which must be text.
pub async fn next_frame(socket: &mut GatewaySocket) -> Value {
    match socket.next().await {
        SocketEvent::Text(text) => serde_json::from_str(&text).unwrap(),
        other @ (SocketEvent::Closed(_) | SocketEvent::Dropped) => panic!("no text, but {other:?}"),
    }
}

/// Returns the frames that are available without further waiting.
pub async fn available_frames(socket: &mut GatewaySocket) -> Vec<Value> {
    let mut frames = Vec::new();
    while let Ok(SocketEvent::Text(text)) =
        tokio::time::timeout(Duration::from_millis(1), socket.next()).await
    {
        frames.push(serde_json::from_str(&text).unwrap());
    }
    frames
}

/// Returns short descriptions of the available frames.
pub async fn frame_summaries(socket: &mut GatewaySocket) -> Vec<String> {
    let kind = |frame: &Value| match frame["t"].as_str() {
        Some("MESSAGE_CREATE") => format!("said {}", frame["d"]["content"].as_str().unwrap()),
        Some(name) => name.to_owned(),
        None => format!("op {} {}", frame["op"], frame["d"]),
    };
    available_frames(socket).await.iter().map(kind).collect()
}

/// Returns the opcode of a frame.
pub fn op(frame: &Value) -> u64 {
    frame["op"].as_u64().unwrap()
}

/// Returns the id of a JSON object.
pub fn id(wire: &Value) -> Id {
    wire["id"].as_str().unwrap().parse().unwrap()
}

/// Returns the status and error code of a response.
pub fn code(answer: &ApiResponse) -> (u16, u64) {
    (answer.status, answer.json()["code"].as_u64().unwrap_or(0))
}
