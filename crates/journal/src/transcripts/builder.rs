//! Builds conversation entries from the lines of a transcript.

use std::collections::{HashMap, HashSet};

use domain::conversation::{Block, Completeness, EntryContent, Json, Text, UserInput};
use domain::label::{Label, Realm};
use domain::tool::{Outcome, ToolCall, ToolResult};
use jiff::Timestamp;

use super::TranscriptEntry;
use super::parser::{AnswerPart, LineKind, Transcript, TranscriptLine};

/// The most entries that are imported. The oldest are left out.
const MAX_ENTRIES: usize = 20_000;
/// The maximum size in bytes of the part that a model reads before the first compaction.
const MAX_CONTEXT_BYTES: usize = 400_000;

/// Texts that replace an omitted part.
const OMITTED_NOTICE: &str = "The earlier part of this conversation was held in another program. It is too long to be read here; \
    searching the history finds it.";
const MISSING_NOTICE: &str =
    "The earlier part of this conversation was held in another program and could not be imported.";

/// An answer whose parts are being collected.
struct PartialAnswer {
    uuid: String,
    at: Option<Timestamp>,
    message: String,
    blocks: Vec<Block>,
}

pub fn build_entries(transcript: Transcript) -> Vec<TranscriptEntry> {
    let mut builder = Builder { results: transcript.results, ..Builder::default() };
    for line in newest_chain(transcript.lines.into()) {
        builder.add_line(line);
    }
    builder.build()
}

/// The lines on the path from the newest message back to the first, oldest first. Does not follow
/// links to later lines, so there are no cycles.
fn newest_chain(lines: Vec<TranscriptLine>) -> Vec<TranscriptLine> {
    let places: HashMap<String, usize> =
        lines.iter().enumerate().map(|(place, line)| (line.uuid.clone(), place)).collect();
    let mut next = lines.iter().rposition(|line| !matches!(line.kind, LineKind::Other));
    let mut on_the_way = vec![false; lines.len()];
    while let Some(place) = next {
        on_the_way[place] = true;
        let parent = lines[place].parent.as_ref().and_then(|parent| places.get(parent).copied());
        next = parent.filter(|parent| *parent < place);
    }
    lines.into_iter().zip(on_the_way).filter(|(_, on)| *on).map(|(line, _)| line).collect()
}

#[derive(Default)]
struct Builder {
    results: HashMap<String, super::parser::CallResult>,
    items: Vec<TranscriptEntry>,
    answer: Option<PartialAnswer>,
    /// The ids of calls so far, which must be unique.
    ids: HashSet<String>,
}

impl Builder {
    fn build_block(&mut self, part: AnswerPart) -> Block {
        match part {
            AnswerPart::Text(text) => Block::Text(text),
            AnswerPart::Call { id, name, input } => {
                let id = self.unique_id(id);
                let name: String = name
                    .chars()
                    .map(|letter| if is_identifier_char(letter) { letter } else { '_' })
                    .take(64)
                    .collect();
                let name = if name.is_empty() { "unknown".to_owned() } else { name };
                Block::Call(ToolCall { id, name, input: Json(input) })
            }
        }
    }

    /// Returns an id that providers accept, and under which the result is found.
    fn unique_id(&mut self, id: String) -> String {
        let fits = (1..=64).contains(&id.len()) && id.chars().all(is_identifier_char);
        if fits && self.ids.insert(id.clone()) {
            return id;
        }
        let new = format!("imported_{}", self.ids.len());
        if let Some(result) = self.results.remove(&id) {
            self.results.insert(new.clone(), result);
        }
        self.ids.insert(new.clone());
        new
    }

    fn add_line(&mut self, TranscriptLine { uuid, at, kind, .. }: TranscriptLine) {
        match kind {
            LineKind::Other => {}
            LineKind::Summary(text) => {
                self.finish_answer();
                self.items.push(TranscriptEntry { uuid, at, said: EntryContent::Summary(text) });
            }
            LineKind::User(text) => {
                self.finish_answer();
                // Consecutive messages are merged, because a model requires alternating roles.
                if let Some(TranscriptEntry { said: EntryContent::User(heard), .. }) = self.items.last_mut() {
                    heard.text = format!("{}\n\n{text}", heard.text);
                    return;
                }
                let heard = UserInput { preface: String::new(), text, images: Vec::new() };
                self.items.push(TranscriptEntry { uuid, at, said: EntryContent::User(heard) });
            }
            LineKind::Assistant(message, parts) => {
                let blocks: Vec<Block> = parts.into_iter().map(|part| self.build_block(part)).collect();
                match &mut self.answer {
                    // Consecutive answers are merged unless the first one called tools.
                    Some(answer)
                        if answer.message == message
                            || !answer.blocks.iter().any(|block| matches!(block, Block::Call(_))) =>
                    {
                        answer.blocks.extend(blocks);
                    }
                    Some(_) | None => {
                        self.finish_answer();
                        self.answer = Some(PartialAnswer { uuid, at, message, blocks });
                    }
                }
            }
        }
    }

