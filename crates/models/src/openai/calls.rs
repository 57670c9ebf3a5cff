//! Assembles tool calls from the fragments in which servers send them.
//!
//! By the specification, a call has an index, its first fragment has its id and name, and later
//! ones its input. In practice ids are missing or repeated in every fragment, all calls have the
//! index 0 or none, and the input arrives whole, as a string or as an object. An ambiguous fragment
//! leads to an input that is not an object, and so to a failure, never to a partial call.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use domain::failure::Failure;
use domain::tool::ToolCall;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::protocol::{CallDelta, FunctionDelta};
use crate::assembly::{PART_OVERHEAD_BYTES, garbled, json_bytes, json_object, parse_event};

/// Incomplete calls.
#[derive(Debug, Default)]
pub struct CallAssembler {
    calls: Vec<PartialCall>,
    /// The position of the newest call with each index.
    by_index: BTreeMap<u64, usize>,
    /// The bytes of all fragments.
    byte_count: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    input: String,
    /// True if the input so far arrived in one fragment and is an object.
    is_whole_object: bool,
    /// Gemini's `extra_content`, or null.
    extra: Value,
}

/// The calls of a finished reply.
#[derive(Debug, Default)]
pub struct FinishedCalls {
    pub calls: Vec<ToolCall>,
    /// Gemini's `extra_content`, by the id of the call.
    pub extras: Map<String, Value>,
    /// The failure of the first incomplete call.
    pub failure: Option<Failure>,
}

/// One fragment of a call.
#[derive(Debug)]
struct CallFragment {
    index: Option<u64>,
    id: String,
    name: String,
    input: String,
    extra: Value,
}

impl CallAssembler {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the number of bytes received.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Adds one fragment.
    pub fn add(&mut self, delta: CallDelta<'_>) -> Result<(), Failure> {
        let piece = CallFragment::parse(delta)?;
        self.byte_count += piece.id.len() + piece.name.len() + piece.input.len() + json_bytes(&piece.extra);
        let at = match piece.index {
            Some(number) => self.by_index.get(&number).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let begun = at.filter(|at| !self.calls[*at].is_next_call(&piece));
        let at = begun.unwrap_or_else(|| {
            self.calls.push(PartialCall::default());
            self.byte_count += PART_OVERHEAD_BYTES;
            self.calls.len() - 1
        });
        if let Some(number) = piece.index {
            self.by_index.insert(number, at);
        }
        self.calls[at].append(piece);
        Ok(())
    }

    /// Returns every complete call, with an id that is not in `taken`, and the failure of the first
    /// incomplete one.
    pub fn finish(self, mut taken: BTreeSet<String>) -> FinishedCalls {
        let mut finished = FinishedCalls::default();
        for mut call in self.calls {
            let extra = call.extra.take();
            match call.finish(&mut taken) {
                Ok(call) => {
                    if !extra.is_null() {
                        finished.extras.insert(call.id.clone(), extra);
                    }
                    finished.calls.push(call);
                }
                Err(failure) => finished.failure = finished.failure.or(Some(failure)),
            }
        }
        finished
    }
}

impl CallFragment {
    fn parse(delta: CallDelta<'_>) -> Result<Self, Failure> {
        let FunctionDelta { name, arguments } =
            delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        Ok(Self {
            index: delta.index,
            id: delta.id.unwrap_or_default(),
            name: name.unwrap_or_default(),
            input: arguments.map_or(Ok(String::new()), arguments_text)?,
            extra: delta.extra_content,
        })
    }
}

impl PartialCall {
    /// Returns whether `piece` begins another call instead of continuing this one.
    fn is_next_call(&self, piece: &CallFragment) -> bool {
        if piece.name.is_empty() || self.name.is_empty() {
            return false;
        }
        match (piece.id.is_empty() || self.id.is_empty(), piece.index) {
            (false, _) => piece.id != self.id,
            (true, Some(_)) => self.is_whole_object && is_object(&piece.input),
            (true, None) => true,
        }
    }

    fn append(&mut self, piece: CallFragment) {
        if self.id != piece.id {
            self.id.push_str(&piece.id);
        }
        if self.name != piece.name && self.input.is_empty() {
            self.name.push_str(&piece.name);
        }
        self.is_whole_object = self.input.is_empty() && is_object(&piece.input);
        self.input.push_str(&piece.input);
        if !piece.extra.is_null() {
            self.extra = piece.extra;
        }
    }

    fn finish(self, taken: &mut BTreeSet<String>) -> Result<ToolCall, Failure> {
        if self.name.is_empty() {
            return Err(garbled("a tool call without the name of a tool"));
        }
        let input = if self.input.trim() == "null" { String::new() } else { self.input };
        let input = json_object(input)?;
        let mut id = self.id;
        while id.is_empty() || taken.contains(&id) {
            id = generate_call_id();
        }
        taken.insert(id.clone());
        Ok(ToolCall { id, name: self.name, input })
    }
}

/// Generates an id for a call without one, or with a duplicate one. It has nine letters and digits,
/// because the templates of some models accept nothing else.
pub fn generate_call_id() -> String {
    const SIGNS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // The keys of a new hasher are random, which is sufficient for an id.
    let mut random = RandomState::new().hash_one(0);
    let mut sign = || {
        let sign = SIGNS[usize::try_from(random % 36).unwrap_or_default()];
        random /= 36;
        char::from(sign)
    };
    (0..9).map(|_| sign()).collect()
}

fn arguments_text(arguments: &RawValue) -> Result<String, Failure> {
    match arguments.get() {
        "null" => Ok(String::new()),
        text if text.starts_with('"') => parse_event(text),
        object => Ok(object.to_owned()),
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
