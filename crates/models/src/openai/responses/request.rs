//! Builds Responses requests from a context.
//!
//! Each entry becomes the same bytes whatever follows it, so that the server's prompt cache can be
//! read.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::context::{self, Context, SystemNote, UNKNOWN_OUTCOME};
use domain::conversation::{Block, EntryContent, Opaque, UserInput, tool_calls};
use domain::failure::Failure;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::request::{RequestParameters, ToolSupport, object};
use super::protocol::{Item, Message, Part, Reasoning, Request, Tool, ToolItem};
use crate::prefix_cache::{BuiltMessage, PrefixCache, RequestBody, previous_entry, request_prefix};

/// The fewest output tokens that the API accepts.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// Requests reasoning in a form that can be sent back.
const ENCRYPTED_REASONING: &[&str] = &["reasoning.encrypted_content"];

/// The input of a call that came without one.
const EMPTY_INPUT: &str = "{}";

/// The schema of a tool that came without one.
const ANY_OBJECT_SCHEMA: &str = r#"{"type":"object"}"#;

/// Returns the request for the reply to `context`. It reuses the bytes of earlier requests.
pub fn body(
    parameters: RequestParameters<'_>,
    context: &Context,
    prefix_cache: &PrefixCache,
) -> Result<RequestBody, Failure> {
    let request_prefix = request_prefix(&request(parameters, context, Vec::new()))?;
    prefix_cache.write_request(request_prefix, context, |from| items(parameters, context, from))
}

/// Returns the request for the reply to `context` with the conversation `input`.
pub fn request<'a>(
    parameters: RequestParameters<'a>,
    context: &'a Context,
    input: Vec<Item<'a>>,
) -> Request<'a> {
    let profile = parameters.profile;
    let effort = profile.effort.value(context.effort);
    let summary = (profile.summary && profile.encrypted && effort.is_some()).then_some("auto");
    let instructions: &str = &context.instructions;
    Request {
        model: parameters.model,
        stream: true,
        store: false,
        include: if profile.encrypted { ENCRYPTED_REASONING } else { &[] },
        max_output_tokens: parameters.max_tokens.max(MIN_OUTPUT_TOKENS),
        reasoning: effort.map(|effort| Reasoning { effort: Some(effort), summary }),
        instructions: (!instructions.trim().is_empty()).then_some(instructions),
        tools: match profile.tools {
            ToolSupport::Offered => context.tools.iter().map(tool).collect(),
            ToolSupport::Unsupported => Vec::new(),
        },
        input,
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = object(spec.schema).or_else(|| object(ANY_OBJECT_SCHEMA)).unwrap_or(RawValue::NULL);
    Tool { name: spec.name, description: &spec.description, parameters, strict: false }
}

/// Returns the items for the entries of `context` from the index `from` on.
pub fn items<'a>(
    parameters: RequestParameters<'a>,
    context: &'a Context,
    from: usize,
) -> Vec<BuiltMessage<Item<'a>>> {
    let open = previous_entry(&context.entries, from).map(open_calls).unwrap_or_default();
    let mut builder = ItemBuilder {
        items: Vec::new(),
        open_calls: open,
        tools: parameters.profile.tools,
        origin: parameters.profile.encrypted.then_some(parameters.origin),
        unreadable: &parameters.profile.unreadable,
        at: from,
    };
    for entry in &context.entries[from..] {
        builder.add(entry);
        builder.add_notes(&context.notes);
        builder.at += 1;
    }
    builder.at = builder.at.saturating_sub(1);
    builder.add_outputs(&[]);
    builder.items
}

struct ItemBuilder<'a> {
    items: Vec<BuiltMessage<Item<'a>>>,
    /// Calls that need outputs.
    open_calls: Vec<&'a ToolCall>,
    tools: ToolSupport,
    /// The origin of opaque parts that may be sent back, if any.
    origin: Option<&'a str>,
    unreadable: &'a Arc<BTreeSet<String>>,
    /// The index of the entry that is being added.
    at: usize,
}

