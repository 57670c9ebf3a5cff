//! Entry points for fuzzing: parse bytes as a server or program could send them.

use domain::failure::Failure;

use crate::anthropic::stream::MessageAssembler;
use crate::assembly::{ReplyAssembler, StreamUpdate};
use crate::claude::protocol::Frame;
use crate::openai::responses::stream::ResponseAssembler;
use crate::openai::stream::CompletionAssembler;
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
    assemble(MessageAssembler::default(), bytes);
}

/// A reply in the chat-completions format, as a stream or as one JSON body.
pub fn completions_reply(bytes: &[u8]) {
    assemble(CompletionAssembler::default(), bytes);
    // Only panics matter.
    let _ = CompletionAssembler::default().add_body(&String::from_utf8_lossy(bytes));
}

/// A reply in the Responses format, as a stream or as one JSON body.
pub fn responses_reply(bytes: &[u8]) {
    assemble(ResponseAssembler::default(), bytes);
    let _ = ResponseAssembler::default().add_body(&String::from_utf8_lossy(bytes));
}

/// The output of the claude program, line by line.
pub fn claude_lines(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = format!("{:?}", Frame::parse(line));
    }
}

fn assemble(mut reply: impl ReplyAssembler, bytes: &[u8]) {
    let Ok(events) = Decoder::default().feed(bytes) else { return };
    for event in &events {
        match reply.add_event(event) {
            Ok(StreamUpdate::Ended) => break,
            Ok(_) => {}
            Err(failure) => return check_has_text(&failure),
        }
    }
    let _ = (reply.usage(), reply.is_complete());
    if let Err(failure) = reply.finish() {
        check_has_text(&failure);
    }
}

/// Checks that every failure has a text for the user.
fn check_has_text(failure: &Failure) {
    assert!(!failure.to_string().is_empty(), "{failure:?}");
}
