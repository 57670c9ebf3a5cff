//! The real tools with additions for tests: a panic on request, and extra tools that only report
//! success.

use std::sync::Arc;
use std::time::Duration;

use domain::context::skills::{Loaded, NamedSkills, section};
use domain::label::{Label, Realm};
use domain::permission::deed;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::TurnId;
use engine::desk::Desk;
use engine::ports::Hands;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tools::Toolbox;

/// A marker in an input that makes the tool runner panic.
pub const BREAK: &str = "(break your hands)";

/// The name of an extra tool that takes 100 seconds.
pub const SLOW: &str = "slow";

/// The real tools and the extra tools.
pub struct Fragile {
    toolbox: Toolbox,
    lent: Vec<ToolSpec>,
}

impl Fragile {
    /// Creates the tools with `extra_tools` as extra tools.
    pub fn with(lent: &[ToolSpec]) -> Self {
        Self { toolbox: Toolbox::default(), lent: lent.to_vec() }
    }
}

impl Hands for Fragile {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.toolbox.tools().iter().chain(&self.lent).cloned().collect()
    }

    /// Fake skills whose text contains their names: `tasks` grants a tool, `letters` is labelled as
    /// text from outside, `slow` takes 20 seconds, and `missing` does not exist.
    fn skills<'a>(&'a self, wanted: &'a NamedSkills) -> BoxFuture<'a, Loaded> {
        let has = |name: &str| wanted.names.iter().any(|named| named == name);
        let known = wanted.names.iter().filter(|name| name.as_str() != "missing");
        let told: Vec<(String, String)> = known.map(|name| (name.clone(), format!("Mind {name}."))).collect();
        let tools = if has("tasks") { vec!["Bash(ollim-bot tasks *)".to_owned()] } else { Vec::new() };
        let label = if has("letters") { Label::both(Realm::Mail) } else { Label::PLAIN };
        let takes = if has("slow") { 20 } else { 0 };
        let loaded = Loaded { section: section(&told), tools, label };
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(takes)).await;
            loaded
        })
    }

    fn run<'a>(&'a self, turn: TurnId, call: &'a ToolCall, desk: &'a Desk) -> BoxFuture<'a, ToolResult> {
        assert!(!call.input.0.contains(BREAK), "these hands were told to break");
        match self.lent.iter().find(|lent| lent.name == call.name) {
            Some(lent) => {
                let label = deed(call, lent.class).reads;
                let (call, text) = (call.id.clone(), told(&call.input.0));
                let takes = Duration::from_secs(if lent.name == SLOW { 100 } else { 0 });
                let result = ToolResult { call, text, outcome: Outcome::Done, label };
                tokio::time::sleep(takes).map(|()| result).boxed()
            }
            None => self.toolbox.run(turn, call, desk),
        }
    }
}

/// Returns the result of an extra tool; JSON if the input contains `--json`.
fn told(input: &str) -> String {
    if input.contains("--json") {
        "{\"task\":{\"id\":\"7\",\"title\":\"buy milk\"}}".to_owned()
    } else {
        format!("did {input}")
    }
}
