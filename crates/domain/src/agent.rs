//! Agent definitions: subagents with their own prompt and tools.

use crate::schedule::ModelName;

/// A subagent that can be given one task and returns an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    /// Its purpose, as the model reads it.
    pub description: String,
    /// The model that runs it; `None` means the default.
    pub model: Option<ModelName>,
    /// The only tools that it may use.
    pub tools: Vec<String>,
    pub prompt: String,
}
