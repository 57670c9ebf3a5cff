//! Event stream of the assistant over one connection. The assistant sends a heartbeat when it has
//! nothing to show; several missed heartbeats in a row mean that it hangs.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{ClientError, OpenResponse};
use crate::web::WebLimits;

/// Interval at which at least a heartbeat arrives.
const HEARTBEAT: Duration = WebLimits::DEFAULT.heartbeat_interval;

/// Number of missed heartbeats after which the stream counts as silent. They are counted one by
/// one, so that a client that was itself suspended has missed only one.
const MAX_MISSED: u32 = 3;

pub struct EventStream {
    call: OpenResponse,
    unread: Vec<u8>,
    silence: SilenceTimer,
}

/// One event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// Event name: `said`, `began`, `delta`, `progress`, `working`, `ended`, `asked`, `answered`,
    /// `compacting`, `compacted`, `undone`, `held`, `waiting`, `forked`, `unforked`, `sent`,
    /// `away`, `card`, `notice`, `hello`, `reload`.
    pub name: String,
    pub data: Value,
}

/// Counts the heartbeats missed since the last frame.
struct SilenceTimer {
    missed: u32,
    /// When the next heartbeat counts as missed.
    deadline: Instant,
}

impl SilenceTimer {
    fn after(missed: u32) -> Self {
        Self { missed, deadline: Instant::now() + HEARTBEAT }
    }
}

impl EventStream {
    pub(super) fn new(call: OpenResponse) -> Self {
        Self { call, unread: Vec::new(), silence: SilenceTimer::after(0) }
    }

    /// Returns the next event, or `None` at the end of the stream. Silence is reported once; the
    /// next call waits until it ends. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, ClientError> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                match parse_block(&String::from_utf8_lossy(&block)) {
                    Some(shown) => return Ok(Some(shown)),
                    None => continue,
                }
            }
            let Some(bytes) = self.bytes().await? else { return Ok(None) };
            self.unread.extend_from_slice(&bytes);
        }
    }

    async fn bytes(&mut self) -> Result<Option<Bytes>, ClientError> {
        let body = self.call.response.body_mut();
        while self.silence.missed < MAX_MISSED {
            if let Ok(frame) = timeout_at(self.silence.deadline, body.frame()).await {
                self.silence = SilenceTimer::after(0);
                return Ok(frame_data(frame));
            }
            self.silence = SilenceTimer::after(self.silence.missed + 1);
            if self.silence.missed == MAX_MISSED {
                return Err(ClientError::StreamSilent((HEARTBEAT * MAX_MISSED).as_secs()));
            }
        }
        let frame = body.frame().await;
        self.silence = SilenceTimer::after(0);
        Ok(frame_data(frame))
    }
}

/// Returns the data of a frame, or `None` at the end of the stream.
fn frame_data<E>(frame: Option<Result<Frame<Bytes>, E>>) -> Option<Bytes> {
    frame?.ok().map(|frame| frame.into_data().unwrap_or_default())
}

/// Parses one block of the stream. Returns `None` for the comments that serve as heartbeats.
fn parse_block(block: &str) -> Option<StreamEvent> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let data = serde_json::from_str(&field("data")?).ok()?;
    Some(StreamEvent { name: field("event")?, data })
}
