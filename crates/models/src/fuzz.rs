//! Where a fuzzer knocks: bytes that a server or a program may send, read as they always are, and nothing kept.

use domain::failure::Failure;

use crate::anthropic::stream::Message;
use crate::assembly::{Assembly, News};
use crate::claude::wire::Frame;
use crate::openai::responses::stream::ResponseStream;
use crate::openai::stream::Completion;
use crate::sse::Decoder;

/// A stream of events from any server: in whatever pieces it comes, the same events are read.
///
/// # Panics
/// If they are not.
pub fn events(bytes: &[u8]) {
    let whole = Decoder::default().feed(bytes);
    let size = 1 + usize::from(bytes.first().copied().unwrap_or(0) % 7);
    let mut decoder = Decoder::default();
    let pieces: Result<Vec<_>, _> = bytes.chunks(size).map(|piece| decoder.feed(piece)).collect();
    assert_eq!(pieces.map(|pieces| pieces.concat()), whole);
}

/// A reply on the wire of messages.
pub fn messages_reply(bytes: &[u8]) {
    assemble(Message::default(), bytes);
}

/// A reply on the wire of chat completions, as a stream or whole.
pub fn completions_reply(bytes: &[u8]) {
    assemble(Completion::default(), bytes);
    // Whatever came of it: it was read.
    let _ = Completion::default().take_whole(&String::from_utf8_lossy(bytes));
}

/// A reply on the wire of the Responses API, as a stream or whole.
pub fn responses_reply(bytes: &[u8]) {
    assemble(ResponseStream::default(), bytes);
    let _ = ResponseStream::default().take_whole(&String::from_utf8_lossy(bytes));
}

/// What the claude program prints, line by line.
pub fn claude_lines(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = format!("{:?}", Frame::read(line));
    }
}

fn assemble(mut reply: impl Assembly, bytes: &[u8]) {
    let Ok(events) = Decoder::default().feed(bytes) else { return };
    for event in &events {
        match reply.take(event) {
            Ok(News::Ended) => break,
            Ok(_) => {}
            Err(failure) => return told(&failure),
        }
    }
    let _ = (reply.used(), reply.is_whole());
    if let Err(failure) = reply.finish() {
        told(&failure);
    }
}

/// A failure has words for the human, whatever the server said.
fn told(failure: &Failure) {
    assert!(!failure.to_string().is_empty(), "{failure:?}");
}
