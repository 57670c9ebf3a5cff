//! Agents: who can be asked to work aside, with a prompt and tools of their own.

use crate::schedule::ModelName;

/// Somebody who can be asked to do one thing and answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// What they are called.
    pub name: String,
    /// What they are good for, in words for the model.
    pub description: String,
    /// The model that answers for them, if not the usual one.
    pub model: Option<ModelName>,
    /// What they may use, and nothing else.
    pub tools: Vec<String>,
    /// Who they are told to be.
    pub prompt: String,
}
