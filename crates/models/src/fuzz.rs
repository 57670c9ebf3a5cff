//! Entry points for fuzzing: parse bytes as a server or program could send them.

use domain::failure::Failure;

use crate::anthropic::stream::Message;
use crate::assembly::{Assembly, News};
use crate::claude::wire::Frame;
use crate::openai::responses::stream::ResponseStream;
use crate::openai::stream::Completion;
use crate::sse::Decoder;

/// Decodes an event stream in two ways: whole and in chunks.
///
/// # Panics
/// If the events differ.
pub fn events(bytes: &[u8]) {
    let whole = Decoder::default().feed(bytes);
    let size = 1 + usize::from(bytes.first().copied().unwrap_or(0) % 7);
    let mut decoder = Decoder::default();
    let pieces: Result<Vec<_>, _> = bytes.chunks(size).map(|piece| decoder.feed(piece)).collect();
    assert_eq!(pieces.map(|pieces| pieces.concat()), whole);
}

/// A reply in the Messages format.
pub fn messages_reply(bytes: &[u8]) {
    assemble(Message::default(), bytes);
}

/// A reply in the chat-completions format, as a stream or as one JSON body.
pub fn completions_reply(bytes: &[u8]) {
    assemble(Completion::default(), bytes);
    // Only panics matter.
    let _ = Completion::default().take_whole(&String::from_utf8_lossy(bytes));
}

/// A reply in the Responses format, as a stream or as one JSON body.
pub fn responses_reply(bytes: &[u8]) {
    assemble(ResponseStream::default(), bytes);
    let _ = ResponseStream::default().take_whole(&String::from_utf8_lossy(bytes));
}

/// The output of the claude program, line by line.
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

/// Checks that every failure has a text for the user.
fn told(failure: &Failure) {
    assert!(!failure.to_string().is_empty(), "{failure:?}");
}
