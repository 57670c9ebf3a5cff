//! The line to a mailbox: commands out, responses in, each of them bounded.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::tokens::Raw;

/// The most bytes of one response: a search can find hundreds of thousands of letters.
const RESPONSE: usize = 8 * 1024 * 1024;
/// The most bytes of all that is said on one line.
const ALL: usize = 64 * 1024 * 1024;

/// Both ways of a line.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// As it is.
    Plain(String),
    /// A string of the plainest letters, in quotes.
    Quoted(String),
    /// A string of any letters, which is sent apart when the other side asks for it.
    Apart(Vec<u8>),
}

impl Word {
    /// One of our own words, as it is.
    pub fn plain(word: impl Into<String>) -> Self {
        Self::Plain(word.into())
    }

    /// A string, whatever is in it.
    pub fn string(text: &str) -> Self {
        if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            Self::Quoted(text.to_owned())
        } else {
            Self::Apart(text.as_bytes().to_vec())
        }
    }

    /// It as it travels, in one piece.
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

/// Why a line is of no use any more.
#[derive(Debug)]
pub enum Broken {
    /// It ended.
    Ended,
    /// It failed.
    Failed(io::Error),
    /// The other side says more than we read.
    Flooded,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Ended } else { Self::Failed(error) }
    }
}

/// A line.
pub struct Line {
    stream: Box<dyn Stream>,
    unread: Vec<u8>,
    heard: usize,
}

impl Line {
    /// A line over `stream`.
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, unread: Vec::new(), heard: 0 }
    }

    /// The stream, if nothing came over it that nobody read: words before a line is secret could be anybody's.
    pub fn into_stream(self) -> Option<Box<dyn Stream>> {
        self.unread.is_empty().then_some(self.stream)
    }

    /// Says some bytes.
    pub async fn say(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// One response, with the strings in it.
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

    /// Text to the end of a line, without that end.
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

/// How many bytes follow a line that ends with `{17}`, and where that begins.
fn announced(text: &[u8]) -> Option<(usize, usize)> {
    let inner = text.strip_suffix(b"}")?;
    let at = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&inner[at + 1..]).ok()?;
    let size = digits.trim_end_matches('+').parse().ok()?;
    Some((at, size))
}

/// A command in the pieces in which it is said: after each but the last one, the other side asks for more.
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
