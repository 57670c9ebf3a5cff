//! Where a fuzzer knocks: what a server of others may send, read as it always is, and nothing kept.

use std::collections::BTreeMap;

use serde_json::Value;

use super::content::words;
use super::http::{Body, Form};
use super::offer::Offer;
use super::protocol::{Incoming, classify};

/// An answer over HTTP: as one document, and as a stream of events.
pub fn answer(bytes: &[u8]) {
    for form in [Form::Document, Form::Stream] {
        let mut incoming = Body::new(form);
        incoming.hear(bytes);
        while let Ok(Some(message)) = incoming.next() {
            heed(&message);
        }
    }
}

/// Lines of a program, and the file that names servers.
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
