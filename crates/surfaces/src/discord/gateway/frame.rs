//! What is said on a gateway connection, as text.

use serde_json::{Value, json};

use super::Session;
use crate::discord::Token;

/// What we want to hear: direct messages, and reactions to them.
pub const INTENTS: u32 = (1 << 12) | (1 << 13);

/// The kind of an activity that is told as `Watching …`.
const WATCHING: u8 = 3;

/// What Discord says.
#[derive(Debug)]
pub enum Frame {
    /// Something happened.
    Dispatch {
        /// Its name.
        name: String,
        /// Its number.
        seq: Option<u64>,
        /// What.
        data: Value,
    },
    /// We are to show at once that we are there.
    BeatNow,
    /// We are to connect again.
    Reconnect,
    /// The session is not to be used; whether it may be taken up on another connection.
    Invalid(Again),
    /// The first words, and how long lies between two beats, in milliseconds.
    Hello(u64),
    /// Our beat was heard.
    Heard,
    /// Something newer than we are.
    Unknown,
}

/// What becomes of a session that is not to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It may be taken up on another connection.
    Resume,
    /// It is no more.
    Anew,
}

/// Reads what Discord says.
pub fn read(text: &str) -> Result<Frame, String> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON ({error})"))?;
    let op = value["op"].as_u64().ok_or("no number in `op`")?;
    Ok(match op {
        0 => Frame::Dispatch {
            name: value["t"].as_str().unwrap_or_default().to_owned(),
            seq: value["s"].as_u64(),
            data: value["d"].take(),
        },
        1 => Frame::BeatNow,
        7 => Frame::Reconnect,
        9 if value["d"] == true => Frame::Invalid(Again::Resume),
        9 => Frame::Invalid(Again::Anew),
        10 => Frame::Hello(value["d"]["heartbeat_interval"].as_u64().ok_or("no `heartbeat_interval`")?),
        11 => Frame::Heard,
        _ => Frame::Unknown,
    })
}

/// Shows that we are there.
pub fn beat(seq: Option<u64>) -> String {
    json!({ "op": 1, "d": seq }).to_string()
}

/// Begins a session.
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

/// Takes a session up again.
pub fn resume(token: &Token, session: &Session) -> String {
    let data = json!({ "token": token.reveal(), "session_id": session.id, "seq": session.seq });
    json!({ "op": 6, "d": data }).to_string()
}
