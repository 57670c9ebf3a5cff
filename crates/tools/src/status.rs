//! How things stand.

use domain::assistant::{Question, Request};
use domain::tool::{Class, ToolSpec};

use crate::Tool;

/// Tells how things stand.
pub const STATUS: Tool = Tool {
    spec: ToolSpec {
        name: "status",
        description: "Tells how things stand: how much is in the inbox and what is waiting.",
        schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        class: Class::Own,
    },
    read: |_, _| Ok(Request::Tell(Question::Status)),
};
