//! A minimal fake model: answers every request with one word, and records the times.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An event on the connection.
#[derive(Clone, Copy, Debug)]
pub enum WireEvent {
    /// The first byte of a request came.
    RequestReceived(Instant),
    /// A word was sent.
    WordSent(Instant),
}

/// The model, and what it notes.
pub struct FakeModel {
    pub url: String,
    pub events: UnboundedReceiver<WireEvent>,
}

impl FakeModel {
    /// Listens on loopback until the program ends.
    pub fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (notes, moments) = unbounded_channel();
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                socket.set_nodelay(true).unwrap();
                let notes = notes.clone();
                // The client comes with a second connection, or leaves, whenever it likes.
                std::thread::spawn(move || answer_all(socket, &notes));
            }
        });
        Self { url, events: moments }
    }
}

fn answer_all(mut socket: TcpStream, notes: &UnboundedSender<WireEvent>) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, socket.try_clone()?);
    while !reader.fill_buf()?.is_empty() {
        let asked = Instant::now();
        let mut request_line = String::new();
        reader.read_line(&mut request_line)?;
        let length = content_length(&mut reader)?;
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink())?;
        if !request_line.starts_with("POST /v1/messages ") {
            socket.write_all(NOT_FOUND.as_bytes())?;
            continue;
        }
        let _ = notes.send(WireEvent::RequestReceived(asked));
        socket.write_all(HEAD.as_bytes())?;
        chunk(&mut socket, BEFORE)?;
        let _ = notes.send(WireEvent::WordSent(Instant::now()));
        chunk(&mut socket, WORD)?;
        chunk(&mut socket, AFTER)?;
        socket.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

fn content_length(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut line = String::new();
    let mut length = 0;
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    Ok(length)
}

fn chunk(socket: &mut TcpStream, text: &str) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Answer to other requests, such as the one for the record of the model. They are not measured.
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

const BEFORE: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#;

const WORD: &str = r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"nine"}}

"#;

const AFTER: &str = r#"event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

"#;
