//! Converts outcomes of a scripted model into replies of a scripted server.

use domain::conversation::Block;
use domain::failure::Failure;
use domain::turn::{ModelReply, StopReason};

use crate::scripted_model::ModelOutcome;
use crate::scripted_replies::{Gate, ReplyFault, ReplyPiece, ScriptedReply, split_into_deltas};

/// The API and client that read the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientProtocol {
    /// Our client of the Messages API.
    Messages,
    /// Our client of chat completions.
    Chat,
    /// The Claude Code program, which uses the Messages API and prefixes our tool names.
    Program,
}

impl ClientProtocol {
    /// Returns the reply for `outcome`. A connection that breaks after some text waits at `gate`
    /// first.
    pub fn to_reply(self, outcome: &ModelOutcome, gate: &Gate) -> ScriptedReply {
        match outcome {
            ModelOutcome::Reply(reply) => self.map_reply(reply),
            ModelOutcome::Hang(text) => {
                ScriptedReply::text(text).with_fault(ReplyFault::Stall(self.event_after(text)))
            }
            ModelOutcome::Fail(text, Failure::CutOff(_)) if text.is_empty() => {
                ScriptedReply::empty().with_fault(ReplyFault::Cut(0))
            }
            ModelOutcome::Fail(text, Failure::CutOff(_)) => {
                let end = self.event_after(text);
                ScriptedReply::text(text).waiting_at_event(end, gate).with_fault(ReplyFault::Cut(end))
            }
            ModelOutcome::Fail(_, Failure::Overloaded(Some(seconds))) => {
                ScriptedReply::rate_limited(*seconds)
            }
            ModelOutcome::Fail(_, Failure::Overloaded(None)) => ScriptedReply::overloaded(),
            ModelOutcome::Fail(_, Failure::VendorError(_)) => ScriptedReply::server_error(),
            ModelOutcome::Fail(_, Failure::ContextFull(_)) => {
                let message = "prompt is too long: 213000 tokens > 200000 maximum";
                ScriptedReply::refusal(400, self.too_long_error_kind(), message)
            }
            ModelOutcome::Fail(_, failure) => panic!("no server was taught to fail like this: {failure:?}"),
            ModelOutcome::Panic(_) => panic!("no server can make an engine panic"),
        }
    }

    fn map_reply(self, reply: &ModelReply) -> ScriptedReply {
        let pieces = reply.blocks.iter().map(|block| match block {
            Block::Text(text) => ReplyPiece::Text(text.clone()),
            Block::Call(call) => ReplyPiece::Call {
                name: format!("{}{}", self.tool_prefix(), call.name),
                input: call.input.0.clone(),
            },
            Block::Opaque(_) => panic!("a script has nothing that only a vendor reads"),
        });
        let act = pieces.fold(ScriptedReply::empty(), ScriptedReply::with_piece).with_usage(reply.usage);
        match (reply.stop_reason, self) {
            (StopReason::Finished | StopReason::Tools, _) => act,
            (StopReason::Length, Self::Messages | Self::Program) => act.with_stop_reason("max_tokens"),
            (StopReason::Length, Self::Chat) => act.with_stop_reason("length"),
            (StopReason::Refusal(_), Self::Messages | Self::Program) => act.with_stop_reason("refusal"),
            (StopReason::Refusal(_), Self::Chat) => act.with_stop_reason("content_filter"),
        }
    }

    /// Returns the error type for a prompt that exceeds the context window.
    fn too_long_error_kind(self) -> &'static str {
        match self {
            Self::Messages | Self::Program => "invalid_request_error",
            Self::Chat => "exceed_context_size_error",
        }
    }

    /// Returns the prefix of tool names.
    fn tool_prefix(self) -> &'static str {
        match self {
            Self::Messages | Self::Chat => "",
            Self::Program => "mcp__ollim__",
        }
    }

    /// Returns the index of the first event after `text`.
    fn event_after(self, text: &str) -> usize {
        // The Messages API sends message_start, content_block_start and a ping first; chat
        // completions one chunk with the role.
        let before = match self {
            Self::Messages | Self::Program => 3,
            Self::Chat => 1,
        };
        before + split_into_deltas(text).len()
    }
}
