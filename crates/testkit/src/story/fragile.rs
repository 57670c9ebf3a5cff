//! Hands that break when they are told to: the real tools, and a panic for a call that asks for one.

use std::sync::Arc;

use domain::tool::{ToolCall, ToolResult, ToolSpec};
use domain::turn::TurnId;
use engine::desk::Desk;
use engine::ports::Hands;
use futures_util::future::BoxFuture;
use tools::Toolbox;

/// The words in an input at which the hands break.
pub const BREAK: &str = "(break your hands)";

/// The real tools, which can break.
pub struct Fragile(pub Toolbox);

impl Hands for Fragile {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.0.tools()
    }

    fn run<'a>(&'a self, turn: TurnId, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult> {
        assert!(!call.input.0.contains(BREAK), "these hands were told to break");
        self.0.run(turn, call, desk)
    }
}
