//! Text frames of a gateway connection.

use serde_json::{Value, json};

use super::Session;
use crate::discord::Token;

/// Subscribes to direct messages and reactions to them.
pub const INTENTS: u32 = (1 << 12) | (1 << 13);

/// Activity type that is shown as `JournalObserver …`.
const WATCHING: u8 = 3;

/// A received frame.
#[derive(Debug)]
pub enum Frame {
    /// An event.
    Dispatch {
        name: String,
        seq: Option<u64>,
        data: Value,
    },
    /// Requests a heartbeat at once.
    HeartbeatRequest,
    /// Requests a new connection.
    Reconnect,
    /// The session is invalid.
    InvalidSession(SessionRecovery),
    /// First frame, with the heartbeat interval in milliseconds.
    Hello(u64),
    HeartbeatAck,
    /// Of a type newer than this version.
    Unknown,
}

/// How to continue after an invalid session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRecovery {
    /// It may be resumed on another connection.
    Resume,
    /// A new session is needed.
    Restart,
}

/// Parses a received frame.
pub fn parse(text: &str) -> Result<Frame, String> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON ({error})"))?;
    let op = value["op"].as_u64().ok_or("no number in `op`")?;
    Ok(match op {
        0 => Frame::Dispatch {
            name: value["t"].as_str().unwrap_or_default().to_owned(),
            seq: value["s"].as_u64(),
            data: value["d"].take(),
        },
        1 => Frame::HeartbeatRequest,
        7 => Frame::Reconnect,
        9 if value["d"] == true => Frame::InvalidSession(SessionRecovery::Resume),
        9 => Frame::InvalidSession(SessionRecovery::Restart),
        10 => Frame::Hello(value["d"]["heartbeat_interval"].as_u64().ok_or("no `heartbeat_interval`")?),
        11 => Frame::HeartbeatAck,
        _ => Frame::Unknown,
    })
}

/// Builds a heartbeat.
pub fn heartbeat(seq: Option<u64>) -> String {
    json!({ "op": 1, "d": seq }).to_string()
}

/// Builds the frame that begins a session.
pub fn identify(token: &Token) -> String {
    let properties = json!({ "os": std::env::consts::OS, "browser": "ollim-bot", "device": "ollim-bot" });
    let presence = json!({
        "status": "online", "afk": false, "since": null,
        "activities": [{ "type": WATCHING, "name": "your DMs" }],
    });
    let data = json!({
        "token": token.reveal(), "intents": INTENTS, "properties": properties, "presence": presence,
    });
    json!({ "op": 2, "d": data }).to_string()
}

/// Builds the frame that resumes a session.
pub fn resume(token: &Token, session: &Session) -> String {
    let data = json!({ "token": token.reveal(), "session_id": session.id, "seq": session.seq });
    json!({ "op": 6, "d": data }).to_string()
}
