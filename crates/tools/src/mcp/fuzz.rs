//! Entry points for fuzzers: parse everything that an MCP server can send.

use std::collections::BTreeMap;

use serde_json::Value;

use super::content::result_text;
use super::http::{BodyFormat, ResponseBody};
use super::offer::ToolOffer;
use super::protocol::{Incoming, classify};

/// Parses an HTTP body as one document and as an event stream.
pub fn parse_http_body(bytes: &[u8]) {
    for form in [BodyFormat::Json, BodyFormat::EventStream] {
        let mut incoming = ResponseBody::new(form);
        incoming.set_complete(bytes);
        while let Ok(Some(message)) = incoming.next_message() {
            parse_message(&message);
        }
    }
}

/// Parses lines of a program's output, and `mcp.json`.
pub fn parse_lines(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(message) = serde_json::from_slice(line) {
            parse_message(&message);
        }
    }
    let _ = super::parse_config(&String::from_utf8_lossy(bytes));
}

fn parse_message(message: &Value) {
    let Incoming::Response(_, Ok(result)) = classify(message) else { return };
    let listed = result["tools"].as_array().cloned().unwrap_or_default();
    let (offers, _wrong) = ToolOffer::parse_list("others", &listed, &BTreeMap::new());
    for offer in &offers {
        let _ = offer.fingerprint();
    }
    let _ = result_text(&result);
}
