//! Builds Responses requests from a context.
//!
//! Each entry becomes the same bytes whatever follows it, so that the server's prompt cache can be
//! read.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::context::{self, Context, SystemNote, UNKNOWN_OUTCOME};
use domain::conversation::{Block, Heard, Opaque, Said, calls};
use domain::failure::Failure;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::request::{Asked, Tools, object};
use super::wire::{Item, Message, Part, Reasoning, Request, Tool, ToolItem};
use crate::beginnings::{Beginnings, Body, Made, before, opening};

/// The fewest output tokens that the API accepts.
const LEAST_OUTPUT: u32 = 16;

/// Requests reasoning in a form that can be sent back.
const ENCRYPTED_REASONING: &[&str] = &["reasoning.encrypted_content"];

/// The input of a call that came without one.
const NO_ARGUMENTS: &str = "{}";

/// The schema of a tool that came without one.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// Returns the request for the reply to `context`. It reuses the bytes of earlier requests.
pub fn body(asked: Asked<'_>, context: &Context, beginnings: &Beginnings) -> Result<Body, Failure> {
    let opening = opening(&request(asked, context, Vec::new()))?;
    beginnings.write(opening, context, |from| items(asked, context, from))
}

/// Returns the request for the reply to `context` with the conversation `input`.
pub fn request<'a>(asked: Asked<'a>, context: &'a Context, input: Vec<Item<'a>>) -> Request<'a> {
    let profile = asked.profile;
    let effort = profile.effort.value(context.effort);
    let summary = (profile.summary && profile.encrypted && effort.is_some()).then_some("auto");
    let instructions: &str = &context.instructions;
    Request {
        model: asked.model,
        stream: true,
        store: false,
        include: if profile.encrypted { ENCRYPTED_REASONING } else { &[] },
        max_output_tokens: asked.max_tokens.max(LEAST_OUTPUT),
        reasoning: effort.map(|effort| Reasoning { effort: Some(effort), summary }),
        instructions: (!instructions.trim().is_empty()).then_some(instructions),
        tools: match profile.tools {
            Tools::Offered => context.tools.iter().map(tool).collect(),
            Tools::Unknown => Vec::new(),
        },
        input,
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = object(spec.schema).or_else(|| object(ANY_OBJECT)).unwrap_or(RawValue::NULL);
    Tool { name: spec.name, description: &spec.description, parameters, strict: false }
}

/// Returns the items for the entries of `context` from the index `from` on.
pub fn items<'a>(asked: Asked<'a>, context: &'a Context, from: usize) -> Vec<Made<Item<'a>>> {
    let open = before(&context.said, from).map(open_calls).unwrap_or_default();
    let mut items = Items {
        items: Vec::new(),
        open,
        tools: asked.profile.tools,
        origin: asked.profile.encrypted.then_some(asked.origin),
        unreadable: &asked.profile.unreadable,
        at: from,
    };
    for said in &context.said[from..] {
        items.add(said);
        items.add_notes(&context.notes);
        items.at += 1;
    }
    items.at = items.at.saturating_sub(1);
    items.settle(&[]);
    items.items
}

struct Items<'a> {
    items: Vec<Made<Item<'a>>>,
    /// Calls that need outputs.
    open: Vec<&'a ToolCall>,
    tools: Tools,
    /// The origin of opaque parts that may be sent back, if any.
    origin: Option<&'a str>,
    unreadable: &'a Arc<BTreeSet<String>>,
    /// The index of the entry that is being added.
    at: usize,
}

impl<'a> Items<'a> {
    fn add(&mut self, said: &'a Said) {
        match said {
            Said::Tools(results) => self.settle(results),
            Said::Human(heard) => {
                self.settle(&[]);
                self.user(user_parts(heard));
            }
            Said::Summary(text) => {
                self.settle(&[]);
                self.user(text_part(context::summary(text)).into_iter().collect());
            }
            Said::Recalled(_) => {}
            Said::Assistant(blocks, _) => {
                self.settle(&[]);
                if self.tools == Tools::Offered {
                    self.open = open_calls(said);
                }
                self.assistant(blocks);
            }
        }
    }

    fn add_notes(&mut self, notes: &'a [SystemNote]) {
        let at = self.at;
        for note in notes.iter().filter(|note| note.after == at) {
            self.push(Item::Message(Message::Developer { content: &note.text }));
        }
    }

    /// Adds an output for every open call: the API refuses a call without an output and an output
    /// without a call.
    fn settle(&mut self, results: &'a [ToolResult]) {
        if self.tools == Tools::Unknown {
            for result in results {
                self.user(text_part(format!("[result of a tool]\n{}", result.text)).into_iter().collect());
            }
            return;
        }
        for call in std::mem::take(&mut self.open) {
            let result = results.iter().find(|result| result.call == call.id);
            let output = result.map_or(UNKNOWN_OUTCOME, |result| result.text.as_str());
            self.push(Item::Tool(ToolItem::FunctionCallOutput { call_id: &call.id, output }));
        }
    }

    fn user(&mut self, content: Vec<Part<'a>>) {
        if !content.is_empty() {
            self.push(Item::Message(Message::User { content }));
        }
    }

