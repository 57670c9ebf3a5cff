//! An external caller of webhooks.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Calls the webhook `id`. Returns the status and body of the response; `None` if there is no valid
/// response.
pub fn call_webhook(port: u16, id: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let header_lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST /hook/{id} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{header_lines}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut response = Vec::new();
    // A broken connection ends the response.
    let _ = stream.read_to_end(&mut response);
    let response = String::from_utf8_lossy(&response).into_owned();
    let status = response.split(' ').nth(1)?.parse().ok()?;
    Some((status, response.split("\r\n\r\n").nth(1)?.to_owned()))
}
