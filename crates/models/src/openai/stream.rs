//! Assembles a chat completion from the chunks of its stream, or from one JSON body.
//!
//! Nothing is returned before the server reports a stop reason or the end, so a truncated call is
//! never mistaken for a complete one.

use std::collections::BTreeSet;

use domain::context::Context;
use domain::conversation::{Block, EntryContent, Json, Opaque, Usage};
use domain::failure::{DeclineReason, Failure};
use domain::turn::{ModelReply, StopReason};

use super::calls::{CallAssembler, FinishedCalls};
use super::protocol::{CallDelta, Choice, Chunk, Delta, DeltaContent, Tokens};
use super::reasoning_fields::PartialReasoning;
use super::refusal;
use super::think_tags::ThinkTagFilter;
use crate::assembly::{Delivery, MAX_TOKENS, ReplyAssembler, StreamUpdate, garbled, parse_event};

/// The event that ends a stream.
const DONE: &str = "[DONE]";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct CompletionAssembler {
    text: String,
    think_filter: ThinkTagFilter,
    calls: CallAssembler,
    stop: Option<StopReason>,
    usage: Usage,
    /// The ids of all earlier calls.
    used_call_ids: BTreeSet<String>,
    reasoning: PartialReasoning,
    /// True if the reply continues after tool results.
    follows_tools: bool,
    /// The origin of its opaque part.
    origin: String,
}

impl CompletionAssembler {
    /// Creates an empty reply to `context` whose opaque part gets `origin`.
    pub fn new(context: &Context, origin: &str) -> Self {
        let follows_tools =
            context.entries.last().is_some_and(|said| matches!(**said, EntryContent::Tools(_)));
        Self { used_call_ids: call_ids(context), follows_tools, origin: origin.to_owned(), ..Self::default() }
    }

    /// Parses a reply that is one JSON body, and returns its text.
    pub fn add_body(&mut self, body: &str) -> Result<String, Failure> {
        let text = match self.add_event(body)? {
            StreamUpdate::Text(text) => text,
            StreamUpdate::NoText
            | StreamUpdate::KeepAlive
            | StreamUpdate::Progress(_)
            | StreamUpdate::Ended => String::new(),
        };
        let has_content = self.stop.is_some() || !text.is_empty() || !self.calls.is_empty();
        if !has_content {
            return Err(garbled("it is not an answer to a conversation"));
        }
        Ok(text)
    }

    fn add_choice(&mut self, choice: Choice<'_>) -> Result<StreamUpdate, Failure> {
        let update = match choice.delta.or(choice.message) {
            Some(delta) => self.add_delta(delta)?,
            None => StreamUpdate::NoText,
        };
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => return Err(Failure::VendorError("it stopped with an error".to_owned())),
            // A model that refused in its text still reports a normal stop.
            Some(_) if matches!(self.stop, Some(StopReason::Refusal(_))) => {}
            Some(reason) => self.stop = Some(parse_stop_reason(reason)),
        }
        Ok(update)
    }

    fn add_delta(&mut self, delta: Delta<'_>) -> Result<StreamUpdate, Failure> {
        self.reasoning.add_delta(&delta);
        let legacy = delta.function_call.map(|function| CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
            extra_content: serde_json::Value::Null,
        });
        for call in delta.tool_calls.unwrap_or_default().into_iter().chain(legacy) {
            self.calls.add(call)?;
        }
        let content = match delta.content {
            None => String::new(),
            Some(DeltaContent::Text(text)) => text,
            Some(DeltaContent::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
        };
        let mut text = self.think_filter.push(content);
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.stop = Some(StopReason::Refusal(DeclineReason::Unstated));
            text.push_str(&refusal);
        }
        self.text.push_str(&text);
        Ok(if text.is_empty() { StreamUpdate::NoText } else { StreamUpdate::Text(text) })
    }

    fn set_usage(&mut self, tokens: Tokens) {
        let clamped = |count: Option<u64>| count.unwrap_or_default().min(MAX_TOKENS);
        let cached = clamped(tokens.prompt_tokens_details.unwrap_or_default().cached_tokens);
        self.usage = Usage {
            input: clamped(tokens.prompt_tokens).saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            cache_write_1h: 0,
            output: clamped(tokens.completion_tokens),
        };
    }
}

impl ReplyAssembler for CompletionAssembler {
    fn add_event(&mut self, data: &str) -> Result<StreamUpdate, Failure> {
        if data.trim() == DONE {
            return Ok(StreamUpdate::Ended);
        }
        let chunk: Chunk<'_> = parse_event(data)?;
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            return Err(refusal::from_event(error.get()));
        }
        if chunk.object.as_deref() == Some("error") {
            return Err(refusal::from_event(data));
        }
        let counts = chunk.usage.is_some();
        if let Some(tokens) = chunk.usage {
            self.set_usage(tokens);
        }
        match chunk.choices.unwrap_or_default().into_iter().next() {
            Some(choice) if choice.is_empty() && !counts => Ok(StreamUpdate::KeepAlive),
            Some(choice) => self.add_choice(choice),
            None if counts => Ok(StreamUpdate::NoText),
            None => Ok(StreamUpdate::KeepAlive),
        }
    }

    fn delivery(&self) -> Delivery {
        if self.text.is_empty() { Delivery::Nothing } else { Delivery::Text }
    }

    /// Some servers close the connection instead of sending an end event.
    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn byte_count(&self) -> usize {
        self.text.len() + self.calls.byte_count() + self.reasoning.byte_count()
    }

    fn finish(self) -> Result<ModelReply, Failure> {
        // A reply may end without a stop reason.
        let natural = if self.calls.is_empty() { StopReason::Finished } else { StopReason::Tools };
        let stop = self.stop.unwrap_or(natural);
        let FinishedCalls { calls, extras, failure: broken } = self.calls.finish(self.used_call_ids);
        match (broken, stop) {
            // The length limit truncates the input of a call; that is not a protocol error.
            (Some(_), StopReason::Length) | (None, _) => {}
            (Some(failure), StopReason::Finished | StopReason::Tools | StopReason::Refusal(_)) => {
                return Err(failure);
            }
        }
        let text = self.text + &self.think_filter.finish();
        let text = (!text.is_empty()).then_some(Block::Text(text));
        let opaque = self.reasoning.into_json(self.follows_tools || !calls.is_empty(), extras);
        let opaque = opaque.map(|json| Block::Opaque(Opaque { origin: self.origin, json: Json(json) }));
        let blocks = opaque.into_iter().chain(text).chain(calls.into_iter().map(Block::Call)).collect();
        Ok(ModelReply { blocks, stop_reason: stop, usage: self.usage })
    }
}

/// Returns the ids of all calls in `context`.
pub fn call_ids(context: &Context) -> BTreeSet<String> {
    context.entries.iter().flat_map(|said| call_ids_of(said)).collect()
}

fn call_ids_of(entry: &EntryContent) -> Vec<String> {
    let EntryContent::Assistant(blocks, _) = entry else { return Vec::new() };
    let names = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.id.clone()),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    names.collect()
}

fn parse_stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_calls" | "function_call" | "tool_use" => StopReason::Tools,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" | "refusal" => StopReason::Refusal(DeclineReason::Unstated),
        _ => StopReason::Finished,
    }
}