    /// Adds a reply of a model. Its own items are sent back unchanged. A reasoning item needs the
    /// item that followed it, and an item with an id needs the reasoning before it; if one of them
    /// cannot be sent, the text or the call is sent in the form that any model accepts.
    fn assistant(&mut self, blocks: &'a [Block]) {
        let mut reasoning: Vec<&'a RawValue> = Vec::new();
        let mut shell: Option<Map<String, Value>> = None;
        let mut broken = false;
        for block in blocks {
            match block {
                Block::Opaque(opaque) => match self.own(opaque) {
                    None => broken = true,
                    Some(raw) => match Kind::of(raw) {
                        Kind::Bare => broken = true,
                        Kind::Shell(map) => shell = Some(map),
                        Kind::Whole => {
                            self.flush(&mut reasoning, broken);
                            self.push(Item::Verbatim(raw));
                        }
                        Kind::Reasoning => reasoning.push(raw),
                    },
                },
                Block::Text(text) => {
                    match shell.take().filter(|shell| !broken && shell["type"] == "message") {
                        Some(shell) => {
                            self.flush(&mut reasoning, broken);
                            self.push(Item::Rebuilt(message(shell, text)));
                        }
                        None => {
                            reasoning.clear();
                            self.text(text);
                        }
                    }
                    broken = false;
                }
                Block::Call(call) => {
                    match shell.take().filter(|shell| !broken && shell["type"] == "function_call") {
                        Some(shell) if self.tools == Tools::Offered => {
                            self.flush(&mut reasoning, broken);
                            self.push(Item::Rebuilt(function_call(shell, call)));
                        }
                        Some(_) | None => {
                            reasoning.clear();
                            self.call(call);
                        }
                    }
                    broken = false;
                }
            }
        }
    }

    /// Returns the JSON of `opaque` if this server and model wrote it and can read it.
    fn own(&self, opaque: &'a Opaque) -> Option<&'a RawValue> {
        let is_own = self.origin == Some(opaque.origin.as_str()) && !self.unreadable.contains(&opaque.json.0);
        object(&opaque.json.0).filter(|_| is_own)
    }

    fn flush(&mut self, reasoning: &mut Vec<&'a RawValue>, broken: bool) {
        for item in reasoning.drain(..).filter(|_| !broken) {
            self.push(Item::Verbatim(item));
        }
    }

    fn text(&mut self, text: &'a str) {
        let text = text.trim_end();
        if !text.trim().is_empty() {
            self.push(Item::Message(Message::Assistant { content: text }));
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        if self.tools == Tools::Offered {
            let arguments = arguments(call);
            self.push(Item::Tool(ToolItem::FunctionCall { call_id: &call.id, name: &call.name, arguments }));
        }
    }

    fn push(&mut self, message: Item<'a>) {
        self.items.push(Made { message, first: self.at, last: self.at });
    }
}

/// The kind of an opaque part, which decides how it is sent back.
enum Kind {
    /// A message or call whose text or arguments are in the next block.
    Shell(Map<String, Value>),
    /// An independent item, such as a commentary message.
    Whole,
    /// An item that belongs to the next one.
    Reasoning,
    /// Reasoning without its encrypted content, which a server without stored state cannot read.
    Bare,
}

impl Kind {
    fn of(raw: &RawValue) -> Self {
        let Ok(map) = serde_json::from_str::<Map<String, Value>>(raw.get()) else { return Self::Reasoning };
        match map.get("type").and_then(Value::as_str) {
            Some("message") if map.contains_key("content") => Self::Whole,
            Some("message" | "function_call") => Self::Shell(map),
            Some("reasoning") if !map.get("encrypted_content").is_some_and(Value::is_string) => Self::Bare,
            Some(_) | None => Self::Reasoning,
        }
    }
}

/// Returns the message `partial` with its text added.
fn message(mut shell: Map<String, Value>, text: &str) -> Map<String, Value> {
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    shell.insert("content".to_owned(), Value::Array(vec![part]));
    shell
}

/// Returns the call `partial` with its id, name and arguments added.
fn function_call(mut shell: Map<String, Value>, call: &ToolCall) -> Map<String, Value> {
    let fields =
        [("call_id", call.id.as_str()), ("name", call.name.as_str()), ("arguments", arguments(call))];
    shell.extend(fields.map(|(name, value)| (name.to_owned(), Value::String(value.to_owned()))));
    shell
}

fn arguments(call: &ToolCall) -> &str {
    object(&call.input.0).map_or(NO_ARGUMENTS, RawValue::get)
}

/// EN-8: the images in their order, then the text.
fn user_parts(heard: &Heard) -> Vec<Part<'_>> {
    let images = heard.images.iter().map(|image| Part::InputImage {
        image_url: format!("data:{};base64,{}", image.media_type, image.data),
        detail: "auto",
    });
    images.chain(text_part(context::heard(heard))).collect()
}

fn text_part<'a>(text: String) -> Option<Part<'a>> {
    (!text.trim().is_empty()).then_some(Part::InputText { text: text.into() })
}

fn open_calls(said: &Said) -> Vec<&ToolCall> {
    match said {
        Said::Assistant(blocks, _) => calls(blocks).collect(),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => Vec::new(),
    }
}
