//! A minimal bot client for tests of the fake Discord.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::VirtualClock;
use crate::discord::{Answer, Body, Call, Discord, Id, Incoming, Setup, Socket};

/// Intents for direct messages and reactions in them.
pub const INTENTS: u64 = 1 << 12 | 1 << 13;

/// A bot and its Discord.
pub struct Bot {
    pub discord: Discord,
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
        let discord = Discord::new(setup, Arc::new(VirtualClock::new(start)));
        let channel = discord.owner().channel();
        Self { discord, channel }
    }

    /// Sends a request and returns its response.
    pub fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
        let call = Call::new(method, path, &self.discord.token(), body);
        self.discord.call(call).answer().cloned().expect("an answer")
    }

    /// Sends a message and returns the response.
    pub fn sends(&self, message: Value) -> Answer {
        self.ask("POST", &format!("/api/v10/channels/{}/messages", self.channel), message)
    }

    /// Sends a text, which must be accepted.
    pub fn says(&self, text: &str) -> Id {
        let answer = self.sends(json!({"content": text}));
        assert_eq!(answer.status, 200, "{}", answer.json());
        id(&answer.json())
    }

    /// Sends a request about a message.
    pub fn on(&self, method: &str, message: Id, rest: &str, body: Value) -> Answer {
        self.ask(method, &format!("/channels/{}/messages/{message}{rest}", self.channel), body)
    }

    /// Opens a connection and starts a session with these intents.
    pub async fn connects(&self, intents: u64) -> Socket {
        let mut socket = self.discord.connect("v=10&encoding=json").expect("a line");
        assert_eq!(op(&text(&mut socket).await), 10);
        socket.say(&identify(&self.discord.token(), intents));
        let ready = text(&mut socket).await;
        assert_eq!(ready["t"], "READY", "{ready}");
        socket
    }

    /// Opens a connection and resumes a session.
    pub async fn resumes(&self, session: &str, seq: u64) -> Socket {
        let mut socket = self.discord.connect("v=10&encoding=json").expect("a line");
        assert_eq!(op(&text(&mut socket).await), 10);
        let asked = json!({"token": self.discord.token(), "session_id": session, "seq": seq});
        socket.say(&json!({"op": 6, "d": asked}).to_string());
        socket
    }
}

/// Returns the frame that starts a session.
pub fn identify(token: &str, intents: u64) -> String {
    let properties = json!({"os": "linux", "browser": "b", "device": "b"});
    json!({"op": 2, "d": {"token": token, "intents": intents, "properties": properties}}).to_string()
}

/// Returns the next frame, which must be text.
pub async fn text(socket: &mut Socket) -> Value {
    match socket.next().await {
        Incoming::Text(text) => serde_json::from_str(&text).unwrap(),
        other @ (Incoming::Closed(_) | Incoming::Dropped) => panic!("no text, but {other:?}"),
    }
}

/// Returns the frames that are available without further waiting.
pub async fn now(socket: &mut Socket) -> Vec<Value> {
    let mut came = Vec::new();
    while let Ok(Incoming::Text(text)) = tokio::time::timeout(Duration::from_millis(1), socket.next()).await {
        came.push(serde_json::from_str(&text).unwrap());
    }
    came
}

/// Returns short descriptions of the available frames.
pub async fn kinds(socket: &mut Socket) -> Vec<String> {
    let kind = |frame: &Value| match frame["t"].as_str() {
        Some("MESSAGE_CREATE") => format!("said {}", frame["d"]["content"].as_str().unwrap()),
        Some(name) => name.to_owned(),
        None => format!("op {} {}", frame["op"], frame["d"]),
    };
    now(socket).await.iter().map(kind).collect()
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
pub fn code(answer: &Answer) -> (u16, u64) {
    (answer.status, answer.json()["code"].as_u64().unwrap_or(0))
}
