//! An external caller of webhooks.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Calls the webhook `id`. Returns the status and body of the response; `None` if there is no valid
/// response.
pub fn call(port: u16, id: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let call = format!("POST /hook/{id} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{more}\r\n{body}");
    stream.write_all(call.as_bytes()).ok()?;
    let mut heard = Vec::new();
    // A broken connection ends the response.
    let _ = stream.read_to_end(&mut heard);
    let heard = String::from_utf8_lossy(&heard).into_owned();
    let status = heard.split(' ').nth(1)?.parse().ok()?;
    Some((status, heard.split("\r\n\r\n").nth(1)?.to_owned()))
}
