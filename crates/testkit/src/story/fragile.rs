//! Hands that break when they are told to: the real tools, a panic for a call that asks for one, and tools that are
//! lent for one story and only say that they did their work.

use std::sync::Arc;

use domain::permission::deed;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::TurnId;
use engine::desk::Desk;
use engine::ports::Hands;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use tools::Toolbox;

/// The words in an input at which the hands break.
pub const BREAK: &str = "(break your hands)";

/// The real tools, which can break, and those that were lent.
pub struct Fragile {
    toolbox: Toolbox,
    lent: Vec<ToolSpec>,
}

impl Fragile {
    /// The real tools and `lent`.
    pub fn with(lent: &[ToolSpec]) -> Self {
        Self { toolbox: Toolbox::default(), lent: lent.to_vec() }
    }
}

impl Hands for Fragile {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.toolbox.tools().iter().chain(&self.lent).cloned().collect()
    }

    fn run<'a>(&'a self, turn: TurnId, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult> {
        assert!(!call.input.0.contains(BREAK), "these hands were told to break");
        match self.lent.iter().find(|lent| lent.name == call.name) {
            Some(lent) => {
                let label = deed(call, lent.class).reads;
                let (call, text) = (call.id.clone(), format!("did {}", call.input.0));
                ready(ToolResult { call, text, outcome: Outcome::Done, label }).boxed()
            }
            None => self.toolbox.run(turn, call, desk),
        }
    }
}
