//! The tool that reads the lines of a file, within limits.

use std::borrow::Cow;
use std::io::{self, Read};

use domain::tool::{ToolClass, ToolSpec};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::{Files, run_blocking};
use crate::plain_text::{Truncation, truncate_chars};
use crate::{Tool, ToolEnv, ToolFuture, ToolHandler, parse_input};

pub(crate) const READ: Tool = Tool {
    spec: ToolSpec {
        name: "Read",
        description: Cow::Borrowed(
            "Reads a text file of the data directory, with line numbers. Paths are relative to it.",
        ),
        schema: r#"{"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}}}"#,
        class: ToolClass::Reads,
    },
    handler: ToolHandler::Run(read),
};

/// The maximum number of lines at once, of bytes, and of characters of one line.
const MAX_LINES: u64 = 2000;
const MAX_BYTES: usize = 256 * 1024;
const MAX_LINE_CHARS: usize = 2000;
/// The maximum number of bytes scanned, and the number of bytes that are checked for binary
/// content.
const MAX_SCANNED_BYTES: u64 = 64 * 1024 * 1024;
const BINARY_CHECK_BYTES: usize = 8 * 1024;

#[derive(Deserialize)]
struct ReadInput {
    file_path: String,
    offset: Option<Number>,
    limit: Option<Number>,
}

fn read(workshop: &ToolEnv, input: Value) -> ToolFuture<'_> {
    run_blocking(workshop, READ.spec.name, move |files| {
        let ReadInput { file_path, offset, limit } = parse_input(input)?;
        let from = to_u64(offset).unwrap_or(1).max(1);
        let most = to_u64(limit).unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        files.read(&file_path, from, most)
    })
}

/// Converts to a whole number; negative numbers become 0.
pub(super) fn to_u64(number: Option<Number>) -> Option<u64> {
    number.and_then(|number| number.as_f64()).map(|number| number as u64)
}

impl Files {
    pub(super) fn read(&self, text: &str, from: u64, max_lines: u64) -> Result<String, String> {
        let path = self.parse_path(text)?;
        let (mut file, stat) = self.root.open_file(&path).map_err(|error| error.text(&path))?;
        let content =
            read_lines(&mut file, from, max_lines).map_err(|error| format!("`{path}`: {error}."))?;
        match content {
            FileContent::Binary => Err(format!("`{path}` is not text ({} bytes).", stat.st_size)),
            FileContent::Lines(page) if page.line_count > 0 => Ok(page.into_text(from)),
            FileContent::Lines(LinePage { total: 0, .. }) => Ok(format!("`{path}` is empty.")),
            FileContent::Lines(page) => Err(format!("`{path}` has only {} lines.", page.total)),
        }
    }
}

/// Returns whether `beginning` contains no zero byte.
pub(super) fn is_text(beginning: &[u8]) -> bool {
    !beginning.iter().take(BINARY_CHECK_BYTES).any(|byte| *byte == 0)
}

enum FileContent {
    Binary,
    Lines(LinePage),
}

/// The requested lines of a file.
#[derive(Default)]
struct LinePage {
    text: String,
    /// The number of lines in `text`, and of all lines seen.
    line_count: u64,
    total: u64,
    scan_end: ScanEnd,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScanEnd {
    #[default]
    Reached,
    /// The scan stopped before the end of the file.
    LimitReached,
}

impl LinePage {
    fn into_text(mut self, from: u64) -> String {
        let next = from + self.line_count;
        let more = (self.total + 1).saturating_sub(next);
        let least = if self.scan_end == ScanEnd::LimitReached { "at least " } else { "" };
        if more > 0 || self.scan_end == ScanEnd::LimitReached {
            self.text.push_str(&format!("({least}{more} more lines; read on with offset {next})\n"));
        }
        self.text
    }

    /// Adds one line if it is in the requested range.
    fn push_line(&mut self, line: &[u8], from: u64, max_lines: u64) {
        self.total += 1;
        if self.total < from
            || self.line_count >= max_lines
            || self.total != from + self.line_count
            || self.text.len() >= MAX_BYTES
        {
            return;
        }
        let line = String::from_utf8_lossy(line);
        let (kept, rest) = truncate_chars(line.trim_end_matches(['\n', '\r']), MAX_LINE_CHARS);
        let cut = if rest == Truncation::Cut { " … (this line goes on)" } else { "" };
        self.text.push_str(&format!("{}\t{kept}{cut}\n", self.total));
        self.line_count += 1;
    }
}

/// Reads up to `max_lines` lines of `file`, starting with line `from`.
fn read_lines(file: &mut impl Read, from: u64, max_lines: u64) -> io::Result<FileContent> {
    let mut page = LinePage::default();
    let mut chunk = vec![0; 64 * 1024];
    let mut line = Vec::new();
    let mut scanned = 0;
    let mut unterminated = false;
    loop {
        let count = file.read(&mut chunk)?;
        let bytes = &chunk[..count];
        if scanned == 0 && !is_text(bytes) {
            return Ok(FileContent::Binary);
        }
        scanned += count as u64;
        if count == 0 || scanned > MAX_SCANNED_BYTES {
            break;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Memory is bounded for lines without an end.
            if line.len() <= MAX_LINE_CHARS * 4 {
                line.extend_from_slice(piece);
            }
            unterminated = !piece.ends_with(b"\n");
            if !unterminated {
                page.push_line(&line, from, max_lines);
                line.clear();
            }
        }
    }
    if unterminated {
        page.push_line(&line, from, max_lines);
    }
    page.scan_end = if scanned > MAX_SCANNED_BYTES { ScanEnd::LimitReached } else { ScanEnd::Reached };
    Ok(FileContent::Lines(page))
}
