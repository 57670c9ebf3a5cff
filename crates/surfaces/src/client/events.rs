//! Event stream of the assistant over one connection. The assistant sends a heartbeat when it has
//! nothing to show; several missed heartbeats in a row mean that it hangs.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Call, Unanswered};
use crate::web::Limits;

/// Interval at which at least a heartbeat arrives.
const BEAT: Duration = Limits::HOUSE.heartbeat;

/// Number of missed heartbeats after which the stream counts as silent. They are counted one by
/// one, so that a client that was itself suspended has missed only one.
const MISSED: u32 = 3;

pub struct Events {
    call: Call,
    unread: Vec<u8>,
    silence: Silence,
}

/// One event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Event name: `said`, `began`, `delta`, `progress`, `working`, `ended`, `asked`, `answered`,
    /// `compacting`, `compacted`, `undone`, `held`, `waiting`, `forked`, `unforked`, `sent`,
    /// `away`, `card`, `notice`, `hello`, `reload`.
    pub name: String,
    pub data: Value,
}

/// Counts the heartbeats missed since the last frame.
struct Silence {
    missed: u32,
    /// When the next heartbeat counts as missed.
    misses: Instant,
}

impl Silence {
    fn after(missed: u32) -> Self {
        Self { missed, misses: Instant::now() + BEAT }
    }
}

impl Events {
    pub(super) fn new(call: Call) -> Self {
        Self { call, unread: Vec::new(), silence: Silence::after(0) }
    }

    /// Returns the next event, or `None` at the end of the stream. Silence is reported once; the
    /// next call waits until it ends. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Shown>, Unanswered> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                match shown(&String::from_utf8_lossy(&block)) {
                    Some(shown) => return Ok(Some(shown)),
                    None => continue,
                }
            }
            let Some(bytes) = self.bytes().await? else { return Ok(None) };
            self.unread.extend_from_slice(&bytes);
        }
    }

    async fn bytes(&mut self) -> Result<Option<Bytes>, Unanswered> {
        let body = self.call.response.body_mut();
        while self.silence.missed < MISSED {
            if let Ok(frame) = timeout_at(self.silence.misses, body.frame()).await {
                self.silence = Silence::after(0);
                return Ok(read(frame));
            }
            self.silence = Silence::after(self.silence.missed + 1);
            if self.silence.missed == MISSED {
                return Err(Unanswered::Silent((BEAT * MISSED).as_secs()));
            }
        }
        let frame = body.frame().await;
        self.silence = Silence::after(0);
        Ok(read(frame))
    }
}

/// Returns the data of a frame, or `None` at the end of the stream.
fn read<E>(frame: Option<Result<Frame<Bytes>, E>>) -> Option<Bytes> {
    frame?.ok().map(|frame| frame.into_data().unwrap_or_default())
}

/// Parses one block of the stream. Returns `None` for the comments that serve as heartbeats.
fn shown(block: &str) -> Option<Shown> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let data = serde_json::from_str(&field("data")?).ok()?;
    Some(Shown { name: field("event")?, data })
}
