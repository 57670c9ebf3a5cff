//! Adapts the blocks of a reply to the model and to the `thinking` setting of the request.

use serde_json::Value;

use super::binding::{self, Account};
use super::catalog::ModelSpec;
use super::events::{MessageMeta, block_at};
use super::search;
use crate::scripted_replies::{ReplyPiece, ScriptedReply};

/// Replaces the pieces of `reply` by those that the request receives, with signed thinking blocks.
///
/// Thinking is omitted where it is turned off, and its text is omitted unless `display` requests
/// it. Notes between tool calls are thinking blocks for models that support it, with their text at
/// `display: "updates"` and `between_tools` (vendor's guide, thinking display and progress
/// updates).
pub fn shape_reply(
    reply: &mut ScriptedReply,
    request: &Value,
    model: &ModelSpec,
    account: &Account,
    meta: &MessageMeta,
) {
    search::expand_searches(reply, request, meta.serial);
    let mode = DisplayMode::for_request(request, model);
    reply.pieces =
        std::mem::take(&mut reply.pieces).into_iter().filter_map(|piece| mode.apply(piece)).collect();
    let mut blocks: Vec<Value> =
        reply.pieces.iter().enumerate().map(|(index, piece)| block_at(piece, meta, index)).collect();
    binding::sign(&mut blocks, request, &meta.model, account);
    for (piece, block) in reply.pieces.iter_mut().zip(&blocks) {
        if let ReplyPiece::Thinking { signature, .. } = piece {
            block["signature"].as_str().unwrap_or_default().clone_into(signature);
        }
    }
}

/// The form in which thinking and notes are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DisplayMode {
    thinking: BlockDisplay,
    note: BlockDisplay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockDisplay {
    /// No block.
    Omitted,
    /// A thinking block without its text.
    Empty,
    /// A thinking block with its text.
    Full,
    /// A text block.
    AsText,
}

impl DisplayMode {
    fn for_request(request: &Value, model: &ModelSpec) -> Self {
        if model.generic {
            return Self { thinking: BlockDisplay::Full, note: BlockDisplay::Full };
        }
        let forced = matches!(request["tool_choice"]["type"].as_str(), Some("any" | "tool"));
        let by_default = if model.thinks_by_default { "adaptive" } else { "disabled" };
        let thinking = request["thinking"]["type"].as_str().unwrap_or(by_default);
        if thinking == "between_tools" {
            return Self { thinking: BlockDisplay::Omitted, note: BlockDisplay::Full };
        }
        if thinking == "disabled" || (forced && !model.thinks_when_forced) {
            return Self { thinking: BlockDisplay::Omitted, note: BlockDisplay::AsText };
        }
        let by_default = if model.display_omitted { "omitted" } else { "summarized" };
        let display = request["thinking"]["display"].as_str().unwrap_or(by_default);
        let thinking = if display == "summarized" { BlockDisplay::Full } else { BlockDisplay::Empty };
        let note = match display {
            _ if !model.progress_notes => BlockDisplay::AsText,
            "updates" => BlockDisplay::Full,
            _ => thinking,
        };
        Self { thinking, note }
    }

    fn apply(self, piece: ReplyPiece) -> Option<ReplyPiece> {
        match piece {
            ReplyPiece::Thinking { thinking, signature } => self.thinking.to_piece(thinking, signature),
            ReplyPiece::Note(text) => self.note.to_piece(text, String::new()),
            ReplyPiece::Text(_)
            | ReplyPiece::Call { .. }
            | ReplyPiece::Raw(_)
            | ReplyPiece::Search { .. }
            | ReplyPiece::Citation { .. } => Some(piece),
        }
    }
}

impl BlockDisplay {
    fn to_piece(self, text: String, signature: String) -> Option<ReplyPiece> {
        match self {
            Self::Omitted => None,
            Self::Empty => Some(ReplyPiece::Thinking { thinking: String::new(), signature }),
            Self::Full => Some(ReplyPiece::Thinking { thinking: text, signature }),
            Self::AsText => Some(ReplyPiece::Text(text)),
        }
    }
}
