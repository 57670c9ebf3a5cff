//! Events: what is shown, over one connection.
//!
//! The assistant gives a sign of life when it has nothing to show. Whoever misses a few of them in a row waits for one
//! that stands still.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Call, Unanswered};
use crate::web::Limits;

/// How often something comes, if only a sign of life.
const BEAT: Duration = Limits::HOUSE.heartbeat;

/// How many of them are missed before it is called silent. They are counted one by one, so that whoever was stopped
/// themselves for a while has missed one only.
const MISSED: u32 = 3;

/// A stream of what is shown.
pub struct Events {
    call: Call,
    unread: Vec<u8>,
    silence: Silence,
}

/// Something that was shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Its name: `said`, `began`, `delta`, `progress`, `working`, `ended`, `asked`, `answered`, `compacting`, `compacted`, `undone`,
    /// `held`, `waiting`, `forked`, `unforked`, `sent`, `away`, `card`, `notice`, `hello`, `reload`.
    pub name: String,
    /// What it says.
    pub data: Value,
}

/// For how long nothing has come.
struct Silence {
    missed: u32,
    /// When the next sign of life is missed.
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

    /// The next one; nothing, when the assistant has gone. That it is silent is told once: who goes on waiting waits
    /// until it is not. Who waits for something else meanwhile may drop this and call it again.
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

/// What a frame brings; nothing, if there are no more.
fn read<E>(frame: Option<Result<Frame<Bytes>, E>>) -> Option<Bytes> {
    frame?.ok().map(|frame| frame.into_data().unwrap_or_default())
}

/// Reads one block of our own stream; comments that only keep it alive are nothing.
fn shown(block: &str) -> Option<Shown> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let data = serde_json::from_str(&field("data")?).ok()?;
    Some(Shown { name: field("event")?, data })
}
