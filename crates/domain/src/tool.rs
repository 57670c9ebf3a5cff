//! Tools as the model sees them: what there is, what is asked for, and what came of it.

mod caption;
mod kind;
pub mod pattern;

use std::borrow::Cow;

pub use caption::{Caption, unmarked};
pub use kind::{ServerKind, ServerKinds};

use crate::conversation::Json;
use crate::embed::Embed;
use crate::label::Label;

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does, in words for the model.
    pub description: Cow<'static, str>,
    /// The JSON Schema of its input.
    pub schema: &'static str,
    /// What it does to the world.
    pub class: Class,
}

/// What a tool does to the world. What a call of it may do follows from this and from what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It only asks the assistant, which checks what it is asked.
    Own,
    /// It keeps words for the human.
    Notes,
    /// It plans something, which can be taken back.
    Plans,
    /// It looks at something of the human's and changes nothing.
    Reads,
    /// It changes the file that its `file_path` names.
    Edits,
    /// It destroys something, or acts outside.
    Acts,
    /// It lets somebody else work, who may do no more than who asks.
    Delegates,
    /// It runs the `command` that it is given.
    Shell,
    /// It fetches the `url` that it is given.
    Fetches,
    /// It asks the search that the human has set up.
    Searches,
    /// It is a tool of a server that others wrote.
    Foreign,
}

/// One call, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The model's own name for this call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is given.
    pub input: Json,
}

/// What came of a call. A failure is a result too: the model reads it and goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call it belongs to.
    pub call: String,
    /// What the model reads.
    pub text: String,
    /// How it went.
    pub outcome: Outcome,
    /// What is known of what the model reads.
    pub label: Label,
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// It did what was asked, and this is shown to the human with it.
    Shown(Showing),
    /// It failed, or nobody knows; the text says which.
    Failed,
    /// It was not run, because it was not allowed.
    Denied,
}

/// What a tool shows to the human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Showing {
    /// Words.
    Words(String),
    /// An embed.
    Embed(Embed),
}

impl Showing {
    /// The same in words alone.
    pub fn in_words(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Embed(embed) => {
                let facts = embed.fields.iter().map(|field| format!("{}: {}", field.name, field.value));
                let parts = [embed.title.clone(), embed.description.clone()].into_iter().chain(facts);
                parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(" · ")
            }
        }
    }
}
