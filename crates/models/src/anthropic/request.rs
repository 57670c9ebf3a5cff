//! The request for a reply, as one function of the context.
//!
//! Each thing said becomes the same bytes whatever comes after it, so that a longer conversation begins with
//! the shorter one and the vendor's cache can be read. Only the marks that say what to cache move along.

use std::borrow::Cow;

use domain::context::{self, Context, UNKNOWN_OUTCOME};
use domain::conversation::{Block, Heard, Json, Said};
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use serde_json::value::RawValue;

use super::wire::{CacheControl, Content, Message, Request, Role, Source, Tool};

/// The input of a call that came without one.
const NOTHING: &str = "{}";

/// The schema of a tool that came without one.
const ANYTHING: &str = r#"{"type":"object"}"#;

/// Who is asked, and for how much.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub model: &'a str,
    pub max_tokens: u32,
}

/// The request for the reply to `context`.
pub fn request<'a>(asked: Asked<'a>, context: &'a Context) -> Request<'a> {
    let mut letters = Letters::default();
    for said in &context.said {
        letters.add(said);
    }
    letters.settle(&[]);
    let mut messages = letters.messages;
    mark_messages(&mut messages);
    Request {
        model: asked.model,
        max_tokens: asked.max_tokens,
        stream: true,
        tools: context.tools.iter().map(tool).collect(),
        system: system(&context.instructions),
        messages,
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { name: spec.name, description: spec.description, input_schema: object_or(spec.schema, ANYTHING) }
}

fn system(instructions: &str) -> Vec<Content<'_>> {
    let mut system: Vec<_> = words(instructions.into()).into_iter().collect();
    system.iter_mut().for_each(mark);
    system
}

/// Messages so far, and the calls in the last one that wait for their results.
#[derive(Default)]
struct Letters<'a> {
    messages: Vec<Message<'a>>,
    open: Vec<&'a str>,
}

impl<'a> Letters<'a> {
    fn add(&mut self, said: &'a Said) {
        match said {
            Said::Tools(results) => self.settle(results),
            Said::Human(heard) => {
                self.settle(&[]);
                self.say(Role::User, human(heard));
            }
            Said::Summary(text) => {
                self.settle(&[]);
                self.say(Role::User, words(context::summary(text).into()));
            }
            Said::Recalled(_) => {}
            Said::Assistant(blocks, _) => {
                self.settle(&[]);
                self.say(Role::Assistant, blocks.iter().filter_map(block));
                self.open = blocks.iter().filter_map(call).map(|call| call.id.as_str()).collect();
            }
        }
    }

    /// Answers every open call, in the order of the calls. The vendor accepts neither a call without a
    /// result nor a result without a call, and would refuse the conversation ever after.
    fn settle(&mut self, results: &'a [ToolResult]) {
        let open = std::mem::take(&mut self.open);
        let settled = open.into_iter().map(|id| match results.iter().find(|result| result.call == id) {
            Some(result) => tool_result(id, &result.text, &result.outcome),
            None => tool_result(id, UNKNOWN_OUTCOME, &Outcome::Failed),
        });
        self.say(Role::User, settled);
    }

    fn say(&mut self, role: Role, content: impl IntoIterator<Item = Content<'a>>) {
        let mut content = content.into_iter().peekable();
        if content.peek().is_none() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => self.messages.push(Message { role, content: content.collect() }),
        }
    }
}

/// EN-8: the images in their order, then the words.
fn human(heard: &Heard) -> Vec<Content<'_>> {
    let images = heard.images.iter().map(|image| Content::Image {
        source: Source { media_type: &image.media_type, data: &image.data },
        cache_control: None,
    });
    images.chain(words(context::heard(heard).into())).collect()
}

fn block(block: &Block) -> Option<Content<'_>> {
    match block {
        // The vendor refuses a conversation whose last word is the model's own and ends in white space.
        Block::Text(text) => words(text.trim_end().into()),
        Block::Call(call) => Some(Content::ToolUse {
            id: &call.id,
            name: &call.name,
            input: object_or(&call.input.0, NOTHING),
            cache_control: None,
        }),
        Block::Opaque(Json(json)) => object(json).map(Content::Opaque),
    }
}

fn call(block: &Block) -> Option<&ToolCall> {
    match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Opaque(_) => None,
    }
}

fn tool_result<'a>(tool_use_id: &'a str, text: &'a str, outcome: &Outcome) -> Content<'a> {
    let is_error = match outcome {
        Outcome::Done | Outcome::Shown(_) => false,
        Outcome::Failed => true,
    };
    Content::ToolResult { tool_use_id, content: text, is_error, cache_control: None }
}

/// The vendor refuses a text without a word in it.
fn words(text: Cow<'_, str>) -> Option<Content<'_>> {
    (!text.trim().is_empty()).then_some(Content::Text { text, cache_control: None })
}

/// `json` as it stands, if it is an object at all.
fn object(json: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

fn object_or<'a>(json: &'a str, otherwise: &'a str) -> &'a RawValue {
    object(json).or_else(|| object(otherwise)).unwrap_or(RawValue::NULL)
}

/// The newest words, and where the request before this one ended: what it wrote to the cache is read there,
/// however many blocks were said since.
fn mark_messages(messages: &mut [Message<'_>]) {
    let Some((last, earlier)) = messages.split_last_mut() else { return };
    mark_last(last);
    if let Some(before) = earlier.iter_mut().rfind(|message| message.role == Role::User) {
        mark_last(before);
    }
}

fn mark_last(message: &mut Message<'_>) {
    let markable = |content: &&mut Content<'_>| !matches!(content, Content::Opaque(_));
    if let Some(content) = message.content.iter_mut().rfind(markable) {
        mark(content);
    }
}

fn mark(content: &mut Content<'_>) {
    match content {
        Content::Text { cache_control, .. }
        | Content::Image { cache_control, .. }
        | Content::ToolUse { cache_control, .. }
        | Content::ToolResult { cache_control, .. } => *cache_control = Some(CacheControl::Ephemeral),
        Content::Opaque(_) => {}
    }
}