    /// Completes the answer and adds the results of its tools.
    fn finish_answer(&mut self) {
        let Some(PartialAnswer { uuid, at, blocks, .. }) = self.answer.take() else { return };
        let calls: Vec<ToolCall> = domain::conversation::tool_calls(&blocks).cloned().collect();
        self.items.push(TranscriptEntry {
            uuid: uuid.clone(),
            at,
            said: EntryContent::Assistant(blocks, Completeness::Complete),
        });
        if calls.is_empty() {
            return;
        }
        let results = calls.into_iter().map(|call| self.build_result(&call)).collect();
        self.items.push(TranscriptEntry {
            uuid: format!("{uuid}:results"),
            at,
            said: EntryContent::Tools(results),
        });
    }

    fn build_result(&mut self, call: &ToolCall) -> ToolResult {
        let (text, outcome) = match self.results.remove(&call.id) {
            Some(result) if result.failed => (result.text, Outcome::Failed),
            Some(result) => (result.text, Outcome::Done),
            None => ("No result was recorded.".to_owned(), Outcome::Failed),
        };
        ToolResult { call: call.id.clone(), text, outcome, label: label_of_call(call) }
    }

    fn build(mut self) -> Vec<TranscriptEntry> {
        self.finish_answer();
        let skipped = self.items.len().saturating_sub(MAX_ENTRIES);
        let mut items = self.items.split_off(skipped);
        let starts =
            |item: &TranscriptEntry| matches!(item.said, EntryContent::User(_) | EntryContent::Summary(_));
        let first = items.iter().position(starts).unwrap_or(items.len());
        if first > 0 {
            // A conversation cannot begin with an answer.
            let (uuid, at) =
                items.first().map(|item| (format!("{}:start", item.uuid), item.at)).unwrap_or_default();
            if matches!(items[0].said, EntryContent::Tools(_)) {
                drop(items.drain(..first));
            } else {
                items.insert(
                    0,
                    TranscriptEntry { uuid, at, said: EntryContent::Summary(MISSING_NOTICE.to_owned()) },
                );
            }
        }
        shorten(&mut items);
        items
    }
}

/// Inserts a summary at the first user message from which on the conversation is short enough.
fn shorten(items: &mut Vec<TranscriptEntry>) {
    let mut length = 0;
    let mut start = None;
    for (place, item) in items.iter().enumerate().rev() {
        if matches!(item.said, EntryContent::Summary(_)) {
            return;
        }
        length += size(&item.said);
        if length > MAX_CONTEXT_BYTES {
            break;
        }
        if matches!(item.said, EntryContent::User(_)) {
            start = Some(place);
        }
    }
    let is_human = |item: &TranscriptEntry| matches!(item.said, EntryContent::User(_));
    let start = start.or_else(|| items.iter().rposition(is_human));
    if length > MAX_CONTEXT_BYTES
        && let Some(start) = start
    {
        let uuid = format!("{}:before", items[start].uuid);
        let at = items[start].at;
        items.insert(
            start,
            TranscriptEntry { uuid, at, said: EntryContent::Summary(OMITTED_NOTICE.to_owned()) },
        );
    }
}

fn size(said: &EntryContent) -> usize {
    let inputs = match said {
        EntryContent::Assistant(blocks, _) => {
            domain::conversation::tool_calls(blocks).map(|call| call.input.0.len()).sum()
        }
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => 0,
    };
    said.text().len() + inputs
}

/// Returns whether providers accept `letter` in call ids and tool names.
fn is_identifier_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The label of a tool's result. Anything that a tool read may come from outside; only the
/// assistant's own tools are exempt.
fn label_of_call(call: &ToolCall) -> Label {
    let command = &call.input.0;
    match call.name.as_str() {
        "WebFetch" | "WebSearch" => Label::outside(Realm::Web),
        "Write" | "Edit" | "MultiEdit" | "TodoWrite" | "ToolSearch" => Label::PLAIN,
        name if name.starts_with("mcp__discord__") => Label::PLAIN,
        name if name.starts_with("mcp__") => Label::both(Realm::Server),
        "Bash" if command.contains("ollim-bot gmail") => Label::both(Realm::Mail),
        "Bash" if command.contains("ollim-bot cal") => Label::both(Realm::Calendar),
        "Bash" if command.contains("ollim-bot tasks") => Label::both(Realm::Tasks),
        _ => Label::both(Realm::Files),
    }
}
