//! Assembles one reply from the program's messages.

use std::collections::BTreeSet;

use domain::conversation::{Block, Usage};
use domain::failure::Declined;
use domain::tool::ToolCall;
use domain::turn::{Reply, Stop};

use super::tools::PREFIX;
use super::wire::{Content, Delta, Event, Message};

/// The model name of messages that the program generated itself, for example about a failure.
const SYNTHETIC: &str = "<synthetic>";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct Assembly {
    blocks: Vec<Block>,
    usage: Usage,
    model: String,
    /// The ids of the calls of our tools, in the order in which the model wrote them.
    wanted: Vec<String>,
    streaming: bool,
    heard: Heard,
}

/// The state of the streamed text.
#[derive(Debug, Default, PartialEq, Eq)]
enum Heard {
    #[default]
    Nothing,
    /// A block is being streamed.
    Words,
    /// A block has ended.
    Pause,
}

impl Assembly {
    /// Adds a stream event. Returns the text to stream, if there is any.
    pub fn told(&mut self, event: Event) -> Option<String> {
        match event {
            Event::MessageStart { message } => {
                self.streaming = true;
                self.usage += message.usage.read();
                self.model = message.model;
                None
            }
            Event::ContentBlockStart => {
                self.pause();
                None
            }
            Event::ContentBlockDelta { delta: Delta::TextDelta { text } } => Some(self.words(text)),
            Event::MessageDelta { usage } => {
                self.usage.output += usage.output_tokens;
                None
            }
            Event::MessageStop => {
                self.streaming = false;
                None
            }
            Event::ContentBlockDelta { delta: Delta::Other } | Event::Other => None,
        }
    }

    /// Adds a finished block. Returns its text if it was not streamed before.
    pub fn spoke(&mut self, message: Message) -> Option<String> {
        if message.model == SYNTHETIC {
            return None;
        }
        let mut words = None;
        for content in message.content {
            match content {
                Content::Text { text } if text.trim().is_empty() => {}
                Content::Text { text } => {
                    if !self.streaming {
                        self.pause();
                        words = Some(self.words(text.clone()));
                    }
                    self.blocks.push(Block::Text(text));
                }
                Content::ToolUse { id, name } if name.starts_with(PREFIX) => self.wanted.push(id),
                Content::ToolUse { .. } | Content::Other => {}
            }
        }
        words
    }

    /// Returns whether a message is still being streamed.
    pub fn is_streaming(&self) -> bool {
        self.streaming
    }

    /// Returns whether all calls that the model wrote are among `calls`.
    pub fn has_all(&self, calls: &[&str]) -> bool {
        let calls: BTreeSet<&str> = calls.iter().copied().collect();
        self.wanted.iter().all(|id| calls.contains(id.as_str()))
    }

    /// Returns the usage so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the vendor's id of the model that answers.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns whether any text was streamed.
    pub fn was_heard(&self) -> bool {
        self.heard != Heard::Nothing
    }

    /// Returns whether there is neither text nor a call.
    pub fn is_silent(&self) -> bool {
        self.blocks.is_empty() && self.wanted.is_empty()
    }

    /// ST-7: uses `result` as the text if there is no other output, so that the text never appears
    /// twice.
    pub fn fall_back_on(&mut self, result: &str) -> Option<String> {
        if !self.is_silent() || self.was_heard() || result.trim().is_empty() {
            return None;
        }
        self.blocks.push(Block::Text(result.to_owned()));
        Some(self.words(result.to_owned()))
    }

    /// Returns the reply that ends with `calls`, in the order in which the model wrote them.
    pub fn calling(&mut self, mut calls: Vec<ToolCall>) -> Reply {
        let place = |call: &ToolCall| self.wanted.iter().position(|id| *id == call.id);
        calls.sort_by_key(|call| place(call).unwrap_or(usize::MAX));
        self.wanted.retain(|id| calls.iter().all(|call| call.id != *id));
        self.blocks.extend(calls.into_iter().map(Block::Call));
        self.take(Stop::Tools)
    }

    /// Returns the reply that ends the turn.
    pub fn finish(&mut self, stop_reason: Option<&str>) -> Reply {
        let stop = match stop_reason {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Refusal(Declined::Unstated),
            Some(_) | None => Stop::Said,
        };
        self.take(stop)
    }

    fn take(&mut self, stop: Stop) -> Reply {
        Reply { blocks: std::mem::take(&mut self.blocks), stop, usage: std::mem::take(&mut self.usage) }
    }

    fn pause(&mut self) {
        if self.heard == Heard::Words {
            self.heard = Heard::Pause;
        }
    }

    fn words(&mut self, text: String) -> String {
        match std::mem::replace(&mut self.heard, Heard::Words) {
            Heard::Pause => format!("\n\n{text}"),
            Heard::Nothing | Heard::Words => text,
        }
    }
}
