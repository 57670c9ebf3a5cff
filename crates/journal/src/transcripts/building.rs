//! Builds conversation entries from the lines of a transcript.

use std::collections::{HashMap, HashSet};

use domain::conversation::{Block, Heard, Json, Reach, Said, Text};
use domain::label::{Label, Realm};
use domain::tool::{Outcome, ToolCall, ToolResult};
use jiff::Timestamp;

use super::Item;
use super::parsing::{Kind, Line, Part, Transcript};

/// The most entries that are imported. The oldest are left out.
const ENTRIES: usize = 20_000;
/// The maximum size in bytes of the part that a model reads before the first compaction.
const CONTEXT: usize = 400_000;

/// Texts that replace an omitted part.
const LEFT_OUT: &str = "The earlier part of this conversation was held in another program. It is too long to be read here; \
    searching the history finds it.";
const NOT_THERE: &str =
    "The earlier part of this conversation was held in another program and could not be imported.";

/// An answer whose parts are being collected.
struct Answer {
    uuid: String,
    at: Option<Timestamp>,
    message: String,
    blocks: Vec<Block>,
}

pub fn items(transcript: Transcript) -> Vec<Item> {
    let mut builder = Builder { results: transcript.results, ..Builder::default() };
    for line in chain(transcript.lines.into()) {
        builder.add(line);
    }
    builder.end()
}

/// The lines on the path from the newest message back to the first, oldest first. Does not follow
/// links to later lines, so there are no cycles.
fn chain(lines: Vec<Line>) -> Vec<Line> {
    let places: HashMap<String, usize> =
        lines.iter().enumerate().map(|(place, line)| (line.uuid.clone(), place)).collect();
    let mut next = lines.iter().rposition(|line| !matches!(line.kind, Kind::Other));
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
    results: HashMap<String, super::parsing::Outcome>,
    items: Vec<Item>,
    answer: Option<Answer>,
    /// The ids of calls so far, which must be unique.
    ids: HashSet<String>,
}

impl Builder {
    fn block(&mut self, part: Part) -> Block {
        match part {
            Part::Text(text) => Block::Text(text),
            Part::Call { id, name, input } => {
                let id = self.id(id);
                let name: String =
                    name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).take(64).collect();
                let name = if name.is_empty() { "unknown".to_owned() } else { name };
                Block::Call(ToolCall { id, name, input: Json(input) })
            }
        }
    }

    /// Returns an id that providers accept, and under which the result is found.
    fn id(&mut self, id: String) -> String {
        let fits = (1..=64).contains(&id.len()) && id.chars().all(is_plain);
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

    fn add(&mut self, Line { uuid, at, kind, .. }: Line) {
        match kind {
            Kind::Other => {}
            Kind::Summary(text) => {
                self.finish();
                self.items.push(Item { uuid, at, said: Said::Summary(text) });
            }
            Kind::User(text) => {
                self.finish();
                // Consecutive messages are merged, because a model requires alternating roles.
                if let Some(Item { said: Said::Human(heard), .. }) = self.items.last_mut() {
                    heard.text = format!("{}\n\n{text}", heard.text);
                    return;
                }
                let heard = Heard { preface: String::new(), text, images: Vec::new() };
                self.items.push(Item { uuid, at, said: Said::Human(heard) });
            }
            Kind::Assistant(message, parts) => {
                let blocks: Vec<Block> = parts.into_iter().map(|part| self.block(part)).collect();
                match &mut self.answer {
                    // Consecutive answers are merged unless the first one called tools.
                    Some(answer)
                        if answer.message == message
                            || !answer.blocks.iter().any(|block| matches!(block, Block::Call(_))) =>
                    {
                        answer.blocks.extend(blocks);
                    }
                    Some(_) | None => {
                        self.finish();
                        self.answer = Some(Answer { uuid, at, message, blocks });
                    }
                }
            }
        }
    }

    /// Completes the answer and adds the results of its tools.
    fn finish(&mut self) {
        let Some(Answer { uuid, at, blocks, .. }) = self.answer.take() else { return };
        let calls: Vec<ToolCall> = domain::conversation::calls(&blocks).cloned().collect();
        self.items.push(Item { uuid: uuid.clone(), at, said: Said::Assistant(blocks, Reach::Whole) });
        if calls.is_empty() {
            return;
        }
        let results = calls.into_iter().map(|call| self.result(&call)).collect();
        self.items.push(Item { uuid: format!("{uuid}:results"), at, said: Said::Tools(results) });
    }

    fn result(&mut self, call: &ToolCall) -> ToolResult {
        let (text, outcome) = match self.results.remove(&call.id) {
            Some(result) if result.failed => (result.text, Outcome::Failed),
            Some(result) => (result.text, Outcome::Done),
            None => ("No result was recorded.".to_owned(), Outcome::Failed),
        };
        ToolResult { call: call.id.clone(), text, outcome, label: label(call) }
    }

    fn end(mut self) -> Vec<Item> {
        self.finish();
        let skipped = self.items.len().saturating_sub(ENTRIES);
        let mut items = self.items.split_off(skipped);
        let starts = |item: &Item| matches!(item.said, Said::Human(_) | Said::Summary(_));
        let first = items.iter().position(starts).unwrap_or(items.len());
        if first > 0 {
            // A conversation cannot begin with an answer.
            let (uuid, at) =
                items.first().map(|item| (format!("{}:start", item.uuid), item.at)).unwrap_or_default();
            if matches!(items[0].said, Said::Tools(_)) {
                drop(items.drain(..first));
            } else {
                items.insert(0, Item { uuid, at, said: Said::Summary(NOT_THERE.to_owned()) });
            }
        }
        shorten(&mut items);
        items
    }
}

/// Inserts a summary at the first user message from which on the conversation is short enough.
fn shorten(items: &mut Vec<Item>) {
    let mut length = 0;
    let mut start = None;
    for (place, item) in items.iter().enumerate().rev() {
        if matches!(item.said, Said::Summary(_)) {
            return;
        }
        length += size(&item.said);
        if length > CONTEXT {
            break;
        }
        if matches!(item.said, Said::Human(_)) {
            start = Some(place);
        }
    }
    let is_human = |item: &Item| matches!(item.said, Said::Human(_));
    let start = start.or_else(|| items.iter().rposition(is_human));
    if length > CONTEXT
        && let Some(start) = start
    {
        let uuid = format!("{}:before", items[start].uuid);
        let at = items[start].at;
        items.insert(start, Item { uuid, at, said: Said::Summary(LEFT_OUT.to_owned()) });
    }
}

fn size(said: &Said) -> usize {
    let inputs = match said {
        Said::Assistant(blocks, _) => {
            domain::conversation::calls(blocks).map(|call| call.input.0.len()).sum()
        }
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => 0,
    };
    said.text().len() + inputs
}

/// Returns whether providers accept `letter` in call ids and tool names.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The label of a tool's result. Anything that a tool read may come from outside; only the
/// assistant's own tools are exempt.
fn label(call: &ToolCall) -> Label {
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