impl<'a> ItemBuilder<'a> {
    fn add(&mut self, entry: &'a EntryContent) {
        match entry {
            EntryContent::Tools(results) => self.add_outputs(results),
            EntryContent::User(input) => {
                self.add_outputs(&[]);
                self.push_user(user_parts(input));
            }
            EntryContent::Summary(text) => {
                self.add_outputs(&[]);
                self.push_user(text_part(context::summary(text)).into_iter().collect());
            }
            EntryContent::SummaryRecalled(_) => {}
            EntryContent::Assistant(blocks, _) => {
                self.add_outputs(&[]);
                if self.tools == ToolSupport::Offered {
                    self.open_calls = open_calls(entry);
                }
                self.add_reply(blocks);
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
    fn add_outputs(&mut self, results: &'a [ToolResult]) {
        if self.tools == ToolSupport::Unsupported {
            for result in results {
                self.push_user(
                    text_part(format!("[result of a tool]\n{}", result.text)).into_iter().collect(),
                );
            }
            return;
        }
        for call in std::mem::take(&mut self.open_calls) {
            let result = results.iter().find(|result| result.call == call.id);
            let output = result.map_or(UNKNOWN_OUTCOME, |result| result.text.as_str());
            self.push(Item::Tool(ToolItem::FunctionCallOutput { call_id: &call.id, output }));
        }
    }

    fn push_user(&mut self, content: Vec<Part<'a>>) {
        if !content.is_empty() {
            self.push(Item::Message(Message::User { content }));
        }
    }

    /// Adds a reply of a model. Its own items are sent back unchanged. A reasoning item needs the
    /// item that followed it, and an item with an id needs the reasoning before it; if one of them
    /// cannot be sent, the text or the call is sent in the form that any model accepts.
    fn add_reply(&mut self, blocks: &'a [Block]) {
        let mut reasoning: Vec<&'a RawValue> = Vec::new();
        let mut partial: Option<Map<String, Value>> = None;
        let mut reasoning_lost = false;
        for block in blocks {
            match block {
                Block::Opaque(opaque) => match self.own_item(opaque) {
                    None => reasoning_lost = true,
                    Some(raw) => match OpaqueKind::of(raw) {
                        OpaqueKind::UnencryptedReasoning => reasoning_lost = true,
                        OpaqueKind::Partial(map) => partial = Some(map),
                        OpaqueKind::Whole => {
                            self.push_reasoning(&mut reasoning, reasoning_lost);
                            self.push(Item::Verbatim(raw));
                        }
                        OpaqueKind::Reasoning => reasoning.push(raw),
                    },
                },
                Block::Text(text) => {
                    match partial.take().filter(|partial| !reasoning_lost && partial["type"] == "message") {
                        Some(partial) => {
                            self.push_reasoning(&mut reasoning, reasoning_lost);
                            self.push(Item::Rebuilt(message(partial, text)));
                        }
                        None => {
                            reasoning.clear();
                            self.push_text(text);
                        }
                    }
                    reasoning_lost = false;
                }
                Block::Call(call) => {
                    match partial
                        .take()
                        .filter(|partial| !reasoning_lost && partial["type"] == "function_call")
                    {
                        Some(partial) if self.tools == ToolSupport::Offered => {
                            self.push_reasoning(&mut reasoning, reasoning_lost);
                            self.push(Item::Rebuilt(function_call(partial, call)));
                        }
                        Some(_) | None => {
                            reasoning.clear();
                            self.push_call(call);
                        }
                    }
                    reasoning_lost = false;
                }
            }
        }
    }

    /// Returns the JSON of `opaque` if this server and model wrote it and can read it.
    fn own_item(&self, opaque: &'a Opaque) -> Option<&'a RawValue> {
        let is_own = self.origin == Some(opaque.origin.as_str()) && !self.unreadable.contains(&opaque.json.0);
        object(&opaque.json.0).filter(|_| is_own)
    }

    fn push_reasoning(&mut self, reasoning: &mut Vec<&'a RawValue>, reasoning_lost: bool) {
        for item in reasoning.drain(..).filter(|_| !reasoning_lost) {
            self.push(Item::Verbatim(item));
        }
    }

    fn push_text(&mut self, text: &'a str) {
        let text = text.trim_end();
        if !text.trim().is_empty() {
            self.push(Item::Message(Message::Assistant { content: text }));
        }
    }

    fn push_call(&mut self, call: &'a ToolCall) {
        if self.tools == ToolSupport::Offered {
            let arguments = arguments(call);
            self.push(Item::Tool(ToolItem::FunctionCall { call_id: &call.id, name: &call.name, arguments }));
        }
    }

    fn push(&mut self, message: Item<'a>) {
        self.items.push(BuiltMessage { message, first: self.at, last: self.at });
    }
}

/// The kind of an opaque part, which decides how it is sent back.
enum OpaqueKind {
    /// A message or call whose text or arguments are in the next block.
    Partial(Map<String, Value>),
    /// An independent item, such as a commentary message.
    Whole,
    /// An item that belongs to the next one.
    Reasoning,
    /// Reasoning without its encrypted content, which a server without stored state cannot read.
    UnencryptedReasoning,
}

impl OpaqueKind {
    fn of(raw: &RawValue) -> Self {
        let Ok(map) = serde_json::from_str::<Map<String, Value>>(raw.get()) else { return Self::Reasoning };
        match map.get("type").and_then(Value::as_str) {
            Some("message") if map.contains_key("content") => Self::Whole,
            Some("message" | "function_call") => Self::Partial(map),
            Some("reasoning") if !map.get("encrypted_content").is_some_and(Value::is_string) => {
                Self::UnencryptedReasoning
            }
            Some(_) | None => Self::Reasoning,
        }
    }
}

/// Returns the message `partial` with its text added.
fn message(mut partial: Map<String, Value>, text: &str) -> Map<String, Value> {
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    partial.insert("content".to_owned(), Value::Array(vec![part]));
    partial
}

/// Returns the call `partial` with its id, name and arguments added.
fn function_call(mut partial: Map<String, Value>, call: &ToolCall) -> Map<String, Value> {
    let fields =
        [("call_id", call.id.as_str()), ("name", call.name.as_str()), ("arguments", arguments(call))];
    partial.extend(fields.map(|(name, value)| (name.to_owned(), Value::String(value.to_owned()))));
    partial
}

fn arguments(call: &ToolCall) -> &str {
    object(&call.input.0).map_or(EMPTY_INPUT, RawValue::get)
}

/// EN-8: the images in their order, then the text.
fn user_parts(input: &UserInput) -> Vec<Part<'_>> {
    let images = input.images.iter().map(|image| Part::InputImage {
        image_url: format!("data:{};base64,{}", image.media_type, image.data),
        detail: "auto",
    });
    images.chain(text_part(context::user_text(input))).collect()
}

fn text_part<'a>(text: String) -> Option<Part<'a>> {
    (!text.trim().is_empty()).then_some(Part::InputText { text: text.into() })
}

fn open_calls(entry: &EntryContent) -> Vec<&ToolCall> {
    match entry {
        EntryContent::Assistant(blocks, _) => tool_calls(blocks).collect(),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => Vec::new(),
    }
}
