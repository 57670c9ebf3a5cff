//! Converts outcomes of a scripted model into replies of a scripted server.

use domain::conversation::Block;
use domain::failure::Failure;
use domain::turn::{Reply, Stop};

use crate::play::{Act, Fault, Gate, Piece, split};
use crate::puppet::Line;

/// The API and client that read the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Our client of the Messages API.
    Messages,
    /// Our client of chat completions.
    Chat,
    /// The Claude Code program, which uses the Messages API and prefixes our tool names.
    Program,
}

impl Wire {
    /// Returns the reply for `outcome`. A connection that breaks after some text waits at `gate`
    /// first.
    pub fn act(self, line: &Line, gate: &Gate) -> Act {
        match line {
            Line::Reply(reply) => self.reply(reply),
            Line::Holds(words) => Act::says(words).with(Fault::Stall(self.after(words))),
            Line::Fails(words, Failure::CutOff(_)) if words.is_empty() => Act::empty().with(Fault::Cut(0)),
            Line::Fails(words, Failure::CutOff(_)) => {
                let end = self.after(words);
                Act::says(words).held_at(end, gate).with(Fault::Cut(end))
            }
            Line::Fails(_, Failure::Busy(Some(seconds))) => Act::rate_limited(*seconds),
            Line::Fails(_, Failure::Busy(None)) => Act::overloaded(),
            Line::Fails(_, Failure::Broken(_)) => Act::broken(),
            Line::Fails(_, Failure::Full(_)) => {
                let why = "prompt is too long: 213000 tokens > 200000 maximum";
                Act::refuses(400, self.too_long(), why)
            }
            Line::Fails(_, failure) => panic!("no server was taught to fail like this: {failure:?}"),
            Line::Panics(_) => panic!("no server can make an engine panic"),
        }
    }

    fn reply(self, reply: &Reply) -> Act {
        let pieces = reply.blocks.iter().map(|block| match block {
            Block::Text(text) => Piece::Text(text.clone()),
            Block::Call(call) => {
                Piece::Call { name: format!("{}{}", self.prefix(), call.name), input: call.input.0.clone() }
            }
            Block::Opaque(_) => panic!("a script has nothing that only a vendor reads"),
        });
        let act = pieces.fold(Act::empty(), Act::and).charging(reply.usage);
        match (reply.stop, self) {
            (Stop::Said | Stop::Tools, _) => act,
            (Stop::Length, Self::Messages | Self::Program) => act.stopping("max_tokens"),
            (Stop::Length, Self::Chat) => act.stopping("length"),
            (Stop::Refusal(_), Self::Messages | Self::Program) => act.stopping("refusal"),
            (Stop::Refusal(_), Self::Chat) => act.stopping("content_filter"),
        }
    }

    /// Returns the error type for a prompt that exceeds the context window.
    fn too_long(self) -> &'static str {
        match self {
            Self::Messages | Self::Program => "invalid_request_error",
            Self::Chat => "exceed_context_size_error",
        }
    }

    /// Returns the prefix of tool names.
    fn prefix(self) -> &'static str {
        match self {
            Self::Messages | Self::Chat => "",
            Self::Program => "mcp__ollim__",
        }
    }

    /// Returns the index of the first event after `text`.
    fn after(self, words: &str) -> usize {
        // The Messages API sends message_start, content_block_start and a ping first; chat
        // completions one chunk with the role.
        let before = match self {
            Self::Messages | Self::Program => 3,
            Self::Chat => 1,
        };
        before + split(words).len()
    }
}
