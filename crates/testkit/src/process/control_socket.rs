//! An independent client of the control socket: plain HTTP, line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::TEST_TIMEOUT;

/// A failed request: the error message of the response, or that of the broken connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequestError(pub String);

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Requests `path` with GET.
pub fn get(state: &Path, path: &str) -> Result<Value, RequestError> {
    read_response(request(state, "GET", path, "")?)
}

/// Sends `body` to `path` and returns the response.
pub fn post(state: &Path, path: &str, body: &Value) -> Result<Value, RequestError> {
    read_response(send(state, path, body)?)
}

/// Sends `body` to `path` without reading the response.
pub fn send(state: &Path, path: &str, body: &Value) -> io::Result<UnixStream> {
    request(state, "POST", path, &body.to_string())
}

fn request(state: &Path, method: &str, path: &str, body: &str) -> io::Result<UnixStream> {
    // Opened relative to the directory, because the path of a socket must be short.
    let directory = File::open(state)?;
    let address = PathBuf::from(format!("/proc/self/fd/{}/control.sock", directory.as_raw_fd()));
    let mut stream = UnixStream::connect(address)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-ollim: 1\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

fn read_response(mut stream: UnixStream) -> Result<Value, RequestError> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) =
        text.split_once("\r\n\r\n").ok_or_else(|| RequestError("the connection broke".to_owned()))?;
    let value: Value = serde_json::from_str(body).map_err(|_| RequestError(text.clone()))?;
    match head.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(value),
        _ => Err(RequestError(value["error"]["message"].as_str().unwrap_or(body).to_owned())),
    }
}

/// A stream of server-sent events.
pub struct EventStream {
    stream: BufReader<UnixStream>,
    /// The data of the first event, a snapshot of the state.
    pub hello: Value,
}

/// A server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    pub name: String,
    pub data: Value,
}

impl EventStream {
    /// Opens the stream and waits for the first event, the snapshot.
    pub fn open(state: &Path) -> Result<Self, RequestError> {
        let stream = BufReader::new(request(state, "GET", "/api/events", "")?);
        let mut events = Self { stream, hello: Value::Null };
        match events.next() {
            Some(event) if event.name == "hello" => Ok(Self { hello: event.data, ..events }),
            other => Err(RequestError(format!("no greeting but {other:?}"))),
        }
    }

    /// Waits for the end of the answer to `message`.
    pub fn wait_for_end(&mut self, message: u64) -> Result<StreamEvent, RequestError> {
        let ended = self.find(|event| event.name == "ended" && event.data["answers"] == message);
        ended.ok_or_else(|| RequestError("it ended before the answer did".to_owned()))
    }
}

impl Iterator for EventStream {
    type Item = StreamEvent;

    /// Returns the next event; `None` when the program has exited.
    fn next(&mut self) -> Option<StreamEvent> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(named) = line.strip_prefix("event: ") {
                name = named.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some(StreamEvent { name, data: serde_json::from_str(data.trim()).ok()? });
            }
        }
    }
}
