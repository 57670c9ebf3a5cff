//! Decodes server-sent events: chunks of bytes in, the data of complete events out.
//!
//! Event names and ids are dropped, because the vendors repeat them in the data. Each byte is
//! scanned once, so one long event costs no more than many short ones.

/// The most bytes of one event. The last event of a response repeats the whole response, including
/// the instructions and the tools of the request.
pub const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// The reason why a stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// An event exceeds the size limit.
    #[error("an event is longer than {} MB", MAX_EVENT_BYTES / 1024 / 1024)]
    TooLong,
    /// An event is not UTF-8.
    #[error("an event is not text")]
    NotText,
}

/// The decoder's state between two chunks.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
    position: LinePosition,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LinePosition {
    /// Before the first line, which may begin with a byte order mark.
    #[default]
    Start,
    /// After a carriage return, whose line feed may be in the next chunk.
    AfterReturn,
    Other,
}

impl Decoder {
    /// Adds the next chunk, and returns the data of every event that it completes.
    pub fn feed(&mut self, mut chunk: &[u8]) -> Result<Vec<String>, StreamError> {
        let mut events = Vec::new();
        while let Some(&first) = chunk.first() {
            if self.position == LinePosition::AfterReturn {
                self.position = LinePosition::Other;
                if first == b'\n' {
                    chunk = &chunk[1..];
                    continue;
                }
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.append(chunk)?;
                break;
            };
            self.append(&chunk[..end])?;
            events.extend(self.end_line(chunk[end])?);
            chunk = &chunk[end + 1..];
        }
        Ok(events)
    }

    fn append(&mut self, part: &[u8]) -> Result<(), StreamError> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + part.len() > MAX_EVENT_BYTES {
            return Err(StreamError::TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self, terminator: u8) -> Result<Option<String>, StreamError> {
        let line = std::mem::take(&mut self.line);
        let line = str::from_utf8(&line).map_err(|_| StreamError::NotText)?;
        let line = match self.position {
            LinePosition::Start => line.strip_prefix('\u{feff}').unwrap_or(line),
            LinePosition::AfterReturn | LinePosition::Other => line,
        };
        self.position = if terminator == b'\r' { LinePosition::AfterReturn } else { LinePosition::Other };
        if line.is_empty() {
            return Ok(self.data.take());
        }
        if let Some(value) = data_value(line) {
            self.add_data(value);
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &str) {
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
    }
}

/// Returns the value of a `data` line, or none for comments and other fields.
fn data_value(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("data")?;
    let Some(value) = rest.strip_prefix(':') else { return rest.is_empty().then_some(rest) };
    Some(value.strip_prefix(' ').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVERY_SHAPE: &str = "\u{feff}data: first\r\ndata: line\r\n\r\n: a comment\nevent: x\ndata:two\ndata:  lines 🦀é\n\n\
        id: 7\nretry: 1\nunknown\n\ndata\n\ndatable: no\n\ndata: cr\rdata: only\r\r\n\ndata: never ended";

    fn read(pieces: &[&[u8]]) -> Result<Vec<String>, StreamError> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.feed(piece)?);
        }
        Ok(events)
    }

    #[test]
    fn event_contains_only_its_data_lines() {
        let check = |text: &str, expected: &[&str]| assert_eq!(read(&[text.as_bytes()]).unwrap(), expected);
        check("", &[]);
        check("data: a\n\n", &["a"]);
        check("data:a\n\n", &["a"]);
        check("data:  a \n\n", &[" a "]);
        check("data: a\r\n\r\n", &["a"]);
        check("data: a\r\r", &["a"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
        check("data: a\n", &[]);
        check("event: ping\n\n", &[]);
        check("event: ping\ndata: {}\nid: 1\nretry: 2\n\n", &["{}"]);
        check(": comment\n\n\n\ndata: a\n\n", &["a"]);
        check("data\n\n", &[""]);
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check(EVERY_SHAPE, &["first\nline", "two\n lines 🦀é", "", "cr\nonly"]);
    }

    #[test]
    fn chunk_boundary_anywhere_changes_nothing() {
        let bytes = EVERY_SHAPE.as_bytes();
        let whole = read(&[bytes]).unwrap();
        for at in 0..bytes.len() {
            assert_eq!(read(&[&bytes[..at], &[], &bytes[at..]]).unwrap(), whole, "cut at {at}");
        }
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()).unwrap(), whole);
    }

    #[test]
    fn endless_event_is_an_error() {
        let piece = vec![b'a'; 1024 * 1024];
        let check = |between: &[u8]| {
            let mut decoder = Decoder::default();
            let fed = (0..40).find_map(|_| decoder.feed(&piece).and_then(|_| decoder.feed(between)).err());
            assert_eq!(fed, Some(StreamError::TooLong));
            assert!(decoder.line.capacity() <= 2 * MAX_EVENT_BYTES);
        };
        check(b"");
        check(b"\ndata: ");
    }

    #[test]
    fn invalid_utf8_is_an_error() {
        assert_eq!(read(&[b"data: \xff\xfe\n\n"]), Err(StreamError::NotText));
        assert_eq!(read(&[b"\x00\xff nothing we know\n"]), Err(StreamError::NotText));
    }

    proptest! {
        #[test]
        fn every_chunking_gives_the_same_events(
            lines in prop::collection::vec("(data|data:|data: |:|event: )[a-z é🦀]{0,6}(\n|\r\n|\r|\n\n|\r\n\r\n)", 0..20),
            cuts in prop::collection::vec(1usize..9, 1..40),
        ) {
            let text = lines.concat();
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(read(&pieces), read(&[text.as_bytes()]));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes.chunks(7).collect::<Vec<_>>());
        }
    }
}
