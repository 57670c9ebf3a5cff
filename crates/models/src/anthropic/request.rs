//! The request for a reply, as one function of the context.
//!
//! Each thing said becomes the same bytes whatever comes after it, so that a longer conversation begins with
//! the shorter one and the vendor's cache can be read. Only the marks that say what to cache move along.

use std::borrow::Cow;
use std::sync::Arc;

use domain::context::{self, Context, UNKNOWN_OUTCOME};
use domain::conversation::{Block, Heard, Opaque, Said, calls};
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolResult, ToolSpec};
use serde_json::value::RawValue;

use crate::beginnings::{Beginnings, Body, Made, before, opening};

use super::wire::{CacheControl, Content, Message, Request, Role, Source, ThinkingMode, Tool};

/// The input of a call that came without one.
const NOTHING: &str = "{}";

/// The schema of a tool that came without one.
const ANYTHING: &str = r#"{"type":"object"}"#;

/// The fewest tokens that are worth a budget of thinking; the vendor refuses less.
const LEAST: u32 = 1024;

/// Who is asked, and for how much.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub model: &'a str,
    /// The most tokens of the reply itself.
    pub max_tokens: u32,
}

/// The request for the reply to `context`, which begins as the ones before it did.
pub fn body(asked: Asked<'_>, context: &Context, beginnings: &Beginnings) -> Result<Body, Failure> {
    let opening = opening(&request(asked, context, Vec::new()))?;
    beginnings.write(opening, context, |from| messages(&context.said, from))
}

/// The request for the reply to `context` in which `messages` were said.
pub fn request<'a>(asked: Asked<'a>, context: &'a Context, messages: Vec<Message<'a>>) -> Request<'a> {
    let (thinking, max_tokens) = thinking(context.thinking, asked.max_tokens);
    Request {
        model: asked.model,
        max_tokens,
        stream: true,
        thinking,
        tools: context.tools.iter().map(tool).collect(),
        system: system(&context.instructions),
        messages,
    }
}

/// The messages that come of `said` from the place `from` on, with their marks.
pub fn messages(said: &[Arc<Said>], from: usize) -> Vec<Made<Message<'_>>> {
    let open = before(said, from).map(open).unwrap_or_default();
    let mut letters = Letters { messages: Vec::new(), open, at: from };
    for said in &said[from..] {
        letters.add(said);
        letters.at += 1;
    }
    letters.settle(&[]);
    mark_messages(&mut letters.messages);
    letters.messages
}

/// How much to think, and the most tokens with it: the vendor counts what is thought as a part of the reply, and
/// wants the budget to be the smaller one.
///
/// Between requests that differ here, the vendor reads tools and instructions from its cache, and nothing that was
/// said. So two turns that should share what was said must think in the same way.
fn thinking(thinking: Thinking, reply: u32) -> (ThinkingMode, u32) {
    match thinking {
        Thinking::Auto | Thinking::Off => (ThinkingMode::Disabled, reply),
        Thinking::Adaptive => (ThinkingMode::Adaptive, reply),
        Thinking::Budget(budget) => {
            let budget_tokens = budget.get().max(LEAST);
            let most = if budget_tokens < reply { reply } else { budget_tokens.saturating_add(reply) };
            (ThinkingMode::Enabled { budget_tokens }, most)
        }
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
struct Letters<'a> {
    messages: Vec<Made<Message<'a>>>,
    open: Vec<&'a str>,
    /// The place of the entry that is added.
    at: usize,
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
                self.open = open(said);
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
            Some(last) if last.message.role == role => {
                last.message.content.extend(content);
                last.last = self.at;
            }
            Some(_) | None => {
                let message = Message { role, content: content.collect() };
                self.messages.push(Made { message, first: self.at, last: self.at });
            }
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
        Block::Opaque(opaque) if opaque.origin != Opaque::ANTHROPIC => None,
        Block::Opaque(opaque) => object(&opaque.json.0).map(Content::Opaque),
    }
}

/// The calls in `said`, which wait for their results.
fn open(said: &Said) -> Vec<&str> {
    match said {
        Said::Assistant(blocks, _) => calls(blocks).map(|call| call.id.as_str()).collect(),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => Vec::new(),
    }
}

fn tool_result<'a>(tool_use_id: &'a str, text: &'a str, outcome: &Outcome) -> Content<'a> {
    let is_error = match outcome {
        Outcome::Done | Outcome::Shown(_) => false,
        Outcome::Failed | Outcome::Denied => true,
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
/// however many blocks were said since. Roles take turns, so that is among the last three messages.
fn mark_messages(messages: &mut [Made<Message<'_>>]) {
    let Some((last, earlier)) = messages.split_last_mut() else { return };
    mark_last(&mut last.message);
    if let Some(before) = earlier.iter_mut().rfind(|made| made.message.role == Role::User) {
        mark_last(&mut before.message);
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
