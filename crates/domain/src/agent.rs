//! A subagent: somebody who is sent out with a question, tools of their own and nothing of the conversation.

use crate::schedule::Prompt;

/// One subagent as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// What it is called.
    pub name: String,
    /// What it is for, and when to send it.
    pub description: String,
    /// The model that it runs on; the usual one, if it does not say.
    pub model: Option<String>,
    /// The tools that it may use, and no others.
    pub tools: Vec<String>,
    /// Who it is and what it does.
    pub prompt: Prompt,
}
