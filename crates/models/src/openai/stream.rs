//! Assembles a chat completion from the chunks of its stream, or from one JSON body.
//!
//! Nothing is returned before the server reports a stop reason or the end, so a truncated call is
//! never mistaken for a complete one.

use std::collections::BTreeSet;

use domain::context::Context;
use domain::conversation::{Block, Json, Opaque, Said, Usage};
use domain::failure::{Declined, Failure};
use domain::turn::{Reply, Stop};

use super::calls::{Calls, Finished};
use super::dialect::Reasoning;
use super::refusal;
use super::thoughts::Thoughts;
use super::wire::{CallDelta, Choice, Chunk, Delta, Tokens, Words};
use crate::assembly::{Assembly, Heard, MOST_TOKENS, News, garbled, read};

/// The event that ends a stream.
const DONE: &str = "[DONE]";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct Completion {
    text: String,
    thoughts: Thoughts,
    calls: Calls,
    stop: Option<Stop>,
    usage: Usage,
    /// The ids of all earlier calls.
    taken: BTreeSet<String>,
    reasoning: Reasoning,
    /// True if the reply continues after tool results.
    follows_tools: bool,
    /// The origin of its opaque part.
    origin: String,
}

impl Completion {
    /// Creates an empty reply to `context` whose opaque part gets `origin`.
    pub fn new(context: &Context, origin: &str) -> Self {
        let follows_tools = context.said.last().is_some_and(|said| matches!(**said, Said::Tools(_)));
        Self { taken: call_ids(context), follows_tools, origin: origin.to_owned(), ..Self::default() }
    }

    /// Parses a reply that is one JSON body, and returns its text.
    pub fn take_whole(&mut self, body: &str) -> Result<String, Failure> {
        let words = match self.take(body)? {
            News::Words(words) => words,
            News::Quiet | News::KeepAlive | News::Progress(_) | News::Ended => String::new(),
        };
        let said_something = self.stop.is_some() || !words.is_empty() || !self.calls.is_empty();
        if !said_something {
            return Err(garbled("it is not an answer to a conversation"));
        }
        Ok(words)
    }

    fn choose(&mut self, choice: Choice<'_>) -> Result<News, Failure> {
        let news = match choice.delta.or(choice.message) {
            Some(delta) => self.grow(delta)?,
            None => News::Quiet,
        };
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => return Err(Failure::Broken("it stopped with an error".to_owned())),
            // A model that refused in its text still reports a normal stop.
            Some(_) if matches!(self.stop, Some(Stop::Refusal(_))) => {}
            Some(reason) => self.stop = Some(stop(reason)),
        }
        Ok(news)
    }

    fn grow(&mut self, delta: Delta<'_>) -> Result<News, Failure> {
        self.reasoning.take(&delta);
        let legacy = delta.function_call.map(|function| CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
            extra_content: serde_json::Value::Null,
        });
        for call in delta.tool_calls.unwrap_or_default().into_iter().chain(legacy) {
            self.calls.take(call)?;
        }
        let content = match delta.content {
            None => String::new(),
            Some(Words::Text(text)) => text,
            Some(Words::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
        };
        let mut words = self.thoughts.words(content);
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.stop = Some(Stop::Refusal(Declined::Unstated));
            words.push_str(&refusal);
        }
        self.text.push_str(&words);
        Ok(if words.is_empty() { News::Quiet } else { News::Words(words) })
    }

    fn count(&mut self, tokens: Tokens) {
        let believed = |count: Option<u64>| count.unwrap_or_default().min(MOST_TOKENS);
        let cached = believed(tokens.prompt_tokens_details.unwrap_or_default().cached_tokens);
        self.usage = Usage {
            input: believed(tokens.prompt_tokens).saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            cache_write_1h: 0,
            output: believed(tokens.completion_tokens),
        };
    }
}

impl Assembly for Completion {
    fn take(&mut self, data: &str) -> Result<News, Failure> {
        if data.trim() == DONE {
            return Ok(News::Ended);
        }
        let chunk: Chunk<'_> = read(data)?;
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            return Err(refusal::from_event(error.get()));
        }
        if chunk.object.as_deref() == Some("error") {
            return Err(refusal::from_event(data));
        }
        let counts = chunk.usage.is_some();
        if let Some(tokens) = chunk.usage {
            self.count(tokens);
        }
        match chunk.choices.unwrap_or_default().into_iter().next() {
            Some(choice) if choice.is_empty() && !counts => Ok(News::KeepAlive),
            Some(choice) => self.choose(choice),
            None if counts => Ok(News::Quiet),
            None => Ok(News::KeepAlive),
        }
    }

    fn heard(&self) -> Heard {
        if self.text.is_empty() { Heard::Nothing } else { Heard::Words }
    }

    /// Some servers close the connection instead of sending an end event.
    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    fn used(&self) -> Usage {
        self.usage
    }

    fn held(&self) -> usize {
        self.text.len() + self.calls.held() + self.reasoning.held()
    }

    fn finish(self) -> Result<Reply, Failure> {
        // A reply may end without a stop reason.
        let natural = if self.calls.is_empty() { Stop::Said } else { Stop::Tools };
        let stop = self.stop.unwrap_or(natural);
        let Finished { calls, extras, broken } = self.calls.finish(self.taken);
        match (broken, stop) {
            // The length limit truncates the input of a call; that is not a protocol error.
            (Some(_), Stop::Length) | (None, _) => {}
            (Some(failure), Stop::Said | Stop::Tools | Stop::Refusal(_)) => return Err(failure),
        }
        let text = self.text + &self.thoughts.rest();
        let text = (!text.is_empty()).then_some(Block::Text(text));
        let opaque = self.reasoning.json(self.follows_tools || !calls.is_empty(), extras);
        let opaque = opaque.map(|json| Block::Opaque(Opaque { origin: self.origin, json: Json(json) }));
        let blocks = opaque.into_iter().chain(text).chain(calls.into_iter().map(Block::Call)).collect();
        Ok(Reply { blocks, stop, usage: self.usage })
    }
}

/// Returns the ids of all calls in `context`.
pub fn call_ids(context: &Context) -> BTreeSet<String> {
    context.said.iter().flat_map(|said| names(said)).collect()
}

fn names(said: &Said) -> Vec<String> {
    let Said::Assistant(blocks, _) = said else { return Vec::new() };
    let names = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.id.clone()),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    names.collect()
}

fn stop(reason: &str) -> Stop {
    match reason {
        "tool_calls" | "function_call" | "tool_use" => Stop::Tools,
        "length" | "max_tokens" | "model_length" => Stop::Length,
        "content_filter" | "refusal" => Stop::Refusal(Declined::Unstated),
        _ => Stop::Said,
    }
}
