//! Tools: their specification, calls and results.

mod caption;
mod kind;
pub mod pattern;

use std::borrow::Cow;

pub use caption::{Caption, escape_markdown};
pub use kind::{ServerToolKind, ServerToolKinds};

use crate::conversation::Json;
use crate::embed::Embed;
use crate::label::Label;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    pub name: &'static str,
    /// The description that the model reads.
    pub description: Cow<'static, str>,
    /// The JSON Schema of its input.
    pub schema: &'static str,
    pub class: ToolClass,
}

/// The kind of effect of a tool. The permissions of a call follow from it and from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolClass {
    /// It only asks the assistant, which checks the request.
    Own,
    /// It stores a note of the user.
    Notes,
    /// It plans something, which can be undone.
    Plans,
    /// It reads the user's data and changes nothing.
    Reads,
    /// It changes the file that its `file_path` names.
    Edits,
    /// It deletes data or acts outside.
    Acts,
    /// It starts a subagent, which has no more permissions than its caller.
    Delegates,
    /// It runs the given `command`.
    Shell,
    /// It fetches the given `url`.
    Fetches,
    /// It sends a query to the configured search provider.
    Searches,
    /// It is a tool of an MCP server.
    Foreign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's id of this call.
    pub id: String,
    pub name: String,
    pub input: Json,
}

/// The result of a call. A failure is a result too: the model reads it and goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub call: String,
    /// The text for the model.
    pub text: String,
    pub outcome: Outcome,
    /// The label of the text.
    pub label: Label,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It succeeded, and this is shown to the user.
    Shown(ShownContent),
    /// It failed, or its outcome is unknown; the text says which.
    Failed,
    /// It was not run, because it was not allowed.
    Denied,
}

/// Content that a tool shows to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownContent {
    Text(String),
    Embed(Embed),
}

impl ShownContent {
    /// Returns the content as plain text.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(words) => words.clone(),
            Self::Embed(embed) => {
                let facts = embed.fields.iter().map(|field| format!("{}: {}", field.name, field.value));
                let parts = [embed.title.clone(), embed.description.clone()].into_iter().chain(facts);
                parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(" · ")
            }
        }
    }
}
