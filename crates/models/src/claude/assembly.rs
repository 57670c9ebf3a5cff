//! Assembles one reply from the program's messages.

use std::collections::BTreeSet;

use domain::conversation::{Block, Usage};
use domain::failure::DeclineReason;
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason};

use super::protocol::{Content, Delta, Message, StreamEvent};
use super::tool_server::TOOL_PREFIX;

/// The model name of messages that the program generated itself, for example about a failure.
const SYNTHETIC: &str = "<synthetic>";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct TurnAssembler {
    blocks: Vec<Block>,
    usage: Usage,
    model: String,
    /// The ids of the calls of our tools, in the order in which the model wrote them.
    call_ids: Vec<String>,
    streaming: bool,
    text_state: TextState,
}

/// The state of the streamed text.
#[derive(Debug, Default, PartialEq, Eq)]
enum TextState {
    #[default]
    Nothing,
    /// A block is being streamed.
    BlockOpen,
    /// A block has ended.
    BlockEnded,
}

impl TurnAssembler {
    /// Adds a stream event. Returns the text to stream, if there is any.
    pub fn add_event(&mut self, event: StreamEvent) -> Option<String> {
        match event {
            StreamEvent::MessageStart { message } => {
                self.streaming = true;
                self.usage += message.usage.input_usage();
                self.model = message.model;
                None
            }
            StreamEvent::ContentBlockStart => {
                self.end_block();
                None
            }
            StreamEvent::ContentBlockDelta { delta: Delta::TextDelta { text } } => {
                Some(self.append_text(text))
            }
            StreamEvent::MessageDelta { usage } => {
                self.usage.output += usage.output_tokens;
                None
            }
            StreamEvent::MessageStop => {
                self.streaming = false;
                None
            }
            StreamEvent::ContentBlockDelta { delta: Delta::Other } | StreamEvent::Other => None,
        }
    }

    /// Adds a finished block. Returns its text if it was not streamed before.
    pub fn add_message(&mut self, message: Message) -> Option<String> {
        if message.model == SYNTHETIC {
            return None;
        }
        let mut words = None;
        for content in message.content {
            match content {
                Content::Text { text } if text.trim().is_empty() => {}
                Content::Text { text } => {
                    if !self.streaming {
                        self.end_block();
                        words = Some(self.append_text(text.clone()));
                    }
                    self.blocks.push(Block::Text(text));
                }
                Content::ToolUse { id, name } if name.starts_with(TOOL_PREFIX) => self.call_ids.push(id),
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
    pub fn contains_all_calls(&self, calls: &[&str]) -> bool {
        let calls: BTreeSet<&str> = calls.iter().copied().collect();
        self.call_ids.iter().all(|id| calls.contains(id.as_str()))
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
    pub fn has_streamed(&self) -> bool {
        self.text_state != TextState::Nothing
    }

    /// Returns whether there is neither text nor a call.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.call_ids.is_empty()
    }

    /// ST-7: uses `result` as the text if there is no other output, so that the text never appears
    /// twice.
    pub fn use_result_text(&mut self, result: &str) -> Option<String> {
        if !self.is_empty() || self.has_streamed() || result.trim().is_empty() {
            return None;
        }
        self.blocks.push(Block::Text(result.to_owned()));
        Some(self.append_text(result.to_owned()))
    }

    /// Returns the reply that ends with `calls`, in the order in which the model wrote them.
    pub fn finish_with_calls(&mut self, mut calls: Vec<ToolCall>) -> ModelReply {
        let place = |call: &ToolCall| self.call_ids.iter().position(|id| *id == call.id);
        calls.sort_by_key(|call| place(call).unwrap_or(usize::MAX));
        self.call_ids.retain(|id| calls.iter().all(|call| call.id != *id));
        self.blocks.extend(calls.into_iter().map(Block::Call));
        self.take(StopReason::Tools)
    }

    /// Returns the reply that ends the turn.
    pub fn finish(&mut self, stop_reason: Option<&str>) -> ModelReply {
        let stop = match stop_reason {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refusal(DeclineReason::Unstated),
            Some(_) | None => StopReason::Finished,
        };
        self.take(stop)
    }

    fn take(&mut self, stop: StopReason) -> ModelReply {
        ModelReply {
            blocks: std::mem::take(&mut self.blocks),
            stop_reason: stop,
            usage: std::mem::take(&mut self.usage),
        }
    }

    fn end_block(&mut self) {
        if self.text_state == TextState::BlockOpen {
            self.text_state = TextState::BlockEnded;
        }
    }

    fn append_text(&mut self, text: String) -> String {
        match std::mem::replace(&mut self.text_state, TextState::BlockOpen) {
            TextState::BlockEnded => format!("\n\n{text}"),
            TextState::Nothing | TextState::BlockOpen => text,
        }
    }
}
