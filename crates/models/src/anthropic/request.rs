//! The request for a reply, as one function of the context.
//!
//! Each entry becomes the same bytes whatever follows it, so that a longer conversation begins with
//! the shorter one and the vendor's cache can be read. Only the cache marks move.

use std::borrow::Cow;
use std::sync::Arc;

use domain::context::{self, Context, UNKNOWN_OUTCOME};
use domain::conversation::{Block, EntryContent, Opaque, UserInput, tool_calls};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::tool::{Outcome, ToolResult, ToolSpec};
use serde_json::value::RawValue;

use crate::prefix_cache::{BuiltMessage, PrefixCache, RequestBody, previous_entry, request_prefix};

use super::capabilities::{BINDING_BETA, Capabilities, PROGRESS_BETA};
use super::protocol::{
    CacheControl, Content, Message, OutputConfig, Request, Role, Source, ThinkingMode, Tool, TypeTag,
};

/// The input of a call that came without one.
const EMPTY_INPUT: &str = "{}";

/// The schema of a tool that came without one.
const ANY_OBJECT_SCHEMA: &str = r#"{"type":"object"}"#;

/// Ends a request whose last message would be the model's own.
const CONTINUE_PROMPT: &str = "[Go on.]";

/// The fields of a request that depend on the model and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub thinking: Option<ThinkingMode>,
    pub effort: Option<Effort>,
    pub max_tokens: u32,
    /// True if system notes are messages of their own.
    pub system_messages: bool,
    /// The lifetime of the cache marks.
    pub cache: CacheControl,
    /// Thinking blocks in the entries before this index are left out.
    pub strip_thinking_before: usize,
}

impl Shape {
    /// Returns the fields for the reply to `context` on a model with these `capabilities`;
    /// `max_tokens` is the setting.
    ///
    /// Requests with another thinking type or effort share only tools and instructions in the vendor's cache, so a
    /// fork must get the same shape as the conversation it left.
    pub fn new(
        capabilities: &Capabilities,
        context: &Context,
        max_tokens: u32,
        strip_thinking_before: usize,
    ) -> Self {
        let mut wanted = capabilities.thinking(context.thinking);
        let has_budget = matches!(wanted, Some(ThinkingMode::Enabled { .. }));
        if has_budget && lacks_thinking_of_tool_loop(&context.entries, strip_thinking_before) {
            wanted = capabilities.disabled.then_some(ThinkingMode::Disabled);
        }
        let thinking = wanted.map(|mode| limit_thinking_budget(mode, max_tokens, capabilities.max_output));
        let cache = if context.interactive && capabilities.hour_cache {
            CacheControl::ONE_HOUR
        } else {
            CacheControl::FIVE_MINUTES
        };
        Self {
            thinking,
            effort: capabilities.effort(context.effort, thinking),
            max_tokens: reply_limit(thinking, max_tokens).min(capabilities.max_output),
            system_messages: capabilities.system_messages,
            cache,
            strip_thinking_before,
        }
    }

    /// The value of the `anthropic-beta` header.
    pub fn betas(&self) -> Option<String> {
        let (display, block_binding) = match self.thinking {
            Some(ThinkingMode::Adaptive { display, block_binding }) => (display, block_binding),
            Some(ThinkingMode::Enabled { block_binding, .. }) => (None, block_binding),
            Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools) | None => (None, None),
        };
        let betas = [block_binding.map(|_| BINDING_BETA), display.map(|_| PROGRESS_BETA)];
        let betas: Vec<&str> = betas.into_iter().flatten().collect();
        (!betas.is_empty()).then(|| betas.join(","))
    }
}

/// Lowers a thinking budget that would use up the model's longest reply, which the server refuses.
fn limit_thinking_budget(mode: ThinkingMode, max_tokens: u32, max_output: u32) -> ThinkingMode {
    match mode {
        ThinkingMode::Enabled { budget_tokens, block_binding } => {
            let most = max_output.saturating_sub(max_tokens).max(max_output / 2);
            ThinkingMode::Enabled { budget_tokens: budget_tokens.min(most), block_binding }
        }
        ThinkingMode::Disabled | ThinkingMode::BetweenTools | ThinkingMode::Adaptive { .. } => mode,
    }
}

