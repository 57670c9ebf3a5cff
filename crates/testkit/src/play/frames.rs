//! Converts an encoded stream into send steps, with the wait point and the fault of a reply.
//!
//! The encoding of events depends on the API; waits and faults are common to all.

use domain::dice::Dice;

use super::act::{Act, At, Fault};
use super::gate::Gate;

/// The next step of a stream.
#[derive(Clone, Debug)]
pub enum Frame {
    Send(Vec<u8>),
    Wait(Gate),
    Break,
}

/// A stream in the encoding of its API.
#[derive(Clone, Debug)]
pub struct Written {
    /// The encoded events.
    pub events: Vec<Vec<u8>>,
    /// Encodes an error event of this kind.
    pub error: fn(&str) -> Vec<u8>,
    /// An event with invalid JSON.
    pub bad_json: &'static [u8],
}

/// Returns the steps to send `written` for `reply`.
pub fn frames(act: &Act, written: &Written) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (index, event) in written.events.iter().enumerate() {
        if let Some((At::Event(at), gate)) = &act.hold
            && *at == index
        {
            frames.push(Frame::Wait(gate.clone()));
        }
        match act.fault.as_ref().and_then(|fault| wrong(fault, index, written)) {
            None => frames.push(Frame::Send(event.clone())),
            Some(Wrong::Instead(frame)) => frames.push(frame),
            Some(Wrong::Last(frame)) => {
                frames.push(frame);
                break;
            }
            Some(Wrong::End) => break,
        }
    }
    match act.chopped {
        Some(seed) => chopped(frames, seed),
        None => frames,
    }
}

/// The replacement of an event.
enum Wrong {
    /// Send this instead, then the remaining events.
    Instead(Frame),
    /// Send this instead, then end.
    Last(Frame),
    /// End the stream.
    End,
}

fn wrong(fault: &Fault, index: usize, written: &Written) -> Option<Wrong> {
    let send = |text: &[u8]| Frame::Send(text.to_vec());
    match fault {
        Fault::Stall(at) if *at == index => Some(Wrong::Last(Frame::Wait(Gate::new()))),
        Fault::Cut(at) if *at == index => Some(Wrong::Last(Frame::Break)),
        Fault::End(at) if *at == index => Some(Wrong::End),
        Fault::Error(at, kind) if *at == index => Some(Wrong::Last(Frame::Send((written.error)(kind)))),
        Fault::Garbage(at) if *at == index => {
            Some(Wrong::Last(send(b"\x00\xff\xfe no event at all\x80\n\n\n")))
        }
        Fault::BadJson(at) if *at == index => Some(Wrong::Instead(send(written.bad_json))),
        Fault::Event(at, data) if *at == index => {
            Some(Wrong::Instead(Frame::Send(format!("data: {data}\n\n").into_bytes())))
        }
        Fault::Refuse(_)
        | Fault::Html
        | Fault::Stall(_)
        | Fault::Cut(_)
        | Fault::End(_)
        | Fault::Error(..)
        | Fault::Garbage(_)
        | Fault::BadJson(_)
        | Fault::Event(..) => None,
    }
}

fn chopped(frames: Vec<Frame>, seed: u64) -> Vec<Frame> {
    let mut dice = Dice::new(seed);
    let mut pieces = Vec::new();
    let mut held = Vec::new();
    for frame in frames {
        match frame {
            Frame::Send(bytes) => held.extend(bytes),
            Frame::Wait(_) | Frame::Break => {
                pieces.extend(chop(&std::mem::take(&mut held), &mut dice));
                pieces.push(frame);
            }
        }
    }
    pieces.extend(chop(&held, &mut dice));
    pieces
}

fn chop(mut bytes: &[u8], dice: &mut Dice) -> Vec<Frame> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let size = 1 + usize::try_from(dice.roll() % 64).unwrap_or_default();
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(Frame::Send(piece.to_vec()));
        bytes = rest;
    }
    pieces
}
