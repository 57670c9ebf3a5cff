//! Entry points for fuzzers: parse everything that an MCP server can send.

use std::collections::BTreeMap;

use serde_json::Value;

use super::content::words;
use super::http::{Body, Form};
use super::offer::Offer;
use super::protocol::{Incoming, classify};

/// Parses an HTTP body as one document and as an event stream.
pub fn answer(bytes: &[u8]) {
    for form in [Form::Document, Form::Stream] {
        let mut incoming = Body::new(form);
        incoming.hear(bytes);
        while let Ok(Some(message)) = incoming.next() {
            heed(&message);
        }
    }
}

/// Parses lines of a program's output, and `mcp.json`.
pub fn lines(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(message) = serde_json::from_slice(line) {
            heed(&message);
        }
    }
    let _ = super::read(&String::from_utf8_lossy(bytes));
}

fn heed(message: &Value) {
    let Incoming::Response(_, Ok(result)) = classify(message) else { return };
    let listed = result["tools"].as_array().cloned().unwrap_or_default();
    let (offers, _wrong) = Offer::read("others", &listed, &BTreeMap::new());
    for offer in &offers {
        let _ = offer.fingerprint();
    }
    let _ = words(&result);
}