/// Returns whether the conversation ends in a tool loop that does not begin with signed thinking,
/// which models with a thinking budget refuse. The thinking is missing if the reply was assembled
/// from two parts, or if the server refused it.
fn lacks_thinking_of_tool_loop(said: &[Arc<EntryContent>], strip_thinking_before: usize) -> bool {
    let is_user =
        |said: &Arc<EntryContent>| matches!(**said, EntryContent::User(_) | EntryContent::Summary(_));
    let begin = said.iter().rposition(is_user).map_or(0, |at| at + 1);
    let mut replies = said[begin..].iter().enumerate().filter_map(|(at, said)| match &**said {
        EntryContent::Assistant(blocks, _) => Some((begin + at, blocks)),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    let Some((at, blocks)) = replies.next() else { return false };
    let is_open = tool_calls(replies.next_back().map_or(blocks, |(_, last)| last)).next().is_some();
    let first = blocks.iter().find(|sent| block_content(sent).is_some());
    is_open && (at < strip_thinking_before || !first.is_some_and(is_thinking))
}

/// A thinking budget is part of the reply limit and must be smaller than it.
fn reply_limit(thinking: Option<ThinkingMode>, max_tokens: u32) -> u32 {
    match thinking {
        Some(ThinkingMode::Enabled { budget_tokens, .. }) if budget_tokens >= max_tokens => {
            budget_tokens.saturating_add(max_tokens)
        }
        Some(_) | None => max_tokens,
    }
}

/// Returns the request for the reply to `context`. It reuses the bytes of earlier requests.
pub fn body(
    model: &str,
    shape: Shape,
    context: &Context,
    prefix_cache: &PrefixCache,
) -> Result<RequestBody, Failure> {
    let request_prefix = request_prefix(&request(model, shape, context, Vec::new()))?;
    prefix_cache.write_request(request_prefix, context, |from| messages(shape, context, from))
}

/// Returns the request for the reply to `context` with these `messages`.
pub fn request<'a>(
    model: &'a str,
    shape: Shape,
    context: &'a Context,
    messages: Vec<Message<'a>>,
) -> Request<'a> {
    Request {
        model,
        max_tokens: shape.max_tokens,
        stream: true,
        thinking: shape.thinking,
        output_config: shape.effort.map(|effort| OutputConfig { effort: effort.as_str() }),
        tools: context.tools.iter().map(tool).collect(),
        system: system(&context.instructions, shape.cache),
        messages,
    }
}

/// Returns the messages for the entries from the index `from` on, with their cache marks.
pub fn messages(shape: Shape, context: &Context, from: usize) -> Vec<BuiltMessage<Message<'_>>> {
    let open_calls = previous_entry(&context.entries, from).map(call_ids).unwrap_or_default();
    let mut builder = MessageBuilder { messages: Vec::new(), open_calls, at: from, shape };
    for entry in &context.entries[from..] {
        builder.add(entry);
        let at = builder.at;
        for note in context.notes.iter().filter(|note| note.after == at) {
            builder.add_results(&[]);
            builder.add_note(&note.text, next_is_reply(&context.entries, at));
        }
        builder.at += 1;
    }
    builder.add_results(&[]);
    builder.end_with_user();
    mark_messages(&mut builder.messages, shape.cache);
    builder.messages
}

/// Returns whether the entry after the index `at` is a reply, or missing. Only then is a system
/// message allowed between them.
fn next_is_reply(said: &[Arc<EntryContent>], at: usize) -> bool {
    let next = said[at + 1..].iter().find(|said| !matches!(***said, EntryContent::SummaryRecalled(_)));
    next.is_none_or(|said| matches!(**said, EntryContent::Assistant(..)))
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: spec.name,
        description: &spec.description,
        input_schema: object_or(spec.schema, ANY_OBJECT_SCHEMA),
    }
}

fn system(instructions: &str, cache: CacheControl) -> Vec<Content<'_>> {
    let mut system: Vec<_> = text_content(instructions.into()).into_iter().collect();
    system.iter_mut().for_each(|content| mark(content, cache));
    system
}

/// Builds the messages from the entries, tracking the calls of the last message that still need
/// results.
struct MessageBuilder<'a> {
    messages: Vec<BuiltMessage<Message<'a>>>,
    open_calls: Vec<&'a str>,
    /// The index of the entry that is being added.
    at: usize,
    shape: Shape,
}

impl<'a> MessageBuilder<'a> {
    fn add(&mut self, entry: &'a EntryContent) {
        match entry {
            EntryContent::Tools(results) => self.add_results(results),
            EntryContent::User(input) => {
                self.add_results(&[]);
                self.push(Role::User, user_content(input));
            }
            EntryContent::Summary(text) => {
                self.add_results(&[]);
                self.push(Role::User, text_content(context::summary(text).into()));
            }
            EntryContent::SummaryRecalled(_) => {}
            EntryContent::Assistant(blocks, _) => {
                self.add_results(&[]);
                let strip = self.at < self.shape.strip_thinking_before;
                let sent = blocks.iter().filter(|block| !(strip && is_thinking(block)));
                self.push(Role::Assistant, sent.filter_map(block_content));
                self.open_calls = call_ids(entry);
            }
        }
    }

    /// Adds a result for every open call, in the order of the calls. The vendor accepts neither a
    /// call without a result nor a result without a call, and would refuse the conversation from
    /// then on.
    fn add_results(&mut self, results: &'a [ToolResult]) {
        let open = std::mem::take(&mut self.open_calls);
        let contents = open.into_iter().map(|id| match results.iter().find(|result| result.call == id) {
            Some(result) => tool_result(id, &result.text, &result.outcome),
            None => tool_result(id, UNKNOWN_OUTCOME, &Outcome::Failed),
        });
        self.push(Role::User, contents);
    }

