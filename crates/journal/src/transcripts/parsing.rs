//! Parses the lines of a transcript with bounded memory.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use serde_json::Value;

/// The maximum length of a line. Longer ones, which contain images or files, are skipped.
const LINE: usize = 16 << 20;
/// The maximum length of a message, and of a tool's result or input.
const TEXT: usize = 100_000;
const TOOL: usize = 20_000;
/// Limits for the bytes of lines and of results, and for their numbers. The oldest are dropped.
const KEPT_BYTES: usize = 64 << 20;
const KEPT_LINES: usize = 400_000;

/// A line of the tree.
#[derive(Debug)]
pub struct Line {
    pub uuid: String,
    pub parent: Option<String>,
    pub at: Option<Timestamp>,
    pub kind: Kind,
}

/// Content of a line.
#[derive(Debug)]
pub enum Kind {
    User(String),
    /// A summary of everything before it.
    Summary(String),
    /// Part of an answer, with the id of the answer.
    Assistant(String, Vec<Part>),
    /// A line without content, which only links others.
    Other,
}

#[derive(Debug)]
pub enum Part {
    Text(String),
    Call { id: String, name: String, input: String },
}

#[derive(Debug)]
pub struct Outcome {
    pub text: String,
    pub failed: bool,
}

/// The relevant content of a transcript.
#[derive(Debug, Default)]
pub struct Transcript {
    pub lines: VecDeque<Line>,
    /// The results, by call id.
    pub results: HashMap<String, Outcome>,
}

/// Parses lines from chunks of bytes.
#[derive(Default)]
pub struct Lines {
    kept: Transcript,
    bytes: usize,
    result_bytes: usize,
    /// The call ids of the results, oldest first.
    calls: VecDeque<String>,
    rest: Vec<u8>,
    /// The current line is too long.
    skips: bool,
}

impl Lines {
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.rest.len() + piece.len() > LINE {
                self.skips = true;
                self.rest = Vec::new();
            } else if !self.skips {
                self.rest.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                self.line();
            }
        }
    }

    pub fn end(mut self) -> Transcript {
        self.line();
        self.kept
    }

    fn line(&mut self) {
        let bytes = std::mem::take(&mut self.rest);
        if std::mem::take(&mut self.skips) {
            return;
        }
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return };
        if value["isSidechain"] == true {
            return;
        }
        self.keep_results(&value);
        let Some(line) = line(&value) else { return };
        self.bytes += size(&line);
        self.kept.lines.push_back(line);
        while self.bytes > KEPT_BYTES || self.kept.lines.len() > KEPT_LINES {
            let Some(oldest) = self.kept.lines.pop_front() else { break };
            self.bytes -= size(&oldest);
        }
    }

    fn keep_results(&mut self, value: &Value) {
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            let (Some("tool_result"), Some(call)) = (block["type"].as_str(), block["tool_use_id"].as_str())
            else {
                continue;
            };
            let call = cut(call, 100);
            let text = cut(&words(&block["content"]), TOOL);
            self.result_bytes += text.len();
            let result = Outcome { text, failed: block["is_error"] == true };
            match self.kept.results.insert(call.clone(), result) {
                Some(before) => self.result_bytes -= before.text.len(),
                None => self.calls.push_back(call),
            }
        }
        while self.result_bytes > KEPT_BYTES || self.calls.len() > KEPT_LINES {
            let oldest = self.calls.pop_front().and_then(|call| self.kept.results.remove(&call));
            let Some(oldest) = oldest else { break };
            self.result_bytes -= oldest.text.len();
        }
    }
}

fn size(line: &Line) -> usize {
    200 + match &line.kind {
        Kind::User(text) | Kind::Summary(text) => text.len(),
        Kind::Assistant(id, parts) => {
            let part = |part: &Part| match part {
                Part::Text(text) => text.len(),
                Part::Call { id, name, input } => id.len() + name.len() + input.len(),
            };
            id.len() + parts.iter().map(part).sum::<usize>()
        }
        Kind::Other => 0,
    }
}

fn line(value: &Value) -> Option<Line> {
    let uuid = cut(value["uuid"].as_str()?, 100);
    let parent = value["parentUuid"].as_str().or_else(|| value["logicalParentUuid"].as_str());
    let at = value["timestamp"].as_str().and_then(|at| at.parse().ok());
    Some(Line { uuid, parent: parent.map(|parent| cut(parent, 100)), at, kind: kind(value) })
}

fn kind(value: &Value) -> Kind {
    let message = &value["message"];
    match value["type"].as_str() {
        Some("user") => {
            let text = cut(&words(&message["content"]), TEXT);
            if value["isCompactSummary"] == true {
                return Kind::Summary(text);
            }
            let of_the_program = ["<local-command-", "<command-name>", "[Request interrupted by user"]
                .iter()
                .any(|start| text.starts_with(start));
            if value["isMeta"] == true || of_the_program || text.trim().is_empty() {
                return Kind::Other;
            }
            Kind::User(text)
        }
        Some("assistant") => {
            // Texts that the program wrote on behalf of the model, such as errors.
            if value["isApiErrorMessage"] == true || message["model"] == "<synthetic>" {
                return Kind::Other;
            }
            let id = message["id"].as_str().or_else(|| value["uuid"].as_str()).unwrap_or_default();
            let parts: Vec<Part> = match message["content"].as_str() {
                Some(text) => vec![Part::Text(cut(text, TEXT))],
                None => message["content"].as_array().into_iter().flatten().filter_map(part).collect(),
            };
            if parts.is_empty() { Kind::Other } else { Kind::Assistant(cut(id, 100), parts) }
        }
        Some(_) | None => Kind::Other,
    }
}

fn part(block: &Value) -> Option<Part> {
    match block["type"].as_str()? {
        "text" => {
            let text = cut(block["text"].as_str()?, TEXT);
            (!text.trim().is_empty()).then_some(Part::Text(text))
        }
        "tool_use" => {
            let id = cut(block["id"].as_str()?, 100);
            let name = cut(block["name"].as_str()?, 100);
            let input = if block["input"].is_object() { block["input"].to_string() } else { "{}".to_owned() };
            let input = if input.len() > TOOL { r#"{"left_out":"too long"}"#.to_owned() } else { input };
            Some(Part::Call { id, name, input })
        }
        _ => None,
    }
}

/// The text, or the texts of a list of blocks. Images are replaced by a placeholder.
fn words(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let word = |block: &Value| match block["type"].as_str()? {
        "text" => Some(block["text"].as_str()?.to_owned()),
        "image" => Some("[picture, not imported]".to_owned()),
        _ => None,
    };
    content.as_array().into_iter().flatten().filter_map(word).collect::<Vec<_>>().join("\n")
}

/// At most `most` bytes of `text`, cut at a character boundary.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        text.to_owned()
    } else {
        format!("{} [cut]", &text[..text.floor_char_boundary(most)])
    }
}
