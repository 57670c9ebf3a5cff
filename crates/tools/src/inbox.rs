//! The inbox: keeping what the human said, and reading it out.

use domain::assistant::{Question, Request};
use domain::tool::ToolSpec;
use serde::Deserialize;

use crate::{Tool, parsed};

/// Keeps something.
pub const ADD: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_add",
        description: "Keeps something the human wants remembered, in their own words, until it is dealt with.",
        schema: r#"{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}"#,
    },
    read: |_, input| parsed(input).map(|Add { text }| Request::Keep(text)),
};

/// Reads the inbox out.
pub const LIST: Tool = Tool {
    spec: ToolSpec {
        name: "inbox_list",
        description: "Lists what is in the inbox, oldest first.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    },
    read: |_, _| Ok(Request::Tell(Question::Inbox)),
};

#[derive(Deserialize)]
struct Add {
    text: String,
}
