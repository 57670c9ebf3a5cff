//! The connection to an IMAP server: encodes commands and reads bounded responses.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::tokens::Raw;

/// The maximum size of one response: a search can find hundreds of thousands of messages.
const RESPONSE: usize = 8 * 1024 * 1024;
/// The maximum number of bytes received on one connection.
const ALL: usize = 64 * 1024 * 1024;

/// A bidirectional stream.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// An element of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Sent as it is.
    Plain(String),
    /// A string of printable ASCII, sent in quotes.
    Quoted(String),
    /// A string of arbitrary bytes, sent after a continuation request.
    Apart(Vec<u8>),
}

impl Word {
    /// Creates an atom from our own text.
    pub fn plain(word: impl Into<String>) -> Self {
        Self::Plain(word.into())
    }

    /// Creates a string argument from any text.
    pub fn string(text: &str) -> Self {
        if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            Self::Quoted(text.to_owned())
        } else {
            Self::Apart(text.as_bytes().to_vec())
        }
    }

    /// The encoded form in one piece.
    #[cfg(test)]
    pub fn shown(&self) -> String {
        match self {
            Self::Plain(word) => word.clone(),
            Self::Quoted(text) => quoted(text),
            Self::Apart(bytes) => format!("{{{}}}{}", bytes.len(), String::from_utf8_lossy(bytes)),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The reason why a connection is unusable.
#[derive(Debug)]
pub enum Broken {
    Ended,
    Failed(io::Error),
    /// The server sent more than the limit.
    Flooded,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Ended } else { Self::Failed(error) }
    }
}

pub struct Line {
    stream: Box<dyn Stream>,
    unread: Vec<u8>,
    heard: usize,
}

impl Line {
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, unread: Vec::new(), heard: 0 }
    }

    /// Returns the stream unless data is buffered: data received before TLS may be injected.
    pub fn into_stream(self) -> Option<Box<dyn Stream>> {
        self.unread.is_empty().then_some(self.stream)
    }

    pub async fn say(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads one response with its literals.
    pub async fn hear(&mut self) -> Result<Raw, Broken> {
        let mut raw = Raw::default();
        let mut length = 0;
        loop {
            let text = self.text().await?;
            length += text.len();
            let announced = announced(&text);
            raw.text.extend_from_slice(&text[..announced.map_or(text.len(), |(at, _)| at)]);
            let Some((_, size)) = announced else { return Ok(raw) };
            length += size;
            if length > RESPONSE {
                return Err(Broken::Flooded);
            }
            let bytes = self.take(size).await?;
            raw.apart.push((raw.text.len(), bytes));
        }
    }

    /// Reads to the end of a line, without the line end.
    async fn text(&mut self) -> Result<Vec<u8>, Broken> {
        let mut looked = 0;
        loop {
            if let Some(at) = self.unread[looked..].iter().position(|byte| *byte == b'\n') {
                let mut text: Vec<u8> = self.unread.drain(..=looked + at).collect();
                text.pop();
                text.pop_if(|byte| *byte == b'\r');
                return Ok(text);
            }
            looked = self.unread.len();
            if looked > RESPONSE {
                return Err(Broken::Flooded);
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, size: usize) -> Result<Vec<u8>, Broken> {
        while self.unread.len() < size {
            self.more().await?;
        }
        Ok(self.unread.drain(..size).collect())
    }

    async fn more(&mut self) -> Result<(), Broken> {
        let mut piece = [0; 16 * 1024];
        let length = self.stream.read(&mut piece).await?;
        self.heard += length;
        match length {
            0 => Err(Broken::Ended),
            _ if self.heard > ALL => Err(Broken::Flooded),
            _ => {
                self.unread.extend_from_slice(&piece[..length]);
                Ok(())
            }
        }
    }
}

/// Returns the position and size of a literal announced at the end of a line, such as `{17}`.
fn announced(text: &[u8]) -> Option<(usize, usize)> {
    let inner = text.strip_suffix(b"}")?;
    let at = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&inner[at + 1..]).ok()?;
    let size = digits.trim_end_matches('+').parse().ok()?;
    Some((at, size))
}

/// Encodes a command in parts: after each part but the last one the server sends a continuation
/// request.
pub fn pieces(tag: &str, words: &[Word]) -> Vec<Vec<u8>> {
    let mut pieces = vec![tag.as_bytes().to_vec()];
    for word in words {
        let Some(piece) = pieces.last_mut() else { continue };
        piece.push(b' ');
        match word {
            Word::Plain(word) => piece.extend_from_slice(word.as_bytes()),
            Word::Quoted(text) => piece.extend_from_slice(quoted(text).as_bytes()),
            Word::Apart(bytes) => {
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
