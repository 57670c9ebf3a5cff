//! Parsing of multipart bodies.

use serde_json::Value;

use super::api::Body;

/// Parses the body of a multipart request. Returns `None` if it is not one, or if its JSON is
/// invalid.
pub(super) fn parse(content_type: &str, body: &[u8]) -> Option<Body> {
    let boundary = content_type.split("boundary=").nth(1)?.split(';').next()?.trim_matches('"');
    let marker = format!("--{boundary}").into_bytes();
    let mut payload = Value::Null;
    let mut files = Vec::new();
    for part in split(body, &marker).into_iter().skip(1) {
        let Some(part) = part.strip_prefix(b"\r\n") else { break };
        let end = find(part, b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&part[..end]).into_owned();
        let content = part[end + 4..].strip_suffix(b"\r\n").unwrap_or(&part[end + 4..]);
        match (header_parameter(&head, "name")?, header_parameter(&head, "filename")) {
            (_, Some(filename)) => files.push((filename, content.to_vec())),
            (name, None) if name == "payload_json" => payload = serde_json::from_slice(content).ok()?,
            (_, None) => {}
        }
    }
    if payload.is_null() {
        payload = Value::Object(serde_json::Map::new());
    }
    Some(Body::Multipart { payload, files })
}

fn header_parameter(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition"))?;
    let (_, after) = line.split_once(&format!("; {name}=\""))?;
    Some(after.split('"').next()?.to_owned())
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

fn split<'a>(mut text: &'a [u8], marker: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = find(text, marker) {
        parts.push(&text[..at]);
        text = &text[at + marker.len()..];
    }
    parts.push(text);
    parts
}
