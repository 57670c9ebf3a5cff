//! The real tools with additions for tests: a panic on request, and extra tools that only report
//! success.

use std::sync::Arc;
use std::time::Duration;

use domain::context::skills::{LoadedSkills, NamedSkills, section};
use domain::label::{Label, Realm};
use domain::permission::tool_action;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::TurnId;
use engine::handle::AssistantHandle;
use engine::ports::ToolRunner;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tools::Toolbox;

/// A marker in an input that makes the tool runner panic.
pub const PANIC_MARKER: &str = "(break your hands)";

/// The name of an extra tool that takes 100 seconds.
pub const SLOW_TOOL: &str = "slow";

/// The real tools and the extra tools.
pub struct BreakableTools {
    toolbox: Toolbox,
    extra_tools: Vec<ToolSpec>,
}

impl BreakableTools {
    /// Creates the tools with `extra_tools` as extra tools.
    pub fn with(extra_tools: &[ToolSpec]) -> Self {
        Self { toolbox: Toolbox::default(), extra_tools: extra_tools.to_vec() }
    }
}

impl ToolRunner for BreakableTools {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.toolbox.tools().iter().chain(&self.extra_tools).cloned().collect()
    }

    /// Fake skills whose text contains their names: `tasks` grants a tool, `letters` is labelled as
    /// text from outside, `slow` takes 20 seconds, and `missing` does not exist.
    fn load_skills<'a>(&'a self, requested: &'a NamedSkills) -> BoxFuture<'a, LoadedSkills> {
        let has = |name: &str| requested.names.iter().any(|named| named == name);
        let known = requested.names.iter().filter(|name| name.as_str() != "missing");
        let texts: Vec<(String, String)> =
            known.map(|name| (name.clone(), format!("Mind {name}."))).collect();
        let tools = if has("tasks") { vec!["Bash(ollim-bot tasks *)".to_owned()] } else { Vec::new() };
        let label = if has("letters") { Label::both(Realm::Mail) } else { Label::PLAIN };
        let delay_seconds = if has("slow") { 20 } else { 0 };
        let loaded = LoadedSkills { section: section(&texts), tools, label };
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(delay_seconds)).await;
            loaded
        })
    }

    fn run<'a>(
        &'a self,
        turn: TurnId,
        call: &'a ToolCall,
        assistant: &'a AssistantHandle,
    ) -> BoxFuture<'a, ToolResult> {
        assert!(!call.input.0.contains(PANIC_MARKER), "these hands were told to break");
        match self.extra_tools.iter().find(|tool| tool.name == call.name) {
            Some(tool) => {
                let label = tool_action(call, tool.class).read_label;
                let (call, text) = (call.id.clone(), tool_output(&call.input.0));
                let delay = Duration::from_secs(if tool.name == SLOW_TOOL { 100 } else { 0 });
                let result = ToolResult { call, text, outcome: Outcome::Done, label };
                tokio::time::sleep(delay).map(|()| result).boxed()
            }
            None => self.toolbox.run(turn, call, assistant),
        }
    }
}

/// Returns the result of an extra tool; JSON if the input contains `--json`.
fn tool_output(input: &str) -> String {
    if input.contains("--json") {
        "{\"task\":{\"id\":\"7\",\"title\":\"buy milk\"}}".to_owned()
    } else {
        format!("did {input}")
    }
}
