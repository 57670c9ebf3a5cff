//! The events of an act as bytes on the wire, with the place where it goes wrong.
//!
//! What an event looks like is up to the wire; where the stream waits, breaks or lies is the same for all.

use domain::dice::Dice;

use super::act::{Act, At, Fault};
use super::gate::Gate;

/// What the stream does next.
#[derive(Clone, Debug)]
pub enum Frame {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits.
    Wait(Gate),
    /// Breaks the connection.
    Break,
}

/// A stream as its wire writes it.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its events, encoded.
    pub events: Vec<Vec<u8>>,
    /// An event that says that something of this kind broke.
    pub error: fn(&str) -> Vec<u8>,
    /// An event whose data is no JSON.
    pub bad_json: &'static [u8],
}

/// What the stream `written` does when `act` plays it.
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

/// What happens in place of an event.
enum Wrong {
    /// This, and the other events follow.
    Instead(Frame),
    /// This, and nothing after it.
    Last(Frame),
    /// Nothing more.
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
