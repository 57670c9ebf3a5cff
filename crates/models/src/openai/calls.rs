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

use super::wire::{CallDelta, FunctionDelta};
use crate::assembly::{PART_BYTES, garbled, json_bytes, json_object, read};

/// Incomplete calls.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<Growing>,
    /// The position of the newest call with each index.
    numbered: BTreeMap<u64, usize>,
    /// The bytes of all fragments.
    held: usize,
}

#[derive(Debug, Default)]
struct Growing {
    id: String,
    name: String,
    input: String,
    /// True if the input so far arrived in one fragment and is an object.
    at_once: bool,
    /// Gemini's `extra_content`, or null.
    extra: Value,
}

/// The calls of a finished reply.
#[derive(Debug, Default)]
pub struct Finished {
    pub calls: Vec<ToolCall>,
    /// Gemini's `extra_content`, by the id of the call.
    pub extras: Map<String, Value>,
    /// The failure of the first incomplete call.
    pub broken: Option<Failure>,
}

/// One fragment of a call.
#[derive(Debug)]
struct Piece {
    number: Option<u64>,
    id: String,
    name: String,
    input: String,
    extra: Value,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the number of bytes received.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Adds one fragment.
    pub fn take(&mut self, delta: CallDelta<'_>) -> Result<(), Failure> {
        let piece = Piece::read(delta)?;
        self.held += piece.id.len() + piece.name.len() + piece.input.len() + json_bytes(&piece.extra);
        let at = match piece.number {
            Some(number) => self.numbered.get(&number).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let begun = at.filter(|at| !self.calls[*at].is_followed_by(&piece));
        let at = begun.unwrap_or_else(|| {
            self.calls.push(Growing::default());
            self.held += PART_BYTES;
            self.calls.len() - 1
        });
        if let Some(number) = piece.number {
            self.numbered.insert(number, at);
        }
        self.calls[at].grow(piece);
        Ok(())
    }

    /// Returns every complete call, with an id that is not in `taken`, and the failure of the first
    /// incomplete one.
    pub fn finish(self, mut taken: BTreeSet<String>) -> Finished {
        let mut finished = Finished::default();
        for mut call in self.calls {
            let extra = call.extra.take();
            match call.finish(&mut taken) {
                Ok(call) => {
                    if !extra.is_null() {
                        finished.extras.insert(call.id.clone(), extra);
                    }
                    finished.calls.push(call);
                }
                Err(failure) => finished.broken = finished.broken.or(Some(failure)),
            }
        }
        finished
    }
}

impl Piece {
    fn read(delta: CallDelta<'_>) -> Result<Self, Failure> {
        let FunctionDelta { name, arguments } =
            delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        Ok(Self {
            number: delta.index,
            id: delta.id.unwrap_or_default(),
            name: name.unwrap_or_default(),
            input: arguments.map_or(Ok(String::new()), input)?,
            extra: delta.extra_content,
        })
    }
}

impl Growing {
    /// Returns whether `piece` begins another call instead of continuing this one.
    fn is_followed_by(&self, piece: &Piece) -> bool {
        if piece.name.is_empty() || self.name.is_empty() {
            return false;
        }
        match (piece.id.is_empty() || self.id.is_empty(), piece.number) {
            (false, _) => piece.id != self.id,
            (true, Some(_)) => self.at_once && is_object(&piece.input),
            (true, None) => true,
        }
    }

    fn grow(&mut self, piece: Piece) {
        if self.id != piece.id {
            self.id.push_str(&piece.id);
        }
        if self.name != piece.name && self.input.is_empty() {
            self.name.push_str(&piece.name);
        }
        self.at_once = self.input.is_empty() && is_object(&piece.input);
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
            id = minted();
        }
        taken.insert(id.clone());
        Ok(ToolCall { id, name: self.name, input })
    }
}

/// Generates an id for a call without one, or with a duplicate one. It has nine letters and digits,
/// because the templates of some models accept nothing else.
pub fn minted() -> String {
    const SIGNS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // The keys of a new hasher are random, which is sufficient for an id.
    let mut dice = RandomState::new().hash_one(0);
    let mut sign = || {
        let sign = SIGNS[usize::try_from(dice % 36).unwrap_or_default()];
        dice /= 36;
        char::from(sign)
    };
    (0..9).map(|_| sign()).collect()
}

fn input(arguments: &RawValue) -> Result<String, Failure> {
    match arguments.get() {
        "null" => Ok(String::new()),
        text if text.starts_with('"') => read(text),
        object => Ok(object.to_owned()),
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
