//! Converts an encoded stream into send steps, with the wait point and the fault of a reply.
//!
//! The encoding of events depends on the API; waits and faults are common to all.

use domain::rng::Rng;

use super::gate::Gate;
use super::reply::{ReplyFault, ScriptedReply, WaitPoint};

/// The next step of a stream.
#[derive(Clone, Debug)]
pub enum StreamStep {
    Send(Vec<u8>),
    Wait(Gate),
    Break,
}

/// A stream in the encoding of its API.
#[derive(Clone, Debug)]
pub struct EncodedStream {
    /// The encoded events.
    pub events: Vec<Vec<u8>>,
    /// Encodes an error event of this kind.
    pub error: fn(&str) -> Vec<u8>,
    /// An event with invalid JSON.
    pub bad_json: &'static [u8],
}

/// Returns the steps to send `written` for `reply`.
pub fn stream_steps(reply: &ScriptedReply, written: &EncodedStream) -> Vec<StreamStep> {
    let mut frames = Vec::new();
    for (index, event) in written.events.iter().enumerate() {
        if let Some((WaitPoint::Event(at), gate)) = &reply.wait_at
            && *at == index
        {
            frames.push(StreamStep::Wait(gate.clone()));
        }
        match reply.fault.as_ref().and_then(|fault| deviation_at(fault, index, written)) {
            None => frames.push(StreamStep::Send(event.clone())),
            Some(Deviation::Instead(frame)) => frames.push(frame),
            Some(Deviation::Last(frame)) => {
                frames.push(frame);
                break;
            }
            Some(Deviation::End) => break,
        }
    }
    match reply.chunked {
        Some(seed) => rechunk(frames, seed),
        None => frames,
    }
}

/// The replacement of an event.
enum Deviation {
    /// Send this instead, then the remaining events.
    Instead(StreamStep),
    /// Send this instead, then end.
    Last(StreamStep),
    /// End the stream.
    End,
}

fn deviation_at(fault: &ReplyFault, index: usize, written: &EncodedStream) -> Option<Deviation> {
    let send = |text: &[u8]| StreamStep::Send(text.to_vec());
    match fault {
        ReplyFault::Stall(at) if *at == index => Some(Deviation::Last(StreamStep::Wait(Gate::new()))),
        ReplyFault::Cut(at) if *at == index => Some(Deviation::Last(StreamStep::Break)),
        ReplyFault::End(at) if *at == index => Some(Deviation::End),
        ReplyFault::Error(at, kind) if *at == index => {
            Some(Deviation::Last(StreamStep::Send((written.error)(kind))))
        }
        ReplyFault::Garbage(at) if *at == index => {
            Some(Deviation::Last(send(b"\x00\xff\xfe no event at all\x80\n\n\n")))
        }
        ReplyFault::BadJson(at) if *at == index => Some(Deviation::Instead(send(written.bad_json))),
        ReplyFault::Event(at, data) if *at == index => {
            Some(Deviation::Instead(StreamStep::Send(format!("data: {data}\n\n").into_bytes())))
        }
        ReplyFault::Refuse(_)
        | ReplyFault::Html
        | ReplyFault::Stall(_)
        | ReplyFault::Cut(_)
        | ReplyFault::End(_)
        | ReplyFault::Error(..)
        | ReplyFault::Garbage(_)
        | ReplyFault::BadJson(_)
        | ReplyFault::Event(..) => None,
    }
}

fn rechunk(frames: Vec<StreamStep>, seed: u64) -> Vec<StreamStep> {
    let mut rng = Rng::new(seed);
    let mut pieces = Vec::new();
    let mut held = Vec::new();
    for frame in frames {
        match frame {
            StreamStep::Send(bytes) => held.extend(bytes),
            StreamStep::Wait(_) | StreamStep::Break => {
                pieces.extend(random_chunks(&std::mem::take(&mut held), &mut rng));
                pieces.push(frame);
            }
        }
    }
    pieces.extend(random_chunks(&held, &mut rng));
    pieces
}

fn random_chunks(mut bytes: &[u8], rng: &mut Rng) -> Vec<StreamStep> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let size = 1 + usize::try_from(rng.next_u64() % 64).unwrap_or_default();
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(StreamStep::Send(piece.to_vec()));
        bytes = rest;
    }
    pieces
}
