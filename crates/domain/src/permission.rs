//! Permission: whether a tool may run.
//!
//! The one door for authority. Every call passes it, and what it decides is written down before the tool
//! runs. A refusal is read by the model, so it says what to do instead.

use crate::tool::{ToolCall, ToolSpec};

/// What was decided about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call.
    pub call: ToolCall,
    /// The rule that decided.
    pub rule: Rule,
}

impl Decision {
    /// Whether the tool may run, or what the model is told instead.
    pub fn verdict(&self) -> Result<(), String> {
        match &self.rule {
            Rule::OwnTool => Ok(()),
            Rule::Unknown(names) => Err(format!(
                "there is no tool called `{}`. the tools are: {}. use one of those, or answer in words.",
                self.call.name,
                names.join(", ")
            )),
        }
    }
}

/// Why a call was allowed or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It only asks the assistant, which checks what it is asked.
    OwnTool,
    /// No such tool exists; these do.
    Unknown(Vec<&'static str>),
}

impl Rule {
    /// The name under which a decision is kept.
    pub fn id(&self) -> &'static str {
        match self {
            Self::OwnTool => "own-tool",
            Self::Unknown(_) => "unknown-tool",
        }
    }
}

/// Decides whether `call` may run.
pub fn decide(call: &ToolCall, tools: &[ToolSpec]) -> Decision {
    let known = tools.iter().any(|tool| tool.name == call.name);
    let rule = match known {
        true => Rule::OwnTool,
        false => Rule::Unknown(tools.iter().map(|tool| tool.name).collect()),
    };
    Decision { call: call.clone(), rule }
}
