//! The connection to an IMAP server: encodes commands and reads bounded responses.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::tokens::RawResponse;

/// The maximum size of one response: a search can find hundreds of thousands of messages.
const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;
/// The maximum number of bytes received on one connection.
const MAX_CONNECTION_BYTES: usize = 64 * 1024 * 1024;

/// A bidirectional stream.
pub trait DuplexStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> DuplexStream for T {}

/// An element of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandArg {
    /// Sent as it is.
    Atom(String),
    /// A string of printable ASCII, sent in quotes.
    Quoted(String),
    /// A string of arbitrary bytes, sent after a continuation request.
    Literal(Vec<u8>),
}

impl CommandArg {
    /// Creates an atom from our own text.
    pub fn atom(word: impl Into<String>) -> Self {
        Self::Atom(word.into())
    }

    /// Creates a string argument from any text.
    pub fn string(text: &str) -> Self {
        if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            Self::Quoted(text.to_owned())
        } else {
            Self::Literal(text.as_bytes().to_vec())
        }
    }

    /// The encoded form in one piece.
    #[cfg(test)]
    pub fn encoded(&self) -> String {
        match self {
            Self::Atom(word) => word.clone(),
            Self::Quoted(text) => quote(text),
            Self::Literal(bytes) => format!("{{{}}}{}", bytes.len(), String::from_utf8_lossy(bytes)),
        }
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The reason why a connection is unusable.
#[derive(Debug)]
pub enum ConnectionError {
    Closed,
    Io(io::Error),
    /// The server sent more than the limit.
    TooMuchData,
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Closed } else { Self::Io(error) }
    }
}

pub struct ImapConnection {
    stream: Box<dyn DuplexStream>,
    buffer: Vec<u8>,
    received_bytes: usize,
}

impl ImapConnection {
    pub fn new(stream: Box<dyn DuplexStream>) -> Self {
        Self { stream, buffer: Vec::new(), received_bytes: 0 }
    }

    /// Returns the stream unless data is buffered: data received before TLS may be injected.
    pub fn into_stream(self) -> Option<Box<dyn DuplexStream>> {
        self.buffer.is_empty().then_some(self.stream)
    }

    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads one response with its literals.
    pub async fn receive(&mut self) -> Result<RawResponse, ConnectionError> {
        let mut raw = RawResponse::default();
        let mut length = 0;
        loop {
            let text = self.read_line().await?;
            length += text.len();
            let literal = literal_size(&text);
            raw.text.extend_from_slice(&text[..literal.map_or(text.len(), |(at, _)| at)]);
            let Some((_, size)) = literal else { return Ok(raw) };
            length = length.saturating_add(size);
            if length > MAX_RESPONSE_BYTES {
                return Err(ConnectionError::TooMuchData);
            }
            let bytes = self.read_bytes(size).await?;
            raw.literals.push((raw.text.len(), bytes));
        }
    }

    /// Reads to the end of a line, without the line end.
    async fn read_line(&mut self) -> Result<Vec<u8>, ConnectionError> {
        let mut scanned = 0;
        loop {
            if let Some(at) = self.buffer[scanned..].iter().position(|byte| *byte == b'\n') {
                let mut text: Vec<u8> = self.buffer.drain(..=scanned + at).collect();
                text.pop();
                text.pop_if(|byte| *byte == b'\r');
                return Ok(text);
            }
            scanned = self.buffer.len();
            if scanned > MAX_RESPONSE_BYTES {
                return Err(ConnectionError::TooMuchData);
            }
            self.fill_buffer().await?;
        }
    }

    async fn read_bytes(&mut self, size: usize) -> Result<Vec<u8>, ConnectionError> {
        while self.buffer.len() < size {
            self.fill_buffer().await?;
        }
        Ok(self.buffer.drain(..size).collect())
    }

    async fn fill_buffer(&mut self) -> Result<(), ConnectionError> {
        let mut piece = [0; 16 * 1024];
        let length = self.stream.read(&mut piece).await?;
        self.received_bytes += length;
        match length {
            0 => Err(ConnectionError::Closed),
            _ if self.received_bytes > MAX_CONNECTION_BYTES => Err(ConnectionError::TooMuchData),
            _ => {
                self.buffer.extend_from_slice(&piece[..length]);
                Ok(())
            }
        }
    }
}

/// Returns the position and size of a literal announced at the end of a line, such as `{17}`.
fn literal_size(text: &[u8]) -> Option<(usize, usize)> {
    let inner = text.strip_suffix(b"}")?;
    let at = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&inner[at + 1..]).ok()?;
    let size = digits.trim_end_matches('+').parse().ok()?;
    Some((at, size))
}

/// Encodes a command in parts: after each part but the last one the server sends a continuation
/// request.
pub fn encode_command(tag: &str, words: &[CommandArg]) -> Vec<Vec<u8>> {
    let mut pieces = vec![tag.as_bytes().to_vec()];
    for word in words {
        let Some(piece) = pieces.last_mut() else { continue };
        piece.push(b' ');
        match word {
            CommandArg::Atom(word) => piece.extend_from_slice(word.as_bytes()),
            CommandArg::Quoted(text) => piece.extend_from_slice(quote(text).as_bytes()),
            CommandArg::Literal(bytes) => {
                piece.extend_from_slice(format!("{{{}}}\r\n", bytes.len()).as_bytes());
                pieces.push(bytes.clone());
            }
        }
    }
    if let Some(piece) = pieces.last_mut() {
        piece.extend_from_slice(b"\r\n");
    }
    pieces
}
