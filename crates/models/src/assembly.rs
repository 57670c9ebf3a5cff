//! A reply that is still coming: what every vendor's stream is put together into.
//!
//! Nothing is given out before the reply is whole, so a call that was cut in the middle cannot be mistaken
//! for a call.

use std::collections::BTreeSet;

use domain::conversation::{Block, Json, Usage};
use domain::failure::Failure;
use domain::turn::Reply;
use serde::Deserialize;
use serde_json::Value;

/// The bytes that a block, an item or a call counts in addition to its content, so that a flood of empty ones is
/// bounded too.
pub const PART_BYTES: usize = 64;

/// More tokens than any call can use; what a broken server counts beyond it is not believed.
pub const MOST_TOKENS: u64 = u32::MAX as u64;

/// What one event means to whoever listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing to hear.
    Quiet,
    /// Nothing of the reply: an event that only keeps the connection open.
    KeepAlive,
    /// More words.
    Words(String),
    /// More of a note about the work in progress, which is not part of the answer.
    Progress(String),
    /// The reply ended.
    Ended,
}

/// Whether anything was heard yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Not a word.
    Nothing,
    /// Some words, which stay said.
    Words,
}

/// A reply that is still coming.
pub trait Assembly: Sized {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Result<News, Failure>;

    /// Whether anything was heard yet.
    fn heard(&self) -> Heard;

    /// Whether the server works on a part of which it streams nothing, so that events that only keep the connection open
    /// are all that can be expected of it.
    fn is_working(&self) -> bool {
        false
    }

    /// What the call has used, as far as that was told.
    fn used(&self) -> Usage;

    /// Returns the number of bytes that are kept of the reply so far: words, thinking and arguments of tool calls.
    fn held(&self) -> usize;

    /// Whether the reply is whole though its stream never said that it ends.
    fn is_whole(&self) -> bool {
        false
    }

    /// The whole reply.
    fn finish(self) -> Result<Reply, Failure>;

    /// The failure of a stream that ended here: half an answer, or none.
    fn broke_off(&self, why: &str) -> Failure {
        match self.heard() {
            Heard::Nothing => Failure::Broken(why.to_owned()),
            Heard::Words => Failure::CutOff(why.to_owned()),
        }
    }

    /// The failure of a stream that went silent here.
    fn went_silent(&self, why: &str) -> Failure {
        match self.heard() {
            Heard::Nothing => Failure::Unreachable(why.to_owned()),
            Heard::Words => Failure::CutOff(why.to_owned()),
        }
    }
}

/// The input of a call, which may come without one.
pub fn json_object(input: String) -> Result<Json, Failure> {
    if input.is_empty() {
        return Ok(Json("{}".to_owned()));
    }
    match serde_json::from_str::<serde_json::Map<_, Value>>(&input) {
        Ok(_) => Ok(Json(input)),
        Err(_) => Err(garbled("the input of a tool call is no JSON object")),
    }
}

/// Results are told apart by the names of their calls.
pub fn distinct(blocks: &[Block]) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    let again = blocks.iter().any(|block| matches!(block, Block::Call(call) if !names.insert(&call.id)));
    if again { Err(garbled("two tool calls have one name")) } else { Ok(()) }
}

/// Reads one event, or a part of one.
pub fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|_| garbled("an event that is not in its language"))
}

/// Returns about how many bytes `value` has as JSON.
pub fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| json_bytes(value) + 8).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + json_bytes(value) + 8).sum(),
    }
}

/// What is not in the language of its wire.
pub fn garbled(why: &str) -> Failure {
    Failure::Garbled(why.to_owned())
}
