//! The trait that assembles a vendor's stream into a reply, and helpers for its implementations.
//!
//! Nothing is returned before the reply is complete, so a truncated call is never mistaken for a
//! complete one.

use std::collections::BTreeSet;

use domain::conversation::{Block, Json, Usage};
use domain::failure::Failure;
use domain::turn::ModelReply;
use serde::Deserialize;
use serde_json::Value;

/// The bytes that a block, an item or a call counts in addition to its content, so that many empty
/// ones are bounded too.
pub const PART_OVERHEAD_BYTES: usize = 64;

/// More tokens than any call can use; larger counts of a broken server are clamped.
pub const MAX_TOKENS: u64 = u32::MAX as u64;

/// The effect of one event on the streamed output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamUpdate {
    /// Content without text to stream.
    NoText,
    /// No content: an event that only keeps the connection open.
    KeepAlive,
    /// More text of the answer.
    Text(String),
    /// More of a note about the work in progress, which is not part of the answer.
    Progress(String),
    /// The reply ended.
    Ended,
}

/// States whether any text was passed on to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Nothing,
    /// Some text, which cannot be taken back.
    Text,
}

/// An incomplete reply.
pub trait ReplyAssembler: Sized {
    /// Takes the data of one event.
    fn add_event(&mut self, data: &str) -> Result<StreamUpdate, Failure>;

    /// Returns whether any text was passed on.
    fn delivery(&self) -> Delivery;

    /// Returns whether the server works on a part that it does not stream, so that only keep-alive
    /// events can be expected.
    fn is_working(&self) -> bool {
        false
    }

    /// Returns the usage of the call, as far as it was reported.
    fn usage(&self) -> Usage;

    /// Returns the number of bytes stored for the reply so far: text, thinking and arguments of
    /// tool calls.
    fn byte_count(&self) -> usize;

    /// Returns whether the reply is complete although its stream had no end event.
    fn is_complete(&self) -> bool {
        false
    }

    /// Returns the complete reply.
    fn finish(self) -> Result<ModelReply, Failure>;

    /// Returns the failure of a stream that ended here: cut off if text was passed on, else broken.
    fn disconnect_failure(&self, why: &str) -> Failure {
        match self.delivery() {
            Delivery::Nothing => Failure::VendorError(why.to_owned()),
            Delivery::Text => Failure::CutOff(why.to_owned()),
        }
    }

    /// Returns the failure of a stream that stalled here.
    fn stall_failure(&self, why: &str) -> Failure {
        match self.delivery() {
            Delivery::Nothing => Failure::Unreachable(why.to_owned()),
            Delivery::Text => Failure::CutOff(why.to_owned()),
        }
    }
}

/// Returns the input of a call as JSON; an absent input is an empty object.
pub fn json_object(input: String) -> Result<Json, Failure> {
    if input.is_empty() {
        return Ok(Json("{}".to_owned()));
    }
    match serde_json::from_str::<serde_json::Map<_, Value>>(&input) {
        Ok(_) => Ok(Json(input)),
        Err(_) => Err(garbled("the input of a tool call is no JSON object")),
    }
}

/// Checks that no two calls have the same id, since results are matched by it.
pub fn check_unique_call_ids(blocks: &[Block]) -> Result<(), Failure> {
    let mut ids = BTreeSet::new();
    let has_duplicate =
        blocks.iter().any(|block| matches!(block, Block::Call(call) if !ids.insert(&call.id)));
    if has_duplicate { Err(garbled("two tool calls have one name")) } else { Ok(()) }
}

/// Parses one event, or a part of one.
pub fn parse_event<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|_| garbled("an event that is not in its language"))
}

/// Returns the approximate number of bytes of `value` as JSON.
pub fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| json_bytes(value) + 8).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + json_bytes(value) + 8).sum(),
    }
}

/// Returns the failure for a reply that violates the protocol.
pub fn garbled(why: &str) -> Failure {
    Failure::InvalidResponse(why.to_owned())
}
