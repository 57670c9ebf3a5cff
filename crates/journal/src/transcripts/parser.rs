//! Parses the lines of a transcript with bounded memory.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use serde_json::Value;

/// The maximum length of a line. Longer ones, which contain images or files, are skipped.
const MAX_LINE: usize = 16 << 20;
/// The maximum length of a message, and of a tool's result or input.
const MAX_TEXT: usize = 100_000;
const MAX_TOOL_TEXT: usize = 20_000;
/// Limits for the bytes of lines and of results, and for their numbers. The oldest are dropped.
const MAX_TOTAL_BYTES: usize = 64 << 20;
const MAX_LINES: usize = 400_000;

/// A line of the tree.
#[derive(Debug)]
pub struct TranscriptLine {
    pub uuid: String,
    pub parent: Option<String>,
    pub at: Option<Timestamp>,
    pub kind: LineKind,
}

/// Content of a line.
#[derive(Debug)]
pub enum LineKind {
    User(String),
    /// A summary of everything before it.
    Summary(String),
    /// Part of an answer, with the id of the answer.
    Assistant(String, Vec<AnswerPart>),
    /// A line without content, which only links others.
    Other,
}

#[derive(Debug)]
pub enum AnswerPart {
    Text(String),
    Call { id: String, name: String, input: String },
}

#[derive(Debug)]
pub struct CallResult {
    pub text: String,
    pub failed: bool,
}

/// The relevant content of a transcript.
#[derive(Debug, Default)]
pub struct Transcript {
    pub lines: VecDeque<TranscriptLine>,
    /// The results, by call id.
    pub results: HashMap<String, CallResult>,
}

/// Parses lines from chunks of bytes.
#[derive(Default)]
pub struct LineParser {
    transcript: Transcript,
    bytes: usize,
    result_bytes: usize,
    /// The call ids of the results, oldest first.
    calls: VecDeque<String>,
    partial_line: Vec<u8>,
    /// The current line is too long.
    skipping: bool,
}

impl LineParser {
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.partial_line.len() + piece.len() > MAX_LINE {
                self.skipping = true;
                self.partial_line = Vec::new();
            } else if !self.skipping {
                self.partial_line.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                self.finish_line();
            }
        }
    }

    pub fn finish(mut self) -> Transcript {
        self.finish_line();
        self.transcript
    }

    fn finish_line(&mut self) {
        let bytes = std::mem::take(&mut self.partial_line);
        if std::mem::take(&mut self.skipping) {
            return;
        }
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return };
        if value["isSidechain"] == true {
            return;
        }
        self.add_results(&value);
        let Some(line) = parse_line(&value) else { return };
        self.bytes += size(&line);
        self.transcript.lines.push_back(line);
        while self.bytes > MAX_TOTAL_BYTES || self.transcript.lines.len() > MAX_LINES {
            let Some(oldest) = self.transcript.lines.pop_front() else { break };
            self.bytes -= size(&oldest);
        }
    }

    fn add_results(&mut self, value: &Value) {
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            let (Some("tool_result"), Some(call)) = (block["type"].as_str(), block["tool_use_id"].as_str())
            else {
                continue;
            };
            let call = truncate(call, 100);
            let text = truncate(&content_text(&block["content"]), MAX_TOOL_TEXT);
            self.result_bytes += text.len();
            let result = CallResult { text, failed: block["is_error"] == true };
            match self.transcript.results.insert(call.clone(), result) {
                Some(before) => self.result_bytes -= before.text.len(),
                None => self.calls.push_back(call),
            }
        }
        while self.result_bytes > MAX_TOTAL_BYTES || self.calls.len() > MAX_LINES {
            let oldest = self.calls.pop_front().and_then(|call| self.transcript.results.remove(&call));
            let Some(oldest) = oldest else { break };
            self.result_bytes -= oldest.text.len();
        }
    }
}

fn size(line: &TranscriptLine) -> usize {
    200 + match &line.kind {
        LineKind::User(text) | LineKind::Summary(text) => text.len(),
        LineKind::Assistant(id, parts) => {
            let part = |part: &AnswerPart| match part {
                AnswerPart::Text(text) => text.len(),
                AnswerPart::Call { id, name, input } => id.len() + name.len() + input.len(),
            };
            id.len() + parts.iter().map(part).sum::<usize>()
        }
        LineKind::Other => 0,
    }
}

fn parse_line(value: &Value) -> Option<TranscriptLine> {
    let uuid = truncate(value["uuid"].as_str()?, 100);
    let parent = value["parentUuid"].as_str().or_else(|| value["logicalParentUuid"].as_str());
    let at = value["timestamp"].as_str().and_then(|at| at.parse().ok());
    Some(TranscriptLine {
        uuid,
        parent: parent.map(|parent| truncate(parent, 100)),
        at,
        kind: parse_kind(value),
    })
}

fn parse_kind(value: &Value) -> LineKind {
    let message = &value["message"];
    match value["type"].as_str() {
        Some("user") => {
            let text = truncate(&content_text(&message["content"]), MAX_TEXT);
            if value["isCompactSummary"] == true {
                return LineKind::Summary(text);
            }
            let of_the_program = ["<local-command-", "<command-name>", "[Request interrupted by user"]
                .iter()
                .any(|start| text.starts_with(start));
            if value["isMeta"] == true || of_the_program || text.trim().is_empty() {
                return LineKind::Other;
            }
            LineKind::User(text)
        }
        Some("assistant") => {
            // Texts that the program wrote on behalf of the model, such as errors.
            if value["isApiErrorMessage"] == true || message["model"] == "<synthetic>" {
                return LineKind::Other;
            }
            let id = message["id"].as_str().or_else(|| value["uuid"].as_str()).unwrap_or_default();
            let parts: Vec<AnswerPart> = match message["content"].as_str() {
                Some(text) => vec![AnswerPart::Text(truncate(text, MAX_TEXT))],
                None => message["content"].as_array().into_iter().flatten().filter_map(parse_part).collect(),
            };
            if parts.is_empty() { LineKind::Other } else { LineKind::Assistant(truncate(id, 100), parts) }
        }
        Some(_) | None => LineKind::Other,
    }
}

fn parse_part(block: &Value) -> Option<AnswerPart> {
    match block["type"].as_str()? {
        "text" => {
            let text = truncate(block["text"].as_str()?, MAX_TEXT);
            (!text.trim().is_empty()).then_some(AnswerPart::Text(text))
        }
        "tool_use" => {
            let id = truncate(block["id"].as_str()?, 100);
            let name = truncate(block["name"].as_str()?, 100);
            let input = if block["input"].is_object() { block["input"].to_string() } else { "{}".to_owned() };
            let input =
                if input.len() > MAX_TOOL_TEXT { r#"{"left_out":"too long"}"#.to_owned() } else { input };
            Some(AnswerPart::Call { id, name, input })
        }
        _ => None,
    }
}

/// The text, or the texts of a list of blocks. Images are replaced by a placeholder.
fn content_text(content: &Value) -> String {
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
fn truncate(text: &str, most: usize) -> String {
    if text.len() <= most {
        text.to_owned()
    } else {
        format!("{} [cut]", &text[..text.floor_char_boundary(most)])
    }
}