    /// Adds a system note: as a separate message where model and position allow it, else as a text
    /// block of ours in the user message before it.
    fn add_note(&mut self, text: &'a str, before_reply: bool) {
        let is_of_entry =
            |last: &BuiltMessage<Message<'_>>| last.message.role == Role::User && last.last == self.at;
        let after_user = self.messages.last().is_some_and(is_of_entry);
        let role =
            if self.shape.system_messages && before_reply && after_user { Role::System } else { Role::User };
        self.push(role, text_content(text.into()));
    }

    /// Appends a user message if the last one is the model's, which the vendor refuses.
    fn end_with_user(&mut self) {
        if self.messages.last().is_some_and(|last| last.message.role == Role::Assistant) {
            self.at = self.at.saturating_sub(1);
            self.push(Role::User, text_content(CONTINUE_PROMPT.into()));
        }
    }

    fn push(&mut self, role: Role, content: impl IntoIterator<Item = Content<'a>>) {
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
                self.messages.push(BuiltMessage { message, first: self.at, last: self.at });
            }
        }
    }
}

/// EN-8: the images in their order, then our preface, then the user's text. Preface and text are
/// two blocks, so that the model can distinguish them.
fn user_content(input: &UserInput) -> Vec<Content<'_>> {
    let images = input.images.iter().map(|image| Content::Image {
        source: Source { media_type: &image.media_type, data: &image.data },
        cache_control: None,
    });
    images
        .chain(text_content(input.preface.trim_end().into()))
        .chain(text_content(input.text.as_str().into()))
        .collect()
}

fn block_content(block: &Block) -> Option<Content<'_>> {
    match block {
        // The vendor refuses a conversation that ends with a text of the model with trailing white
        // space.
        Block::Text(text) => text_content(text.trim_end().into()),
        Block::Call(call) => Some(Content::ToolUse {
            id: &call.id,
            name: &call.name,
            input: object_or(&call.input.0, EMPTY_INPUT),
            cache_control: None,
        }),
        Block::Opaque(opaque) if opaque.origin != Opaque::ANTHROPIC => None,
        Block::Opaque(opaque) => object(&opaque.json.0).map(Content::Opaque),
    }
}

/// Returns whether `block` is signed thinking from the vendor.
fn is_thinking(block: &Block) -> bool {
    let Block::Opaque(opaque) = block else { return false };
    let tagged: Option<TypeTag<'_>> = serde_json::from_str(&opaque.json.0).ok();
    tagged.is_some_and(|tagged| matches!(tagged.kind.as_ref(), "thinking" | "redacted_thinking"))
}

/// Returns the ids of the calls in `entry`, which need results.
fn call_ids(entry: &EntryContent) -> Vec<&str> {
    match entry {
        EntryContent::Assistant(blocks, _) => tool_calls(blocks).map(|call| call.id.as_str()).collect(),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => Vec::new(),
    }
}

fn tool_result<'a>(tool_use_id: &'a str, text: &'a str, outcome: &Outcome) -> Content<'a> {
    let is_error = match outcome {
        Outcome::Done | Outcome::Shown(_) => false,
        Outcome::Failed | Outcome::Denied => true,
    };
    Content::ToolResult { tool_use_id, content: text, is_error, cache_control: None }
}

/// Returns a text block, or none for blank text, which the vendor refuses.
fn text_content(text: Cow<'_, str>) -> Option<Content<'_>> {
    (!text.trim().is_empty()).then_some(Content::Text { text, cache_control: None })
}

/// Returns `json` unchanged if it is an object.
fn object(json: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

fn object_or<'a>(json: &'a str, otherwise: &'a str) -> &'a RawValue {
    object(json).or_else(|| object(otherwise)).unwrap_or(RawValue::NULL)
}

/// Marks the newest message and the user message before it, where the previous request ended. The
/// server then reads the previous request's cache entry, however many blocks were added since.
fn mark_messages(messages: &mut [BuiltMessage<Message<'_>>], cache: CacheControl) {
    let mut markable = messages.iter_mut().rev().filter(|made| made.message.role != Role::System);
    if let Some(last) = markable.next() {
        mark_last(&mut last.message, cache);
    }
    if let Some(before) = markable.find(|made| made.message.role == Role::User) {
        mark_last(&mut before.message, cache);
    }
}

fn mark_last(message: &mut Message<'_>, cache: CacheControl) {
    let markable = |content: &&mut Content<'_>| !matches!(content, Content::Opaque(_));
    if let Some(content) = message.content.iter_mut().rfind(markable) {
        mark(content, cache);
    }
}

fn mark(content: &mut Content<'_>, cache: CacheControl) {
    match content {
        Content::Text { cache_control, .. }
        | Content::Image { cache_control, .. }
        | Content::ToolUse { cache_control, .. }
        | Content::ToolResult { cache_control, .. } => *cache_control = Some(cache),
        Content::Opaque(_) => {}
    }
}
