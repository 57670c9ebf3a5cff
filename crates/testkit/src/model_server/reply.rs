//! Adapts the blocks of a reply to the model and to the `thinking` setting of the request.

use serde_json::Value;

use super::binding::{self, Account};
use super::catalog::ModelSpec;
use super::events::{Title, whole_block};
use super::search;
use crate::play::{Act, Piece};

/// Replaces the pieces of `reply` by those that the request receives, with signed thinking blocks.
///
/// Thinking is omitted where it is turned off, and its text is omitted unless `display` requests
/// it. Notes between tool calls are thinking blocks for models that support it, with their text at
/// `display: "updates"` and `between_tools` (vendor's guide, thinking display and progress
/// updates).
pub fn shape(act: &mut Act, request: &Value, model: &ModelSpec, account: &Account, title: &Title) {
    search::play(act, request, title.serial);
    let mode = Mode::of(request, model);
    act.pieces = std::mem::take(&mut act.pieces).into_iter().filter_map(|piece| mode.piece(piece)).collect();
    let mut blocks: Vec<Value> =
        act.pieces.iter().enumerate().map(|(index, piece)| whole_block(piece, title, index)).collect();
    binding::sign(&mut blocks, request, &title.model, account);
    for (piece, block) in act.pieces.iter_mut().zip(&blocks) {
        if let Piece::Thinking { signature, .. } = piece {
            block["signature"].as_str().unwrap_or_default().clone_into(signature);
        }
    }
}

/// The form in which thinking and notes are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode {
    thinking: Shown,
    note: Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// No block.
    No,
    /// A thinking block without its text.
    Empty,
    /// A thinking block with its text.
    Full,
    /// A text block.
    AsText,
}

impl Mode {
    fn of(request: &Value, model: &ModelSpec) -> Self {
        if model.generic {
            return Self { thinking: Shown::Full, note: Shown::Full };
        }
        let forced = matches!(request["tool_choice"]["type"].as_str(), Some("any" | "tool"));
        let by_default = if model.thinks_by_default { "adaptive" } else { "disabled" };
        let thinking = request["thinking"]["type"].as_str().unwrap_or(by_default);
        if thinking == "between_tools" {
            return Self { thinking: Shown::No, note: Shown::Full };
        }
        if thinking == "disabled" || (forced && !model.thinks_when_forced) {
            return Self { thinking: Shown::No, note: Shown::AsText };
        }
        let by_default = if model.display_omitted { "omitted" } else { "summarized" };
        let display = request["thinking"]["display"].as_str().unwrap_or(by_default);
        let thinking = if display == "summarized" { Shown::Full } else { Shown::Empty };
        let note = match display {
            _ if !model.progress_notes => Shown::AsText,
            "updates" => Shown::Full,
            _ => thinking,
        };
        Self { thinking, note }
    }

    fn piece(self, piece: Piece) -> Option<Piece> {
        match piece {
            Piece::Thinking { thinking, signature } => self.thinking.block(thinking, signature),
            Piece::Note(text) => self.note.block(text, String::new()),
            Piece::Text(_)
            | Piece::Call { .. }
            | Piece::Raw(_)
            | Piece::Search { .. }
            | Piece::Cited { .. } => Some(piece),
        }
    }
}

impl Shown {
    fn block(self, text: String, signature: String) -> Option<Piece> {
        match self {
            Self::No => None,
            Self::Empty => Some(Piece::Thinking { thinking: String::new(), signature }),
            Self::Full => Some(Piece::Thinking { thinking: text, signature }),
            Self::AsText => Some(Piece::Text(text)),
        }
    }
}
