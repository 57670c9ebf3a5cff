//! The tool that reads the lines of a file, within limits.

use std::borrow::Cow;
use std::io::{self, Read};

use domain::tool::{Class, ToolSpec};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::{Files, aside};
use crate::plain::{Rest, beginning};
use crate::{Done, Tool, Work, Workshop, parsed};

pub(crate) const READ: Tool = Tool {
    spec: ToolSpec {
        name: "Read",
        description: Cow::Borrowed(
            "Reads a text file of the data directory, with line numbers. Paths are relative to it.",
        ),
        schema: r#"{"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}}}"#,
        class: Class::Reads,
    },
    work: Work::Does(read),
};

/// The maximum number of lines at once, of bytes, and of characters of one line.
const LINES: u64 = 2000;
const BYTES: usize = 256 * 1024;
const LINE_CHARS: usize = 2000;
/// The maximum number of bytes scanned, and the number of bytes that are checked for binary
/// content.
const LOOKED: u64 = 64 * 1024 * 1024;
const BEGINNING: usize = 8 * 1024;

#[derive(Deserialize)]
struct Wanted {
    file_path: String,
    offset: Option<Number>,
    limit: Option<Number>,
}

fn read(workshop: &Workshop, input: Value) -> Done<'_> {
    aside(workshop, READ.spec.name, move |files| {
        let Wanted { file_path, offset, limit } = parsed(input)?;
        let from = whole(offset).unwrap_or(1).max(1);
        let most = whole(limit).unwrap_or(LINES).clamp(1, LINES);
        files.read(&file_path, from, most)
    })
}

/// Converts to a whole number; negative numbers become 0.
pub(super) fn whole(number: Option<Number>) -> Option<u64> {
    number.and_then(|number| number.as_f64()).map(|number| number as u64)
}

impl Files {
    pub(super) fn read(&self, text: &str, from: u64, most: u64) -> Result<String, String> {
        let inside = self.place(text)?;
        let (mut file, stat) = self.root.file(&inside).map_err(|trouble| trouble.told(&inside))?;
        let looked = lines(&mut file, from, most).map_err(|error| format!("`{inside}`: {error}."))?;
        match looked {
            Looked::NoText => Err(format!("`{inside}` is not text ({} bytes).", stat.st_size)),
            Looked::Lines(page) if page.shown > 0 => Ok(page.told(from)),
            Looked::Lines(Page { all: 0, .. }) => Ok(format!("`{inside}` is empty.")),
            Looked::Lines(page) => Err(format!("`{inside}` has only {} lines.", page.all)),
        }
    }
}

/// Returns whether `beginning` contains no zero byte.
pub(super) fn is_text(beginning: &[u8]) -> bool {
    !beginning.iter().take(BEGINNING).any(|byte| *byte == 0)
}

enum Looked {
    NoText,
    Lines(Page),
}

/// The requested lines of a file.
#[derive(Default)]
struct Page {
    text: String,
    /// The number of lines in `text`, and of all lines seen.
    shown: u64,
    all: u64,
    end: End,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    #[default]
    Reached,
    /// The scan stopped before the end of the file.
    Beyond,
}

impl Page {
    fn told(mut self, from: u64) -> String {
        let next = from + self.shown;
        let more = (self.all + 1).saturating_sub(next);
        let least = if self.end == End::Beyond { "at least " } else { "" };
        if more > 0 || self.end == End::Beyond {
            self.text.push_str(&format!("({least}{more} more lines; read on with offset {next})\n"));
        }
        self.text
    }

    /// Adds one line if it is in the requested range.
    fn line(&mut self, line: &[u8], from: u64, most: u64) {
        self.all += 1;
        if self.all < from || self.shown >= most || self.all != from + self.shown || self.text.len() >= BYTES
        {
            return;
        }
        let line = String::from_utf8_lossy(line);
        let (kept, rest) = beginning(line.trim_end_matches(['\n', '\r']), LINE_CHARS);
        let cut = if rest == Rest::More { " … (this line goes on)" } else { "" };
        self.text.push_str(&format!("{}\t{kept}{cut}\n", self.all));
        self.shown += 1;
    }
}

/// Reads up to `max_lines` lines of `file`, starting with line `from`.
fn lines(file: &mut impl Read, from: u64, most: u64) -> io::Result<Looked> {
    let mut page = Page::default();
    let mut chunk = vec![0; 64 * 1024];
    let mut line = Vec::new();
    let mut looked = 0;
    let mut open = false;
    loop {
        let count = file.read(&mut chunk)?;
        let bytes = &chunk[..count];
        if looked == 0 && !is_text(bytes) {
            return Ok(Looked::NoText);
        }
        looked += count as u64;
        if count == 0 || looked > LOOKED {
            break;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Memory is bounded for lines without an end.
            if line.len() <= LINE_CHARS * 4 {
                line.extend_from_slice(piece);
            }
            open = !piece.ends_with(b"\n");
            if !open {
                page.line(&line, from, most);
                line.clear();
            }
        }
    }
    if open {
        page.line(&line, from, most);
    }
    page.end = if looked > LOOKED { End::Beyond } else { End::Reached };
    Ok(Looked::Lines(page))
}
